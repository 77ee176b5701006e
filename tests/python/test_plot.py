"""Plots of benchmarks: what they contain, that it is readable, and that nothing overlaps."""

import functools
import itertools
import re

import figure_checks
import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb

import gpumem as gm
from gpumem import cli
from gpumem.base.record import FIELDS, Record
from gpumem.base.result import BenchResult
from gpumem.count import intensity as intensity_module
from gpumem.report import plots
from gpumem.report.plots._labels import spread

matplotlib.use("Agg")

DEVICE = {
    "name": "a device",
    "l2_bytes": 2**20,
    "bandwidth_gbps": 4000.0,
    "fp32_tflops": 60.0,
}


@pytest.fixture(autouse=True, scope="module")
def simulated_once():
    """Cache the simulated counts: several plots show the same kernel at the same shape."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intensity_module, "traffic", functools.cache(intensity_module.traffic))
        patch.setattr(intensity_module, "_VECTOR", 2**16)  # moves as much per operation
        yield


def record(family, variant, gbps, nbytes=2**30, shape=None, flops=None, **more):
    ms = nbytes / gbps / 1e6
    return (
        dict.fromkeys(FIELDS)
        | {
            "family": family,
            "variant": variant,
            "shape": list(shape or (nbytes // 8,)),
            "dtype": "float32",
            "cache": "cold",
            "parameters": {},
            "bytes": nbytes,
            "flops": flops,
            "gbps": gbps,
            "tflops": flops and flops / ms / 1e9,
            "median_ms": ms,
            "p20_ms": 0.9 * ms,
            "p80_ms": 1.25 * ms,
        }
        | more
    )


def result(*records, device=DEVICE):
    return BenchResult(
        list(records), {"device": device, "date": "2030-01-02", "commit": "0123456789abc"}
    )


def product(variant, tflops, n=1024, **more):
    flops, nbytes = 2 * n**3, 12 * n * n
    gbps = nbytes / (flops / tflops / 1e9) / 1e6
    return record("sgemm", variant, gbps, nbytes, (n, n, n), flops, **more)


SGEMM = {
    "naive": 1.0,
    "vec4": 3.8,
    "thread_tile": 7.2,
    "smem": 30.3,
    "smem_transposed": 40.9,
    "hide_smem_latency": 41.8,
    "hide_global_latency": 46.0,
    "warp_tile": 51.3,
    "tf32x3": 110.0,
    "cublas": 50.9,
}


def products():
    return result(*(product(name, rate) for name, rate in SGEMM.items()), product("auto", 46.0))


def transfers():
    return result(
        *(
            record(
                "transfer", "copy", rate * size / (size + 2**20), size,
                parameters={"kind": kind, "direction": direction},
            )
            for direction in ("to_device", "to_host")
            for kind, rate in (("pageable", 9), ("pinned", 55), ("write_combined", 55.2))
            for size in (2**p for p in range(12, 31))
        )
    )  # fmt: skip


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


def strides(**more):
    rates = {1: 3000.0, 2: 2000.0, 8: 500.0}
    return [
        record("strided_read", name, rate * (1 + (name != "cached")), parameters={"stride": s})
        | more
        for name in ("uncached", "cached")
        for s, rate in sorted(rates.items(), reverse=True)
    ]


def test_a_sweep():
    (ax,) = result(*strides(), record("copy", "memcpy", 3900.0)).plot("sweep").axes
    drawn = {line.get_label(): line for line in ax.lines if line.get_gid() == "line"}
    assert list(drawn) == ["cached", "uncached"]
    assert list(drawn["cached"].get_xdata()) == [1, 2, 8]
    assert list(drawn["cached"].get_ydata()) == [3000, 2000, 500]
    assert list(drawn["uncached"].get_ydata()) == [6000, 4000, 1000]
    assert [line.get_ydata()[0] for line in ax.lines if line.get_gid() == "reference"] == [3900]
    assert ax.get_xlabel() == "stride" and "stride" in ax.figure.get_suptitle()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "8"]
    (ax,) = result(*strides()).plot("sweep", variants="cached").axes
    assert [line.get_label() for line in figure_checks.named_lines(ax)] == ["cached"]


def test_a_sweep_over_words():
    shown = [record("copy", "vec4", 1.0 + i, parameters={"way": w}) for i, w in enumerate("ba")]
    (ax,) = result(*shown).plot("sweep").axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["b", "a"]
    assert list(ax.lines[0].get_ydata()) == [1, 2]


def trips():
    times = {"gpumem": 8.0, "numpy": 60.0}
    return [
        record("roundtrip", job, 1.0, size, (size // 8,), cache=None)
        | {"parameters": {"by": by, "kind": kind}, "median_ms": ms * size / 2**20}
        for size in (2**20, 2**21)
        for job in ("copy", "add")
        for by, kind, ms in (
            ("bus", "pinned", 5.0),
            *((by, kind, ms) for kind in ("pageable", "pinned") for by, ms in times.items()),
        )
    ]


def test_round_trips():
    figure = result(*trips()).plot("roundtrip")
    panels = [ax for ax in figure.axes if ax.patches]
    assert [ax.get_title() for ax in panels] == [
        "copy, 1 MiB, pageable", "copy, 1 MiB, pinned", "add, 1 MiB, pageable", "add, 1 MiB, pinned"
    ]  # fmt: skip
    for i, ax in enumerate(panels):
        names = [tick.get_text() for tick in ax.get_yticklabels()]
        assert names == ([] if i % 2 else ["gpumem", "numpy"])  # once for both
        ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
        assert ends == pytest.approx([16, 120])  # of the larger size
        assert [line.get_xdata()[0] for line in ax.lines] == [10]
    cells = [ax.get_yticklabels() for ax in figure.axes if not ax.patches]
    assert [[tick.get_text().strip() for tick in one] for one in cells] == [["16.0", "120.0"]] * 4
    one = result(*trips()).plot("roundtrip", variants="add", memory="pinned", by=["numpy"])
    (ax,) = (ax for ax in one.axes if ax.patches)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["numpy"]
    assert len(ax.patches) == 1 and ax.get_title().startswith("add, 1 MiB, pinned")


def test_a_round_trip_that_was_not_measured_leaves_its_row_empty():
    """Panels have the rows of the panel at the left, which has the names."""
    some = [
        t
        for t in trips()
        if (t["parameters"]["by"], t["parameters"]["kind"]) != ("numpy", "pinned")
    ]
    figure = result(*some).plot("roundtrip", variants="copy")
    panels = [ax for ax in figure.axes if ax.patches]
    cells = [ax.get_yticklabels() for ax in figure.axes if not ax.patches]
    assert [len(ax.patches) for ax in panels] == [2, 1]
    assert [tick.get_text().strip() for tick in cells[1]] == ["16.0", "\N{EN DASH}"]


def test_many_variants_are_the_fastest():
    names = [v.name for v in gm.variants("transpose")]
    shown = result(
        *(
            record("transpose", name, 100 * (1 + i), 8 * side * side, (side, side))
            for i, name in enumerate([*names, "auto"])
            for side in (64, 128)
        ),
        *(record("copy", "memcpy", 50, 8 * side * side, (side, side)) for side in (64, 128)),
        record("transpose", "auto", 9.0, 8 * 5 * 99, (5, 99)),  # not square
    )
    lines = [one for one in shown.plot("size").axes[0].lines if one.get_gid() == "line"]
    assert [line.get_label() for line in lines] == [*names[-8:], "auto", "copy-memcpy"]
    assert all(len(line.get_xdata()) == 2 for line in lines)


def test_a_ladder_of_bars():
    shown = result(
        *(record("copy", name, rate) for name, rate in (("vec4", 3000.0), ("scalar", 1000.0))),
        record("copy", "memcpy", 2000.0),
        record("copy", "auto", 3000.0),
        record("copy", "torch", 500.0),
        record("copy", "scalar", 10.0, 2**13),
    )
    ax, beside = shown.plot("ladder").axes
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["scalar", "vec4", "auto", "torch"]
    assert [bar.get_width() for bar in ax.patches] == [1000, 3000, 3000, 500]
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [False, False, False, True]
    cells = [tick.get_text().split() for tick in beside.get_yticklabels()]
    assert cells == [["1000", "0.500"], ["3000", "1.500"], ["3000", "1.500"], ["500", "0.250"]]
    assert [line.get_xdata()[0] for line in ax.lines] == [2000]
    small, _ = shown.plot("ladder", shape=(1024,)).axes
    assert [tick.get_text() for tick in small.get_yticklabels()] == ["scalar"]


def test_a_ladder_has_those_who_take_another_shape():
    """A structure of arrays has its axes in the other order."""
    rates = {"aos": ((9, 2), 1000.0), "aos_vec2": ((9, 2), 2000.0), "soa": ((2, 9), 3000.0)}
    shown = [record("shift_points", v, r, 2**20, shape) for v, (shape, r) in rates.items()]
    shown += [record("copy", "memcpy", 4000.0, 2**20, shape) for shape in ((9, 2), (2, 9))]
    shown += [record("shift_points", "soa", 1.0, 2**10, (2, 3))]
    ax, _ = result(*shown).plot("ladder").axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(rates)
    assert [bar.get_width() for bar in ax.patches] == [1000, 2000, 3000]
    (ax, _) = result(*shown).plot("ladder", shape=(2, 9)).axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["soa"]


def test_a_family_with_another_reference_is_told_in_its_unit():
    """A copy has no operations: if it is the reference, bytes per second are compared."""
    flops = record("polynomial", "global", 1000.0, flops=10**9)
    ax, _ = result(flops, record("copy", "memcpy", 2000.0)).plot("ladder").axes
    assert ax.patches[0].get_width() == 1000 and "GB/s" in ax.get_xlabel()
    ax, _ = products().plot("ladder").axes
    assert ax.get_xlabel().startswith("TFLOP/s") and ax.patches[0].get_width() == pytest.approx(1)


def test_a_roofline():
    figure = products().plot("roofline")
    (ax,) = figure.axes
    points = [line for line in ax.lines if line.get_gid() == "point"]
    assert len(points) == len(SGEMM)
    assert [p.get_ydata()[0] for p in points] == pytest.approx(list(SGEMM.values()))
    where = dict(zip(SGEMM, (p.get_xdata()[0] for p in points), strict=True))
    # 40 bytes per 32 products of a warp, whose lanes share a; the block's 128 x 128 of smem.
    assert 0.3 < where["naive"] < 0.5 < 3 < where["vec4"] < 5 < 25 < where["smem"] < 32
    assert where["cublas"] == pytest.approx(2 * 1024 / 12)
    assert [p.get_fillstyle() for p in points] == ["full"] * 8 + ["none"] * 2
    slope, peak = (line for line in ax.lines if line.get_gid() == "roof")
    assert list(peak.get_ydata()) == [60, 60]
    for x, y in zip(slope.get_xdata(), slope.get_ydata(), strict=True):
        assert y == pytest.approx(4 * x)  # TFLOP/s at 4 TB/s
    labels = [text.get_text() for text in ax.texts if text.get_gid() == "label"]
    assert sorted(labels) == sorted(SGEMM)


def test_how_much_a_product_moves_does_not_depend_on_what_is_simulated():
    """Whole tiles of 128 x 128: per step 8 * 128 bytes for 2 * 128 * 128 operations, and C once."""

    def intensity(variant, shape):
        row = Record.from_dict(record("sgemm", variant, 1.0, 1, shape, 1))
        return intensity_module.intensity(row, 132)

    for n in (256, 1024, 8192):
        exact = 2 * n / (8 * n / 128 + 4)
        for variant in ("smem", "warp_tile"):
            assert intensity(variant, (n, n, n)) == (pytest.approx(exact), True)
    # Enough tiles for all multiprocessors: no tile is shared.
    assert intensity("warp_tile_tma", (8192,) * 3)[0] == pytest.approx(exact)
    # Tiles for half of them: blocks share tiles, and write and read their sums.
    few, _ = intensity("warp_tile_tma", (1024, 1024, 256))
    assert few < 0.6 * intensity("warp_tile", (1024, 1024, 256))[0]
    # Factors with unaligned rows are packed first, which adds little for large sides.
    odd, _ = intensity("warp_tile_tma", (4095, 4097, 4099))
    assert 0.8 * exact < odd < 0.95 * exact
    assert intensity("smem", (1, 1, 1))[1] and intensity("vec4", (5, 300, 1))[1]


def test_transfers():
    figure = transfers().plot("transfer")
    assert [ax.get_title() for ax in figure.axes] == ["to device", "to host"]
    for ax in figure.axes:
        assert [line.get_label() for line in ax.lines] == ["pageable", "pinned", "write_combined"]
        assert len(ax.lines[0].get_xdata()) == 19
    one = transfers().plot("transfer", memory="pinned", direction="to_host")
    assert len(one.axes) == 1 and len(one.axes[0].lines) == 1


def test_single_calls_have_a_picture_of_their_own():
    """The title says so; of both orders, calls in a row are drawn unless the other is chosen."""
    sizes = (2**20, 2**22)
    rates = {"stream": 2000.0, "single": 1000.0}
    both = result(
        *(
            record("copy", name, rate, nbytes, order=order)
            for order, rate in rates.items()
            for nbytes in sizes
            for name in ("auto", "memcpy")
        )
    )
    for given, order in (({}, "stream"), ({"order": "single"}, "single")):
        (ax,) = both.plot("size", **given).axes
        (line,) = (one for one in figure_checks.named_lines(ax) if one.get_label() == "auto")
        assert list(line.get_ydata()) == [rates[order]] * 2
        assert ("float32, cold L2, single calls\n" in ax.figure.get_suptitle()) == bool(given)
        figure = both.plot("ladder", **given)
        assert figure.axes[0].patches[0].get_width() == rates[order]
        assert ("single calls" in figure.get_suptitle()) == bool(given)
    swept = [one | {"order": "single"} for one in strides()]
    assert "cold L2, single calls" in result(*swept).plot("sweep").get_suptitle()
    squares = [one | {"order": "single"} for one in products().records]
    assert ", single calls: roofline" in result(*squares).plot("roofline").get_suptitle()


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
