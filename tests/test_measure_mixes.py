"""tools/measure_mixes.py on a device with a clock of its own; pictures of memory systems."""

import json
import sys
from pathlib import Path

import pytest
from made_up import MadeUpDevice

import gpumem as gm
from gpumem import _core
from gpumem.results import of_tools

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))  # where they find each other

import measure_mixes as tool

READ_GBPS, WRITE_GBPS, COPY_GBPS = 2000, 1000, 1500


class Tick:
    """A prepared call: launching it runs it, and advances the clock of the device."""

    def __init__(self, device, call, ms):
        self.device, self.call, self.ms = device, call, ms
        self.variant = call.variant

    def tick(self):
        self.call.launch()
        self.device.now += self.ms


class Mixes(MadeUpDevice):
    """A device whose time goes by what a call reads and writes."""

    def __init__(self):
        super().__init__()
        self.seen = {}

    def array(self, shape, dtype, device=None):
        return gm.DeviceArray(shape, dtype, backend="sim")

    def prepare(self, family, variant, inputs, out, values, stream=None):
        call = _core.prepare(family, variant, inputs, out, stream, values)
        if family == "copy":
            return Tick(self, call, 2 * inputs[0].nbytes / COPY_GBPS / 1e6)
        written = out.nbytes if out.ndim else 0
        self.seen[inputs[0].shape[0], written // (4 * inputs[0].shape[1])] = inputs[0], out
        ms = (inputs[0].nbytes / READ_GBPS + written / WRITE_GBPS) / 1e6
        return Tick(self, call, ms)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["measure_mixes.py", *words])
    device = Mixes()
    monkeypatch.setattr(tool, "open_device", lambda backend: device)
    tool.main()
    return device


def test_all_mixes_are_measured(monkeypatch, tmp_path, capsys):
    file = tmp_path / "found.json"
    device = run(monkeypatch, "--row", "4K", "--rounds", "2", "--json", str(file))
    found = json.loads(file.read_text())
    rates = {(one["reads"], one["writes"]): one["gbps"] for one in found["figures"]}
    assert set(rates) == {(r, w) for r in range(5) for w in range(5)} - {(0, 0)}
    for (reads, writes), rate in rates.items():
        wanted = (reads + writes) / (reads / READ_GBPS + writes / WRITE_GBPS)
        assert rate == pytest.approx(wanted)
    (copy,) = found["copies"]
    assert copy["gbps"] == pytest.approx(COPY_GBPS) and copy["variant"] == "memcpy"
    assert found["row_bytes"] == 4096 and found["provenance"]["device"]["name"]
    assert len(capsys.readouterr().out.splitlines()) == 25
    assert set(device.seen) == set(rates)
    # The last mix has written four rows, w xor an even number of equal rows; then row 0 was copied.
    _, out = device.seen[4, 4]
    assert [set(row.tolist()) for row in out.to_host()] == [{0x01010101}, {1}, {2}, {3}]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--row", "1000"], "--row is 1000, expected a multiple of 16"),
        (["--rounds", "0"], "--rounds is 0, expected at least 1"),
    ],
)
def test_what_it_does_not_take(words, told, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, *words)
    assert told in capsys.readouterr().err


# ---- pictures -------------------------------------------------------------------------------


@pytest.fixture
def drawn():
    """Return a function that checks a picture for visible faults, and returns its axes."""
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    import figure_checks
    from matplotlib import pyplot

    def check(ax):
        ax.figure.draw_without_rendering()
        assert not figure_checks.complaints(ax.figure)
        return ax

    yield check
    pyplot.close("all")


def test_equal_mixes_are_named_once(drawn):
    from gpumem.report import plots

    found = of_tools.load("mixes-h200")
    ax = drawn(plots.draw_mixes(found))
    words = [text.get_text() for text in ax.texts]
    assert words.count("1 : 1") == words.count("1 : 0") == words.count("0 : 1") == 1
    assert "2 : 2" not in words and "2 : 3" in words
    points = {line.get_label(): len(line.get_xdata()) for line in ax.lines}
    assert points["stream"] == len(found["figures"]) and points["the driver's copy"] == 1


def test_plateaus_are_named_by_footprint(drawn):
    from gpumem.report import plots

    found = of_tools.load("latency-h200")
    levels = plots.levels(found)
    assert list(levels) == ["L1", "L2", "memory"]
    ns = [one["ns"] for one in levels.values()]
    assert ns == sorted(ns) and levels["L1"]["most"] < levels["L2"]["least"]
    ax = drawn(plots.draw_latency(found, ["cached", "shared"]))
    assert [line.get_label() for line in ax.lines] == ["cached", "shared"]
    assert [text.get_text().split(":")[0] for text in ax.texts] == list(levels)
