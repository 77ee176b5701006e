"""Plots of benchmarks: what they contain, that it is readable, and that nothing overlaps."""

import functools
import itertools
import re

import figure_checks
import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from plot_cases import product, products, record, result, strides, transfers, trips

import gpumem as gm
from gpumem import cli
from gpumem.base.result import BenchResult
from gpumem.count import intensity as intensity_module
from gpumem.report import plots
from gpumem.report.plots._labels import spread

matplotlib.use("Agg")


@pytest.fixture(autouse=True, scope="module")
def simulated_once():
    """Cache the simulated counts: several plots show the same kernel at the same shape."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intensity_module, "traffic", functools.cache(intensity_module.traffic))
        patch.setattr(intensity_module, "_VECTOR", 2**16)  # moves as much per operation
        yield


def pictures():
    for name in gm.results.names():
        shipped = gm.results.load(name)
        family = next(one["family"] for one in shipped.records if one["median_ms"])
        if family == "transfer":
            yield name, shipped, "transfer", {}
            continue
        if family in ("roundtrip", "strided_read"):
            yield name, shipped, "roundtrip" if family == "roundtrip" else "sweep", {}
            continue
        if family == "prefetch_sum":
            yield name, shipped, "map", {}
            yield name, shipped, "distance", {"work": [1, 2], "warps": [4.0]}
            continue
        first = shipped.records[0]["variant"]
        if len({one["bytes"] for one in shipped.records if one["variant"] == first}) > 1:
            yield name, shipped, "size", {}
        yield name, shipped, "ladder", {}
        if any(one["tflops"] for one in shipped.records):
            yield name, shipped, "roofline", {}
    yield "sgemm", products(), "roofline", {}
    yield "sgemm", products(), "ladder", {}
    yield "transfer", transfers(), "transfer", {}


PICTURES = {f"{name}-{kind}": (shown, kind, opts) for name, shown, kind, opts in pictures()}


@pytest.fixture(params=PICTURES, scope="module")
def picture(request):
    """A result, the kind of a plot, and the plot after its layout."""
    shown, kind, options = PICTURES[request.param]
    figure = shown.plot(kind, **options)
    figure.draw_without_rendering()
    return shown, kind, figure


def test_a_reader_can_tell_all_apart(picture):
    """No text overlaps another or is cut off, no line crosses a text, and lines are distinct."""
    figure = picture[2]
    assert len(figure_checks.texts(figure)) > 8
    assert not figure_checks.complaints(figure)


def test_labels_keep_clear_of_the_roofs(picture):
    _, kind, figure = picture
    if kind == "roofline":
        (ax,) = figure.axes
        renderer = figure._get_renderer()
        labels = [text for text in ax.texts if text.get_gid() == "label"]
        for label in labels:
            box = label.get_window_extent(renderer)
            for line in ax.lines:
                if line.get_gid() == "roof":
                    assert (
                        not line.get_path()
                        .transformed(ax.transData)
                        .intersects_bbox(box, filled=False)
                    ), label.get_text()


def test_a_banner_says_which_device(picture):
    title = picture[2].get_suptitle()
    told = picture[0].provenance
    assert told["device"]["name"] in title and told["commit"][:10] in title
    assert told["date"][:10] in title


def test_styles_differ_in_grey():
    """All markers differ, and neighbours differ in brightness and in dashes."""
    assert len({style["marker"] for style in plots.STYLES}) == len(plots.STYLES) >= 15
    for one, other in itertools.pairwise(plots.STYLES):
        dark, pale = (np.dot(to_rgb(style["color"]), (0.3, 0.59, 0.11)) for style in (one, other))
        assert abs(dark - pale) > 0.1
        assert one["linestyle"] != other["linestyle"]


def test_lines_that_coincide_are_drawn_once():
    """One line has both names: of two coinciding lines, one would hide the other."""
    sizes = [2**p for p in range(20, 31)]
    rates = {"vec4": 3000, "struct16": 3010, "scalar": 1000, "auto": 3005, "memcpy": 2995}
    shown = result(*(record("copy", name, r, size) for name, r in rates.items() for size in sizes))
    (ax,) = shown.plot("size").axes
    labels = [line.get_label() for line in ax.lines if line.get_gid() == "line"]
    assert labels == ["scalar", "vec4, struct16", "memcpy", "auto"]
    shown.records[-1]["gbps"] = 4000.0
    shown.records[len(sizes)]["gbps"] = 2000.0  # of struct16, at one size
    (ax,) = shown.plot("size").axes
    labels = [line.get_label() for line in ax.lines if line.get_gid() == "line"]
    assert labels == ["scalar", "vec4", "struct16", "memcpy", "auto"]


def test_speed_ups_that_coincide_are_drawn_once_in_all_panels():
    shown = gm.results.load("prefetch_sum-h200").filter(variant=["baseline", "l2", "bulk"])
    for one in [*shown.records]:
        if one["variant"] == "bulk":
            shown.records.append(one | {"variant": "scalar_batch"})
    figure = shown.plot("distance", work=[1, 2], warps=[4.0])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "scalar_batch\nbulk", "l2", "baseline, the plain loop"
    ]  # fmt: skip
    figure.draw_without_rendering()
    assert not figure_checks.complaints(figure)


def test_names_stand_beside_the_ends_of_their_lines():
    sizes = [2**p for p in range(20, 31)]
    rates = {"scalar": 1000, "vec2": 3000, "vec4": 2900, "auto": 3900, "memcpy": 2000}
    shown = result(*(record("copy", name, r, size) for name, r in rates.items() for size in sizes))
    (ax,) = shown.plot("size").axes
    labels = [text for text in ax.texts if text.get_gid() == "label"]
    labels.sort(key=lambda text: text.get_position()[1])
    assert [text.get_text() for text in labels] == sorted(rates, key=rates.get)
    assert all(text.get_position()[0] > 1 for text in labels)


def test_bandwidth_against_size():
    sizes = [2**p for p in range(13, 31)]
    rates = {"scalar": 1000, "vec4": 3000, "auto": 3100, "memcpy": 2900}
    shown = result(*(record("copy", name, r, size) for name, r in rates.items() for size in sizes))
    (ax,) = shown.plot("size").axes
    drawn = {line.get_label(): line for line in ax.lines if line.get_gid() == "line"}
    assert list(drawn) == ["scalar", "vec4", "memcpy", "auto"]
    assert list(drawn["vec4"].get_xdata()) == sizes
    assert set(drawn["vec4"].get_ydata()) == {3000}
    assert ax.get_xscale() == "log" and "8 KiB" in {t.get_text() for t in ax.get_xticklabels()}
    assert [line.get_ydata()[0] for line in ax.lines if line.get_gid() == "peak"] == [4000]
    assert [line.get_xdata()[0] for line in ax.lines if line.get_gid() == "l2"] == [2**20]
    band = ax.collections[1].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(3000 / 1.25) and band.max() == pytest.approx(3000 / 0.9)
    marks = {text.get_text() for text in ax.texts if text.get_gid() == "mark"}
    assert marks == {"theoretical peak, 4000 GB/s", "size of the L2, 1 MiB"}
    few = shown.plot("size", variants=["vec4", "scalar"]).axes[0]
    assert [line.get_label() for line in few.lines[:2]] == ["vec4", "scalar"]


def test_a_band_is_of_times_of_one_kind():
    """If a fifth of the samples ran in another mode, a band would not show noise."""
    sizes = [2**20, 2**21, 2**22, 2**23]
    records = [record("copy", "vec4", 1000, size) for size in sizes]
    records[0]["p20_ms"] /= 100
    band = result(*records).plot("size").axes[0].collections[0].get_paths()[0].vertices
    assert band[:, 0].min() == sizes[1] and band[:, 1].max() < 1200


def test_no_line_runs_through_the_name_of_the_peak():
    def size(rates):
        shown = [product("tf32x3", rate, 2**p) for p, rate in zip(range(9, 14), rates, strict=True)]
        (ax,) = result(*shown).plot("size").axes
        (mark,) = (text for text in ax.texts if "peak" in text.get_text())
        return mark.get_text(), mark.get_ha()

    assert size([10, 20, 30, 40, 50]) == ("peak of the FP32 units, 60 TFLOP/s", "left")
    assert size([61, 63, 90, 100, 110])[1] == "right"


def mixed():
    return result(record("copy", "vec4", 1.0, work=1), record("gather", "any", 1.0))


@pytest.mark.parametrize(
    ("shown", "kind", "options", "error", "words"),
    [
        (result(), "size", {}, ValueError, "no times"),
        (mixed(), "size", {}, ValueError, r"several families.*filter\(family="),
        (
            result(*(record("copy", "vec4", 1.0, parameters={"work": w}) for w in (1, 2))),
            "ladder",
            {},
            ValueError,
            r"several values of work: result\.filter",
        ),
        (products(), "size", {"variants": "nope"}, ValueError, "variants 'nope' was not measured"),
        (products(), "ladder", {"shape": (1, 2)}, ValueError, "shape .1, 2. was not measured"),
        (products(), "ladder", {"cache": "warm"}, ValueError, "cache 'warm'.*there are: cold"),
        (
            products(),
            "ladder",
            {"order": "single"},
            ValueError,
            "order 'single'.*there are: stream",
        ),
        (
            result(record("copy", "memcpy", 2000.0)),
            "ladder",
            {},
            ValueError,
            "compares variants: the result has memcpy alone",
        ),
        (products(), "ladder", {"colour": 1}, TypeError, "ladder has no option 'colour'"),
        (result(record("copy", "vec4", 1.0)), "roofline", {}, ValueError, "has no TFLOP/s"),
        (result(product("smem", 1.0), device={}), "roofline", {}, ValueError, "device's peaks"),
        (products(), "size", {}, ValueError, r"one size.*ladder"),
        (products(), "sweep", {}, ValueError, "no sweep"),
        (result(*strides()), "sweep", {"parameter": "x"}, ValueError, "there are: stride"),
        (result(*strides()), "sweep", {"variants": "x"}, ValueError, "variants 'x' was not"),
        (products(), "roundtrip", {}, ValueError, "no round trips"),
        (result(*trips()), "roundtrip", {"by": "me"}, ValueError, "by 'me'.*gpumem, numpy"),
        (products(), "transfer", {}, ValueError, "no transfers"),
        (transfers(), "transfer", {"memory": "x"}, ValueError, "memory 'x' was not measured"),
    ],
)
def test_what_cannot_be_drawn_is_told(shown, kind, options, error, words):
    with pytest.raises(error, match=words):
        shown.plot(kind, **options)


def test_every_kind_is_told():
    """The docstring lists the kinds that there are."""
    (told,) = (line for line in BenchResult.plot.__doc__.splitlines() if "kind : {" in line)
    assert re.findall(r'"(\w+)"', told) == list(plots.KINDS)
    for kind in plots.KINDS:
        assert f'"{kind}":' in BenchResult.plot.__doc__


def test_labels_are_spread():
    assert spread([], 1, 0, 10) == []
    assert spread([1, 5, 9], 1, 0, 10) == [1, 5, 9]
    assert spread([5, 5, 5], 1, 0, 10) == [4, 5, 6]
    assert spread([0, 0, 0], 1, 0, 10) == [0, 1, 2]
    assert spread([10, 10], 2, 0, 10) == [8, 10]
    assert spread([-5, 20], 1, 0, 10) == [0, 10]
    crowded = spread([1, 1.2, 2.9, 3, 3.1, 9], 1, 0, 10)
    assert all(b - a >= 1 - 1e-9 for a, b in itertools.pairwise(crowded))
    assert crowded[-1] == 9


@pytest.mark.parametrize("kind", ["size", "ladder"])
def test_the_command_line_draws(tmp_path, kind):
    picture = tmp_path / "r.png"
    assert cli.main(["plot", "copy-h200", "--kind", kind, "-o", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_former_names_keep_their_place_on_the_ladder():
    """Results that were measured before a variant was renamed are drawn like those of today."""
    shipped = gm.results.load("transpose-h200")
    known = shipped.filter(variant=["tile", "tile_vector", "tma", "auto"]).records
    old = [one | {"variant": one["variant"].replace("tile_vector", "tile_vec4")} for one in known]
    figure = BenchResult(old, shipped.provenance).plot("ladder", shape=(4096, 4096))
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()][:4] in (
        ["tile", "tile_vec4", "tma", "auto"],
        ["auto", "tma", "tile_vec4", "tile"],
    )
