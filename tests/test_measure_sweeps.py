"""tools/measure_sweeps.py on a device with a clock of its own."""

import json
import sys
from pathlib import Path

import pytest
from made_up import MadeUpDevice

import gpumem as gm
from gpumem import _core

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))  # where they find each other

import measure_sweeps as tool

MULTIPROCESSORS = 8
MS = {"strided_read": 0.5, "strided_write": 0.25}  # of other families, 1


class Tick:
    """A prepared call: launching it runs it once, and advances the clock of the device."""

    def __init__(self, device, call, ms):
        self.device, self.call, self.ms = device, call, ms
        self.variant = call.variant

    def tick(self):
        self.device.now += self.ms
        if self.call:
            self.call.launch()


class Sweeps(MadeUpDevice):
    """A device whose time goes by the family."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def info(self):
        found = super().info()
        found["devices"][0]["multiprocessors"] = MULTIPROCESSORS
        return found

    def array(self, shape, dtype, device=None):
        return gm.DeviceArray(shape, dtype, backend="sim")

    def prepare(self, family, variant, inputs, out, values, stream=None):
        call = _core.prepare(family, variant, inputs, out, stream, values)
        self.seen.append((family, variant, inputs, out, values))
        return Tick(self, call, MS.get(family, 1.0))


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["measure_sweeps.py", *words])
    device = Sweeps()
    monkeypatch.setattr(tool, "open_device", lambda backend: device)
    tool.main()
    return device


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Return what all sweeps of a small array make, and the device that they were made on."""
    file = tmp_path_factory.mktemp("sweeps") / "found.json"
    with pytest.MonkeyPatch.context() as patch:
        device = run(patch, "--bytes", "16K", "--rounds", "1", "--json", str(file))
    return json.loads(file.read_text()), device


def chosen(found, sweep):
    return [one for one in found["series"] if one["sweep"] == sweep]


def test_every_sweep_is_measured(found):
    found, _ = found
    assert {one["sweep"] for one in found["series"]} == set(tool.SWEEPS)
    assert (found["bytes"], found["rounds"]) == (16384, 1)
    assert found["provenance"]["device"]["name"] == "made-up device"
    for one in found["series"]:
        assert len(one["values"]) == len(one["ms"]) == len(one["gbps"])
        measured = [ms for ms in one["ms"] if ms is not None]
        assert measured == [pytest.approx(MS.get(one["family"], 1.0))] * len(measured)
        assert len(one["reasons"]) == one["gbps"].count(None)


def test_offsets_move_one_side_only(found):
    found, device = found
    figures = chosen(found, "offset")
    assert {one["dtype"] for one in figures} == {"float32", "float64"}
    for one in figures:
        assert one["values"] == list(range(33)) and one["fixed"] == {"stride": 1}
        itemsize = int(one["dtype"][-2:]) // 8
        for offset, ms, gbps in zip(one["values"], one["ms"], one["gbps"], strict=True):
            nbytes = 2 * (one["shape"][0] - offset) * itemsize
            assert gbps == pytest.approx(nbytes / ms / 1e6, abs=0.01)
    for family, _, inputs, out, parameters in device.seen:
        if not family.startswith("strided_"):
            continue
        aligned = out if family == "strided_read" else inputs[1]
        offset, stride, threads = parameters
        if threads:
            continue  # of the sweep by threads
        assert (stride, aligned.pointer % 256) == (1, 0)
        assert aligned.size == inputs[0].size - offset


def test_structures_are_copied_whole(found):
    found, _ = found
    figures = chosen(found, "structures")
    assert {one["variant"] for one in figures} >= {"struct12", "struct16", "struct24", "struct32"}
    assert {one["shape"][0] for one in figures} == {4096}


def test_blocks_go_from_few_to_all(found):
    found, _ = found
    for one in chosen(found, "max_blocks"):
        assert one["values"] == [2, 4, 8, 16, 32, 64, 128, 256, None]


def test_blocks_of_a_transpose_are_wide_and_thin(found):
    found, _ = found
    figures = chosen(found, "block")
    assert all(x * y <= 1024 for x, y in tool.BLOCKS)
    assert {(1, 256), (256, 1), (32, 8)} <= set(tool.BLOCKS)
    assert len(figures) == 4
    for one in figures:
        assert one["values"] == [list(block) for block in tool.BLOCKS] and all(one["gbps"])


def test_shares_of_the_l1_reach_from_none_to_all(found):
    found, _ = found
    figures = chosen(found, "carveout")
    assert all(one["values"] == [None, *tool.CARVEOUTS] for one in figures)
    assert tool.CARVEOUTS[0] == 0 and tool.CARVEOUTS[-1] == 100


def test_threads_are_measured_without_and_with_a_barrier(found):
    found, _ = found
    figures = chosen(found, "threads")
    assert {(one["fixed"]["sync"], one["shape"][0]) for one in figures} == {
        (sync, blocks * MULTIPROCESSORS) for sync in (False, True) for blocks in (1, 8)
    }
    assert all(one["values"] == list(tool.THREADS) for one in figures)


def test_threads_of_slices_are_measured_by_offset_and_stride(found):
    found, device = found
    figures = chosen(found, "strided_threads")
    assert {(one["family"], one["variant"]) for one in figures} == {
        (f"strided_{way}", variant)
        for way in ("read", "write")
        for variant in ("cached", "unroll4")
    }
    assert len(figures) == 4 * len(tool.SLICES)
    for one in figures:
        assert one["parameter"] == "threads" and one["values"] == list(tool.THREADS)
        offset, stride = one["fixed"]["offset"], one["fixed"]["stride"]
        nbytes = 2 * 4 * len(range(one["shape"][0])[offset::stride])
        assert one["gbps"] == pytest.approx([nbytes / ms / 1e6 for ms in one["ms"]], abs=0.01)
    seen = [values for family, *_, values in device.seen if family.startswith("strided_")]
    assert {threads for *_, threads in seen} == {0, *tool.THREADS}


def test_a_value_that_a_variant_does_not_take_has_a_reason(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(tool, "BLOCKS", ((64, 32), (32, 8)))
    file = tmp_path / "found.json"
    run(monkeypatch, "--bytes", "4K", "--sweeps", "block", "--rounds", "1", "--json", str(file))
    first = json.loads(file.read_text())["series"][0]
    assert first["gbps"][0] is None and first["gbps"][1]
    assert "at most 1024 together" in first["reasons"]["64x32"]
    assert "64x32: -  32x8: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--bytes", "1000"], "--bytes is 1000, expected a multiple of 1024"),
        (["--rounds", "0"], "--rounds is 0, expected at least 1"),
        (["--sweeps", "offset,tile"], "--sweeps has tile, expected offset, structures"),
    ],
)
def test_what_it_does_not_take(words, told, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, *words)
    assert told in capsys.readouterr().err
