"""tools/measure_random.py on a device with a clock of its own; the picture of what it finds."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from made_up import MadeUpDevice

import gpumem as gm
from gpumem import _core
from gpumem.results import of_tools

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))  # where they find each other

import document_tables
import measure_random as tool

SECTORS_PER_MS = 10**6
CHECK_MS = 7.0  # of an index, while a call is prepared


class Tick:
    """A prepared call: launching it runs it, and advances the clock of the device."""

    def __init__(self, device, ms, call=None):
        self.device, self.ms, self.call = device, ms, call
        self.variant = call.variant if call else "scalar"

    def tick(self):
        self.device.now += self.ms
        if self.call:
            self.call.launch()


class Sectors(MadeUpDevice):
    """A device whose time goes by the sectors that random elements take."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def array(self, shape, dtype, device=None):
        return gm.DeviceArray(shape, dtype, backend="sim")

    def prepare(self, family, variant, inputs, out, values, stream=None):
        call = _core.prepare(family, variant, inputs, out, stream, values)
        if family != "gather":
            return Tick(self, 0.02)
        a, index = inputs
        self.seen.append((a, index.to_host(), out))
        self.now += CHECK_MS
        return Tick(self, index.size * max(a.itemsize // 32, 1) / SECTORS_PER_MS, call)


def run(monkeypatch, *words, free=None):
    monkeypatch.setattr(sys, "argv", ["measure_random.py", *words])
    device = Sectors()
    device.free = free or device.free
    monkeypatch.setattr(tool, "open_device", lambda backend: device)
    tool.main()
    return device


def test_rates_are_of_useful_bytes_and_of_sectors(monkeypatch, tmp_path, capsys):
    file = tmp_path / "found.json"
    device = run(
        monkeypatch,
        *("--footprints", "4K,64K", "--elements", "1:128:x2", "--count", "3000"),
        *("--rounds", "2", "--json", str(file)),
    )
    found = json.loads(file.read_text())
    assert found["provenance"]["device"]["name"] == "made-up device"
    assert (found["count"], found["rounds"], found["seed"]) == (3000, 2, 0)
    keys = [(one["footprint"], one["element"]) for one in found["figures"]]
    assert keys == [(size, 2**i) for size in (2**12, 2**16) for i in range(8)]
    for one in found["figures"]:
        sector = max(one["element"], 32)
        assert one["asked_bytes"] == 3000 * one["element"]
        assert one["sector_bytes"] == 3000 * sector
        assert one["moved_bytes"] == 3000 * (sector + 4 + one["element"])
        assert one["sector_gbps"] == pytest.approx(32 * SECTORS_PER_MS / 1e6)
        assert one["gbps"] == pytest.approx(one["element"] / sector * one["sector_gbps"])
        assert one["variant"] == ("cached" if one["element"] <= 16 else "any")
    assert len(capsys.readouterr().out.splitlines()) == 1 + 16
    # What was timed is a gather at places all over the footprint.
    for a, index, out in device.seen:
        assert index.dtype == np.int32 and 0 <= index.min() and index.max() < a.size
        assert index.max() - index.min() > a.size / 2
        assert out.to_host().tobytes() == a.to_host()[index].tobytes()


def test_variants_that_do_not_take_an_element_are_left_out(monkeypatch, capsys):
    words = ("--footprints", "4K", "--elements", "16,32", "--count", "64", "--rounds", "1")
    run(monkeypatch, *words, "--variants", "uncached,any")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [(row[2], row[3]) for row in rows] == [("uncached", "16"), ("any", "16"), ("any", "32")]


def test_a_footprint_that_does_not_fit_is_named(monkeypatch, capsys):
    words = ("--footprints", "1M,4K", "--elements", "4", "--count", "64", "--rounds", "1")
    device = run(monkeypatch, *words, free=2**19)
    assert "1 MiB  more than is free" in capsys.readouterr().out
    assert {a.nbytes for a, *_ in device.seen} == {4096}


def test_indices_of_64_bits_where_32_do_not_reach():
    assert tool.index_type(2**31) is np.int32 and tool.index_type(2**31 + 1) is np.int64


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--elements", "12"], "--elements has 12, expected powers of two"),
        (["--footprints", "1000"], "--footprints has 1000, no multiple of 128"),
        (["--rounds", "0"], "--rounds is 0, expected at least 1"),
    ],
)
def test_what_it_does_not_take(words, told, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, *words)
    assert told in capsys.readouterr().err


# ---- what documents show of it --------------------------------------------------------------


def made_up_result(rate, footprints=(2**20, 2**22, 2**30)):
    device = {"name": "a device", "bandwidth_gbps": 4000.0}
    figures = [
        {"element": 2**i, "footprint": footprint, "gbps": rate(2**i, footprint)}
        for footprint in footprints
        for i in range(8)
    ]
    return {"provenance": {"device": device, "date": "2026-01-01"}, "figures": figures}


def rate_by_sectors(element, footprint):
    return (3000 if footprint < 2**25 else 1000) * min(1, element / 32)


def test_footprints_of_one_rate_share_a_line():
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    import figure_checks
    from matplotlib import pyplot

    from gpumem.report import plots

    ax = plots.draw_random(made_up_result(rate_by_sectors))
    ax.figure.draw_without_rendering()
    assert not figure_checks.complaints(ax.figure)
    named = {line.get_label(): line for line in ax.lines if line.get_gid() != "sector"}
    assert list(named) == ["1 MiB, 4 MiB", "1 GiB"]
    assert named["1 GiB"].get_ydata()[0] == 1000 / 32
    (sector,) = (line for line in ax.lines if line.get_gid() == "sector")
    assert set(sector.get_xdata()) == {32}
    pyplot.close(ax.figure)


def test_the_table_has_a_row_per_element_and_is_empty_without_a_result(monkeypatch):
    document = "<!-- random access: random-h200 -->\n<!-- end -->"
    monkeypatch.setattr(of_tools, "load", lambda name: None)
    assert document_tables.filled(document) == document
    monkeypatch.setattr(of_tools, "load", lambda name: made_up_result(rate_by_sectors))
    rows = document_tables.filled(document).splitlines()[1:]
    assert rows[0] == "| bytes | 1 MiB | 4 MiB | 1 GiB |"
    assert rows[2:10][2] == "| 4 | 375 | 375 | 125 |"
    assert rows[11] == "a device, 2026-01-01."


def test_a_shipped_file_is_loaded_and_another_is_none():
    assert of_tools.load("latency-h200")["provenance"]["device"]["name"] == "NVIDIA H200"
    assert of_tools.load("none-h200") is None
