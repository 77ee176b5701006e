"""Tables of the documents that come from what tools have measured."""

import re
import sys
from pathlib import Path

import pytest

from gpumem.results import of_tools

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))  # where they find each other

import document_tables
import tool_tables

ROOT = Path(__file__).resolve().parent.parent
ORIGIN = {"device": {"name": "a device"}, "date": "2026-01-01", "commit": "0123456789ab"}


def series(sweep, variant, values, gbps, dtype="float32", rows=1, **fixed):
    told = {"family": "copy", "variant": variant, "dtype": dtype, "shape": [rows]}
    return {
        "sweep": sweep,
        "parameter": sweep.removeprefix("strided_"),
        **told,
        "values": values,
        "fixed": fixed,
        "gbps": gbps,
    }


def shipped(monkeypatch, **record):
    found = {"provenance": ORIGIN, **record}
    monkeypatch.setattr(of_tools, "load", lambda name: found)
    monkeypatch.setattr(of_tools, "newest", lambda what: found)
    return found


def cells(text):
    """Return the cells of a table, header first."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [re.split(r"\s*\|\s*", line.strip("| ")) for line in (lines[0], *lines[2:])]


def test_without_a_result_there_is_no_table(monkeypatch):
    monkeypatch.setattr(of_tools, "load", lambda name: None)
    monkeypatch.setattr(of_tools, "newest", lambda what: None)
    kinds = ("structures: x", "host memory: x add", "prefetch stalls")
    for kind in kinds:
        document = f"<!-- {kind} -->\n<!-- end -->"
        assert document_tables.filled(document) == document


def test_a_sweep_has_a_column_per_value(monkeypatch):
    found = [
        series("block", "naive", [[8, 32], [64, 32]], [100.4, None]),
        series("block", "naive", [[8, 32], [64, 32]], [7.0, 8.0], dtype="float64"),
        series("block", "other", [[8, 32], [64, 32]], [200.6, 201.0]),
        series("max_blocks", "naive", [None], [1.0]),
    ]
    shipped(monkeypatch, series=found)
    document = "<!-- sweep: x block dtype=float32 -->\n<!-- end -->"
    text = document_tables.filled(document)
    assert cells(text) == [
        ["`block`", "8x32", "64x32"],
        ["`naive`", "100", "–"],
        ["`other`", "201", "201"],
    ]
    assert "a device, 2026-01-01" in text
    assert cells(tool_tables.sweep("x", "max_blocks"))[0] == ["`max_blocks`", "default"]
    (_, *rows) = cells(tool_tables.sweep("x", "block", "variants=other", "dtype=float32"))
    assert [row[0] for row in rows] == ["`other`"]


def test_a_sweep_is_chosen_by_rows_and_other_parameters(monkeypatch):
    found = [
        series("threads", "l2", [1, 2], [100 * rows, 100 * rows + 5 * sync], rows=rows, sync=sync)
        for rows in (1, 8)
        for sync in (False, True)
    ]
    shipped(monkeypatch, series=found)
    chosen = tool_tables.sweep("x", "threads", "rows=8", "sync=True", "values=2")
    assert cells(chosen) == [["`threads`", "2"], ["`l2`", "805"]]


def test_a_sweep_tells_the_parameters_that_vary_beside_it(monkeypatch):
    found = [
        series("strided_threads", name, [32, 64], [stride, 100 + stride], offset=0, stride=stride)
        for name in ("cached", "unroll4")
        for stride in (1, 2)
    ]
    shipped(monkeypatch, series=found)
    assert cells(tool_tables.sweep("x", "strided_threads", "family=copy", "dtype=float32")) == [
        ["`threads`", "32", "64"],
        ["`cached`, stride 1", "1", "101"],
        ["`cached`, stride 2", "2", "102"],
        ["`unroll4`, stride 1", "1", "101"],
        ["`unroll4`, stride 2", "2", "102"],
    ]
    (_, *rows) = cells(tool_tables.sweep("x", "strided_threads", "stride=2", "variants=unroll4"))
    assert rows == [["`unroll4`", "2", "102"]]


def test_pages_say_that_a_sweep_is_not_measured(monkeypatch):
    monkeypatch.setattr(of_tools, "load", lambda name: None)
    monkeypatch.setattr(of_tools, "newest", lambda what: None)
    document = "<!-- sweep: x block family=copy -->\n<!-- end -->"
    text = document_tables.filled(document)
    assert "Not measured yet: `tools/measure_sweeps.py --sweeps block`" in text
    shipped(monkeypatch, series=[series("offset", "scalar", [0], [1.0])])
    assert document_tables.filled(document) == text


def test_a_sweep_without_a_machine_is_the_newest(monkeypatch):
    found = {"provenance": ORIGIN, "series": [series("block", "naive", [1], [5.0])]}
    monkeypatch.setattr(of_tools, "load", lambda name: None)
    monkeypatch.setattr(of_tools, "newest", lambda what: found if what == "x" else None)
    assert cells(tool_tables.sweep("x", "block")) == [["`block`", "1"], ["`naive`", "5"]]


def test_padding_does_not_count_as_useful(monkeypatch):
    names = ("struct12", "struct16", "struct20", "struct24", "struct32")
    shipped(monkeypatch, series=[series("structures", name, [None], [1600.0]) for name in names])
    rows = cells(tool_tables.structures("x"))[1:]
    assert [row[3] for row in rows] == ["1600", "1200", "1600", "1000", "1600", "1200"]


@pytest.fixture
def host_memory(monkeypatch):
    add = [
        {"bytes": nbytes, "way": way, "ms": 1.0, "gbps": 2.5}
        for nbytes in (2**12, 2**28)
        for way in ("pinned", "managed")
        if nbytes < 2**28 or way == "pinned"
    ]
    made = [
        ("managed", "empty", 9.0),
        ("managed", "filled", 8.0),
        ("pinned", "empty", 250.0),
        ("pinned", "filled", 2.0),
        ("device", "filled", 3.0),
    ]
    allocation = [
        {"bytes": 4096, "kind": kind, "pool": pool, "us": us, "touched_us": None}
        for kind, pool, us in made
    ]
    allocation[2]["touched_us"] = 1250.0
    small = [{"count": n, "item": 4096, "way": "packed", "us": 10.0 * n} for n in (1, 64)]
    shipped(monkeypatch, add=add, allocation=allocation, small=small)


def test_tables_of_host_memory(host_memory):
    table = tool_tables.host_memory
    assert cells(table("x", "add"))[1:] == [["4 KiB", "2.50", "2.50"], ["256 MiB", "2.50", "–"]]
    assert cells(table("x", "allocation")) == [
        ["µs", "managed", "pinned, pool empty", "pinned, pool filled", "device, pool filled"],
        ["4 KiB", "9.0", "250", "2.0", "3.0"],
    ]
    assert cells(table("x", "use")) == [["µs", "pinned, pool empty"], ["4 KiB", "1,250"]]
    assert cells(table("x", "small"))[1:] == [["1", "10.0"], ["64", "640"]]


def test_strides_in_sectors_and_in_blocks(monkeypatch):
    """Of 100 float64, every 10th: 10 sectors or blocks are read, and 80 bytes written."""
    record = {"variant": "auto", "order": "stream", "shape": [100], "dtype": "float64"}
    records = [{**record, "parameters": {"stride": 10}, "median_ms": 1e-6}]
    records += [{**record, "parameters": {"stride": 1}, "median_ms": 1e-6}]
    provenance = {**ORIGIN, "date": "2026-01-01"}

    class Found:
        def filter(self, **chosen):
            assert chosen == {"variant": "auto", "order": "stream"}
            return self

    Found.records, Found.provenance = records, provenance
    monkeypatch.setattr(document_tables.gm.results, "load", lambda name: Found())
    text = document_tables.filled("<!-- strides: x -->\n<!-- end -->")
    assert cells(text)[1:] == [
        ["80 bytes", "0.0", "400", "720"],
        ["8 bytes", "0.0", "1600", "1600"],
    ]


def test_a_row_per_matrix_that_ranks_share(monkeypatch):
    document = "<!-- ranks: distributed-x -->\n<!-- end -->"
    monkeypatch.setattr(of_tools, "load", lambda name: None)
    assert document_tables.filled(document) == document

    def one(side, variant, ms):
        record = {"variant": variant, "shape": [side, side], "dtype": "uint8", "median_ms": ms}
        return {**record, "parameters": {"ranks": 3, "engine": "mpi"}}

    records = [one(8, "all_to_all", 0.1234), one(8, "into_peers", 2.0), one(9, "matmul", 1234.5)]
    found = {"provenance": ORIGIN, "records": records}
    monkeypatch.setattr(of_tools, "load", lambda name: found)
    text = document_tables.filled(document)
    header, *rows = cells(text)
    assert [name.split(",")[0] for name in header] == [
        "ms",
        "transpose",
        "the library's all-to-all alone",
        "`matmul`",
    ]
    assert rows == [["8 x 8 uint8", "2", "0.123", "–"], ["9 x 9 uint8", "–", "–", "1234"]]
    assert "3 ranks, mpi. a device, 2026-01-01" in text


def test_stalls_are_listed_by_their_length(monkeypatch):
    stalls = {"wait": 1.0, "long_scoreboard": 20.26, "selected": 1.5, "barrier": 0.5}
    told = {"family": "copy", "warps": 0.914, "issued": 0.1, "l1": None, "l2": 0.5}
    figures = [
        {**told, "variant": "vec4", "stalls": stalls},
        {"family": "copy", "variant": "bulk", "error": "no launch"},
        {**told, "family": "scan", "variant": "hillis", "stalls": stalls},
    ]
    shipped(monkeypatch, figures=figures)
    text = document_tables.filled("<!-- stalls: copy -->\n<!-- end -->")
    (row,) = cells(text)[1:]
    assert row[:5] == ["`vec4`", "91%", "10%", "–", "50%"]
    assert row[5] == "long scoreboard 20.3, wait 1.0, barrier 0.5"  # in "selected" it issues
    assert "a device, 2026-01-01" in text and "pictures/stalls-copy.png" in text
    assert "none of this family" in document_tables.filled("<!-- stalls: add -->\n<!-- end -->")


def test_pages_say_that_stalls_are_not_measured(monkeypatch):
    monkeypatch.setattr(of_tools, "newest", lambda what: None)
    text = document_tables.filled("<!-- stalls: copy -->\n<!-- end -->")
    assert "Not measured yet" in text and "stalls-copy.png" not in text


def prefetching(**more):
    """Return made-up figures: of the plain loop and one that prefetches, at two places."""

    def one(variant, blocks, work, us):
        stalls = {"long_scoreboard": 30.0 if blocks == 1 else 10.0, "selected": 10.0}
        place = {"shape": [2 * blocks, 64], "parameters": {"work": work}}
        told = {"family": "prefetch_sum", "variant": variant, "issued": 0.125, "us": us}
        return {**told, **place, "stalls": stalls, **more}

    figures = [one("baseline", 8, 4, 10.0), one("l2", 8, 4, 10.0)]
    figures += [one("baseline", 1, 0, 10.0), one("l2", 1, 0, 4.0), one("l2", 4, 0, 4.0)]
    device = {"name": "a device", "multiprocessors": 2}
    return {"provenance": ORIGIN | {"device": device}, "figures": figures}


def test_gains_of_prefetching_beside_the_waits_for_loads(monkeypatch):
    monkeypatch.setattr(of_tools, "newest", lambda what: prefetching())
    text = document_tables.filled("<!-- prefetch stalls -->\n<!-- end -->")
    assert cells(text)[1:] == [
        ["1", "0", "75%", "12%", "2.50"],
        ["8", "4", "50%", "12%", "1.00"],
    ]
    assert "a device, 2026-01-01" in text


def test_a_picture_of_what_warps_wait_for():
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    import figure_checks
    from matplotlib import pyplot

    from gpumem.report import plots

    reasons = ("long_scoreboard", "wait", "barrier", "membar", "drain", "misc", "sleeping")
    stalls = {name: 10.0 / (1 + i) for i, name in enumerate(reasons)} | {"selected": 99.0}
    told = {"family": "copy", "stalls": stalls}
    figures = [{**told, "variant": name} for name in ("vec4", "bulk")]
    figures.append({"family": "copy", "variant": "scalar", "error": "no launch"})
    ax = plots.draw_stalls({"provenance": ORIGIN, "figures": figures}, "copy")
    ax.figure.draw_without_rendering()
    assert not figure_checks.complaints(ax.figure)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["long scoreboard", "wait", "barrier", "membar", "drain", "others"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["vec4", "bulk"]
    whole = sum(stalls.values()) - 99.0
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(2 * whole)
    assert "a device, 2026-01-01" in ax.get_title()
    pyplot.close("all")


def test_the_newest_result_is_of_whatever_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(of_tools, "_FOLDER", tmp_path)
    assert of_tools.newest("stalls") is None
    for name, date in (
        ("stalls-h100", "2026-02-01"),
        ("stalls-z9", "2026-01-01"),
        ("stall-a", "3"),
    ):
        text = f'{{"provenance": {{"date": "{date}"}}, "name": "{name}"}}'
        (tmp_path / f"{name}.json").write_text(text)
    assert of_tools.newest("stalls")["name"] == "stalls-h100"


def test_pages_ask_for_sweeps_that_the_tool_makes():
    """What a page names wrongly would be an empty table, or an error once there is a result."""
    import measure_sweeps

    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/families/*.md")]
    asked = [
        words.split()
        for page in pages
        for words in re.findall(r"<!-- sweep: ([^\n]*) -->", page.read_text(encoding="utf-8"))
    ]
    assert asked
    for file, name, *chosen in asked:
        wanted = "strided-threads" if name == "strided_threads" else "sweeps-h200"
        assert (file, name in measure_sweeps.SWEEPS) == (wanted, True)
        keys = [word.partition("=")[0] for word in chosen]
        assert set(keys) <= {"family", "dtype", "rows", "sync", "values", "variants"}
    parts = [
        part
        for page in pages
        for part in re.findall(r"<!-- host memory: host-memory-h200 (\w+) -->", page.read_text())
    ]
    assert sorted(parts) == sorted(tool_tables.PARTS)
