"""Plots of requests: their marks, their texts, and errors."""

import itertools
import re
import runpy
import subprocess
import sys
from pathlib import Path

import figure_checks
import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import gpumem as gm
from gpumem import cli
from gpumem.count.traffic import Traffic
from gpumem.report.plots._banks import banks
from gpumem.report.plots._sectors import GAP, MOST_SECTORS

matplotlib.use("Agg")


def sample(addresses, width=4, lanes=None, **changes):
    """A report with one request of made-up addresses; lanes are counted from 0."""
    count = len(addresses)
    return {
        "block": (0, 0, 0),
        "warp": 0,
        "lanes": tuple(range(count)) if lanes is None else tuple(lanes),
        "addresses": tuple(addresses),
        "bytes": (width,) * count,
    } | changes


def site(*samples, **changes):
    return {
        "file": "csrc/kernels/made/up.cu",
        "line": 7,
        "space": "shared",
        "kind": "load",
        "width": 32,
        "turn": 0,
        "requests": len(samples),
        "lanes": 32 * len(samples),
        "bytes": 128 * len(samples),
        "sectors": 0,
        "lines": 0,
        "passes": len(samples),
        "fewest_passes": len(samples),
        "samples": list(samples),
    } | changes


def sectored(*samples, **changes):
    counted = {"space": "global", "sectors": 4, "lines": 1, "passes": 0, "fewest_passes": 0}
    return site(*samples, **counted | changes)


def report(*sites):
    return Traffic(
        {
            "family": "made",
            "variant": "up",
            "grid": (1, 1, 1),
            "block": (32, 1, 1),
            "shared_bytes": 4096,
            "threads": 32,
            "warps": 1,
            "barriers": 0,
            "result": np.arange(3),
            "sites": list(sites),
        }
    )


def artists(ax, gid):
    return [one for one in ax.get_children() if one.get_gid() == gid]


def numbers(ax, gid):
    """Return the texts of a row from left to right."""
    texts = sorted(artists(ax, gid), key=lambda text: text.get_position())
    return [int(text.get_text()) for text in texts]


def marked(ax):
    """{(lane, bank): pass} of the coloured cells."""
    (mesh,) = artists(ax, "passes")
    cells = mesh.get_array().reshape(-1, 32)
    return {(i, j): int(n) for (i, j), n in np.ndenumerate(cells) if not cells.mask[i, j]}


def boxes(ax, gid):
    """(left, top, width) of the rectangles of a collection."""
    (collection,) = artists(ax, gid)
    extents = [path.get_extents() for path in collection.get_paths()]
    return {(round(e.x0, 3), int(e.y0), round(e.width, 3)) for e in extents}


# ---- banks --------------------------------------------------------------------------------


def test_a_column_of_a_tile_falls_into_one_bank():
    ax = gm.traffic("transpose", variant="tile", shape=(64, 64)).draw()
    assert isinstance(ax, Axes)
    assert marked(ax) == {(lane, 0): lane + 1 for lane in range(32)}
    assert numbers(ax, "words") == [32]
    assert sorted(numbers(ax, "pass")) == list(range(1, 33))
    title = ax.get_title()
    assert title.startswith("transpose-tile, tile.cu:")
    assert title.endswith("shared load, 32 bits: 32 passes, 32 ways")


@pytest.mark.parametrize("variant", ["tile_padded", "tile_swizzled"])
def test_without_conflicts_each_lane_has_a_bank(variant):
    ax = gm.traffic("transpose", variant=variant, shape=(64, 64)).draw()
    cells = marked(ax)
    assert set(cells.values()) == {1}
    assert {lane for lane, _ in cells} == {bank for _, bank in cells} == set(range(32))
    assert numbers(ax, "words") == [1] * 32
    assert ax.get_title().endswith("1 pass, 1 way")


def test_wide_accesses_are_served_in_groups():
    ax = gm.traffic("transpose", variant="tile_vector:b32", shape=(128, 128)).draw()
    cells = marked(ax)
    assert len(cells) == 128 and set(cells.values()) == {1}
    assert numbers(ax, "words") == [4] * 32
    assert [line.get_ydata()[0] for line in artists(ax, "group")] == [8, 16, 24]
    assert ax.get_title().endswith("128 bits: 4 passes, 1 way")
    assert "8 lanes" in ax.get_xlabel()


def test_the_passes_are_those_that_the_simulator_counts():
    calls = [("transpose", "tile"), ("transpose", "tile_padded"), ("transpose", "tile_vector:b32")]
    for family, variant in [*calls, ("sgemm", "smem")]:
        shape = (16, 16, 4) if family == "sgemm" else (64, 64)
        t = gm.traffic(family, variant=variant, shape=shape)
        for one in t.sites:
            if one["space"] == "shared" and one["requests"] <= len(one["samples"]):
                found = [banks(request, one["kind"], one["turn"]) for request in one["samples"]]
                assert sum(request.passes for request in found) == one["passes"]
                assert sum(request.fewest for request in found) == one["fewest_passes"]


def test_numbers_stand_out_from_their_cells_in_grey():
    """Cells of 32 passes go from pale to dark."""
    ax = gm.traffic("transpose", variant="tile", shape=(64, 64)).draw()
    (mesh,) = artists(ax, "passes")
    for text in artists(ax, "pass"):
        cell = np.dot(mesh.cmap(mesh.norm(int(text.get_text())))[:3], (0.3, 0.59, 0.11))
        assert abs(cell - (text.get_color() == "white")) > 0.45


def test_lanes_that_update_one_word_take_turns():
    places = [0] * 16 + [128] * 15 + [4]
    found = banks(sample(places), "atomic", 1)
    assert (found.passes, found.fewest) == (31, 1)  # 15 rounds of two words of a bank, one of one
    of_lane = {touch.lane: touch.number for touch in found.touches}
    assert sorted(of_lane[lane] for lane in range(31)) == list(range(1, 32))
    assert of_lane[31] == 1
    assert found.words[:2] == [31, 1]
    twice = banks(sample(places), "atomic", 2)
    assert (twice.passes, twice.fewest) == (62, 2)
    ax = report(site(sample(places), kind="atomic", turn=1, passes=31)).draw()
    assert ax.get_title().endswith("31 passes, 31 ways")


def test_lanes_with_one_word_share_a_pass():
    addresses = [0] * 16 + [128] * 15 + [4]
    ax = report(site(sample(addresses), passes=2)).draw()
    cells = marked(ax)
    assert {cells[lane, 0] for lane in range(16)} == {1}
    assert {cells[lane, 0] for lane in range(16, 31)} == {2}
    assert cells[31, 1] == 1
    assert numbers(ax, "words") == [2, 1]
    assert ax.get_title().endswith("2 passes, 2 ways")


@pytest.mark.parametrize("width", [1, 2])
def test_narrow_accesses_share_words(width):
    ax = report(site(sample(range(0, 32 * width, width), width=width))).draw()
    assert marked(ax) == {(lane, lane * width // 4): 1 for lane in range(32)}
    assert ax.get_title().endswith("1 pass, 1 way")


def test_doubles_are_served_by_halves():
    found = banks(sample(range(0, 256, 8), width=8))
    assert (found.passes, found.fewest, found.lanes) == (2, 2, 16)
    found = banks(sample(range(0, 512, 16), width=8))
    assert (found.passes, found.fewest) == (4, 2)


def test_neighbours_that_load_the_same_are_served_with_twice_as_many():
    for width in (8, 16):
        once = 128 // width
        for same in (
            [lane // 2 * width for lane in range(32)],  # as n ^ 1, as n ^ 2
            [(lane // 4 * 2 + lane % 2) * width for lane in range(32)],
        ):
            found = banks(sample(same, width=width))
            assert (found.passes, found.lanes) == (width // 8, 2 * once)
            found = banks(sample(same, width=width), kind="store")
            assert (found.passes, found.lanes) == (width // 4, once)


def test_idle_lanes_are_grey():
    lanes = (0, 3, 31)
    ax = report(site(sample((0, 4, 8), lanes=lanes))).draw()
    assert set(marked(ax)) == {(0, 0), (3, 1), (31, 2)}
    assert len(artists(ax, "idle")) == 29


def test_an_engine_has_a_row_of_its_own():
    t = gm.traffic("copy", variant="bulk", shape=2**14)
    index = next(i for i, one in enumerate(t.sites) if one["space"] == "shared")
    ax = t.draw(index)
    assert marked(ax) == {(0, bank): 1 for bank in range(32)}
    assert ax.get_title().endswith("by the copy engine: 4096 bytes")


# ---- sectors ------------------------------------------------------------------------------


def test_a_column_of_a_matrix_falls_into_32_lines():
    ax = gm.traffic("transpose", variant="naive_row", shape=(64, 64)).draw()
    step = 1 + GAP
    assert boxes(ax, "sectors") == {(round(i * step, 3), i, 1) for i in range(32)}
    assert boxes(ax, "bytes") == {(round(i * step, 3), i, 0.125) for i in range(32)}
    assert numbers(ax, "used") == [4] * 32
    assert len(artists(ax, "gap")) == len(artists(ax, "line")) == 31
    title = ax.get_title()
    assert title.startswith("transpose-naive_row, naive_row.cu:")
    assert title.endswith("global store, 32 bits: 32 sectors, 32 lines, 12.5 % used")


def test_neighbours_touch():
    ax = gm.traffic("copy", variant="vec4", shape=2**12).draw(request=1)
    assert boxes(ax, "sectors") == {(lane // 2, lane, 1) for lane in range(32)}
    assert boxes(ax, "bytes") == {(lane / 2, lane, 0.5) for lane in range(32)}
    assert not artists(ax, "gap")
    assert [line.get_xdata()[0] for line in artists(ax, "line")] == [4, 8, 12]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["512", "640", "768", "896"]
    assert ax.get_title().endswith("global load, 128 bits: 16 sectors, 4 lines, 100 % used")


def test_a_shifted_request_touches_a_fifth_sector():
    ax = report(sectored(sample(range(4, 132, 4)))).draw()
    assert numbers(ax, "used") == [28, 32, 32, 32, 4]
    assert "5 sectors, 2 lines, 80 % used" in ax.get_title()


def test_an_access_may_lie_in_two_sectors():
    ax = report(sectored(sample((24,), width=16))).draw()
    assert boxes(ax, "bytes") == {(0.75, 0, 0.25), (1, 0, 0.25)}


def test_bytes_asked_for_twice_count_once():
    ax = report(sectored(sample([64] * 32, width=2))).draw()
    assert numbers(ax, "used") == [2]
    assert "1 sector, 1 line, 6.25 % used" in ax.get_title()


def test_gaps_inside_of_a_line_are_no_line():
    ax = report(sectored(sample((0, 64, 256)))).draw()
    assert len(artists(ax, "gap")) == 2 and len(artists(ax, "line")) == 1


def test_the_many_sectors_of_an_engine_are_cut_short():
    ax = gm.traffic("copy", variant="bulk", shape=2**14).draw()
    assert len(boxes(ax, "sectors")) == MOST_SECTORS
    assert "the first 64 of 128 sectors" in " ".join(ax.get_xlabel().split())
    assert ax.get_title().endswith("load by the copy engine: 128 sectors, 32 lines, 100 % used")


@pytest.mark.parametrize("stride", [4, 96, 2**20, 2**33])
def test_labels_do_not_overlap(stride):
    ax = report(sectored(sample([stride * lane for lane in range(32)]))).draw()
    ax.figure.canvas.draw()
    spans = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(spans))
    assert ax.title.get_window_extent().width < ax.figure.bbox.width


# ---- which request, and where -------------------------------------------------------------


def test_sites_are_told_by_index_or_by_line():
    t = gm.traffic("transpose", variant="tile", shape=(64, 64))
    load = next(
        i for i, one in enumerate(t.sites) if (one["space"], one["kind"]) == ("global", "load")
    )
    line = f"tile.cu:{t.sites[load]['line']}"
    assert "global load" in t.draw(load).get_title()
    assert "shared store" in t.draw(line).get_title()  # where the banks are
    assert "global load" in t.draw(f"{line} load").get_title()
    assert "global load" in t.draw(f"csrc/kernels/transpose/{line} global").get_title()
    assert "shared load" in t.draw().get_title()


def test_the_default_is_the_worst_line():
    worst = sectored(sample(range(0, 1024, 32)), line=9, sectors=32, lines=8)
    assert "up.cu:9" in report(sectored(sample([0])), worst).draw().get_title()
    conflict = site(sample(range(0, 4096, 128)), line=8, passes=32)
    assert "up.cu:8" in report(worst, site(sample([0])), conflict).draw().get_title()
    assert "up.cu:9" in report(worst, site(sample([0]))).draw().get_title()  # no conflict
    broadcast = sectored(sample([0] * 32), bytes=4, sectors=1)  # cannot be fewer
    pairs = sectored(sample(range(0, 256, 8)), line=8, sectors=8, lines=2)
    assert "up.cu:8" in report(broadcast, pairs).draw().get_title()


def test_two_reports_stand_side_by_side():
    _, axes = pyplot.subplots(1, 2)
    for ax, variant in zip(axes, ("tile", "tile_padded"), strict=True):
        assert gm.traffic("transpose", variant=variant, shape=(32, 32)).draw(ax=ax) is ax
    assert len(marked(axes[0])) == len(marked(axes[1])) == 32


def test_nothing_overlaps_in_a_row_of_narrow_pictures():
    figure, axes = pyplot.subplots(1, 3, figsize=(13, 4.5), layout="constrained")
    for ax in axes:
        gm.traffic("transpose", variant="naive_row", shape=(64, 64)).draw(ax=ax)
    figure.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in axes]
    assert all(a.x1 <= b.x0 for a, b in itertools.pairwise(boxes))


REQUESTS = [
    ("copy", "scalar", 2**12),
    ("copy", "bulk", 2**14),
    ("gather", "cached", 2**12),
    ("shift_points", "aos", (2**12, 2)),
    ("polynomial", "shared", 2**12),
    ("prefetch_sum", "smem_rolling_async_interleaved", (1, 2048)),
    ("transpose", "naive_row", (64, 64)),
    ("transpose", "tile", (64, 64)),
    ("transpose", "tile_vector:b32", (128, 128)),
    ("sgemm", "smem", (128, 128, 32)),
]


@pytest.mark.parametrize("wide", [1, 3], ids=["alone", "three in a row"])
@pytest.mark.parametrize(("family", "variant", "shape"), REQUESTS, ids=lambda one: str(one))
def test_texts_of_a_picture_keep_clear(family, variant, shape, wide):
    """No text overlaps another or is cut off, in single plots and in a row of narrow ones."""
    t = gm.traffic(family, variant=variant, shape=shape)
    sites = [i for i, one in enumerate(t.sites) if one["space"] in ("shared", "global")]
    for first in range(0, len(sites), wide):
        row = [sites[i % len(sites)] for i in range(first, first + wide)]
        axes = [None]
        if wide > 1:
            _, axes = pyplot.subplots(1, wide, figsize=(13, 5), layout="constrained")
        (figure,) = {t.draw(site, ax=ax).figure for site, ax in zip(row, axes, strict=True)}
        for _ in range(2):  # the layout of axes with equal units settles in some passes
            figure.get_layout_engine().execute(figure)
        figure.draw_without_rendering()
        assert not figure_checks.complaints(figure), [t.sites[site]["line"] for site in row]
        pyplot.close("all")


def test_what_is_not_there_is_refused():
    t = gm.traffic("copy", variant="vec4", shape=2**12)
    with pytest.raises(ValueError, match="site must be 0 to 1, not 2"):
        t.draw(2)
    with pytest.raises(ValueError, match=r"nope.cu:1.*vec4.cu:\d+ global load"):
        t.draw("nope.cu:1")
    with pytest.raises(ValueError, match="request must be 0 to 31, not 32: of the 32 requests"):
        t.draw(request=32)
    with pytest.raises(TypeError, match="site"):
        t.draw(1.5)
    with pytest.raises(TypeError, match="request"):
        t.draw(request="first")
    with pytest.raises(ValueError, match="kept"):
        report(site()).draw()
    with pytest.raises(ValueError, match="nothing to draw"):
        report().draw()
    assert not pyplot.get_fignums()  # no empty figures are left behind


def test_without_matplotlib_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'gpumem-lab\[plot\]'"):
        gm.traffic("copy", variant="vec4", shape=64).draw()
    assert cli.main("traffic copy --variant vec4 --shape 64 --draw x.png".split()) == 2
    assert "pip install 'gpumem-lab[plot]'" in capsys.readouterr().err


def test_importing_gpumem_does_not_import_matplotlib():
    code = (
        "import gpumem as gm, sys; t = gm.traffic('copy', shape=64); str(t); "
        "import gpumem.report.plots; sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# ---- the command line ---------------------------------------------------------------------


def test_the_command_line_writes_a_picture(tmp_path, capsys):
    file = tmp_path / "banks.png"
    command = ["traffic", "transpose", "--variant", "tile", "--shape", "64x64"]
    assert cli.main([*command, "--draw", str(file), "--site", "2", "--request", "3"]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert "transpose-tile" in capsys.readouterr().out
    file = tmp_path / "banks.svg"
    (line, *_) = {
        site["line"] for site in gm.traffic("transpose", variant="tile", shape=(8, 8)).sites
    }
    assert cli.main([*command, "--json", "--draw", str(file), "--site", f"tile.cu:{line}"]) == 0
    assert "<svg" in file.read_text()
    assert capsys.readouterr().out.startswith("{")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--draw x.png", "--variant"),
        ("--variant vec4 --request 1", "--draw"),
        ("--variant vec4 --draw x.png --site 9", "0 to 1"),
        ("--variant vec4 --draw x.png --request 99", "0 to 31"),
        ("--variant vec4 --draw x.png --request -1", "0 to 31"),
        ("--variant vec4 --draw x.notes", "notes"),
    ],
)
def test_the_command_line_refuses(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["traffic", "copy", *words.split()]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


# ---- the pictures of the documents --------------------------------------------------------


@pytest.mark.exhaustive  # tools/site.py draws all of them, and finds those that a page lacks
def test_the_pictures_of_the_documents_can_be_drawn_again(tmp_path):
    """Each is on a page; the only one that is committed is README.md's."""
    root = Path(__file__).resolve().parents[2]
    # By its path: tests/programs has a module of the same name.
    pictures = runpy.run_path(str(root / "tools" / "pictures.py"))
    name = pictures["README"]
    pictures["draw"](tmp_path)
    drawn = {file.stem for file in tmp_path.iterdir()}
    texts = [file.read_text(encoding="utf-8") for file in (root / "docs").rglob("*.md")]
    shown = set(re.findall(r"pictures/([\w-]+)\.png\)", "".join(texts)))
    # The site shows what the warps of a family wait for on its page, once it was measured.
    families = {file.stem for file in (root / "docs" / "families").glob("*.md")}
    stalls = {one for one in drawn if one.startswith("stalls-")}
    assert {one.removeprefix("stalls-") for one in stalls} <= families
    assert shown == drawn - stalls
    assert [file.stem for file in (root / "docs").glob("*.png")] == [name]
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert f"docs/{name}.png" in readme
    assert (root / "docs" / f"{name}.png").stat().st_size <= 128 * 1024
