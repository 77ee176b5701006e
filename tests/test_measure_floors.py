"""tools/measure_floors.py on a device whose time goes by the bytes that its memory moves."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from made_up import MadeUpDevice

import gpumem as gm
from gpumem import _core

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))  # where they find each other

import measure_floors as tool

BYTES_PER_MS = 1e6


READ, WRITTEN = 64, 32


def touched(a, places, unit):
    """Return how many bytes of units the elements of an array at these places take."""
    first = np.asarray(places) * a.itemsize
    bytes_of_each = first.reshape(-1, 1) + np.arange(a.itemsize)
    return unit * np.unique(bytes_of_each // unit).size


def moved(family, inputs, out, values):
    """Return how many bytes a call moves, from every byte of every element."""
    if family in ("strided_read", "strided_write"):
        reads = family == "strided_read"
        long, short = (inputs[0], out) if reads else inputs
        offset, stride = map(int, values[:2])
        places = np.arange(long.size)[offset::stride]
        whole = np.arange(short.size)
        if reads:
            return touched(long, places, READ) + touched(short, whole, WRITTEN)
        # A sector that is written in part is read.
        return 2 * touched(long, places, WRITTEN) + touched(short, whole, READ)
    total = touched(out, np.arange(out.size), WRITTEN)
    if family == "gather":
        a, index = inputs
        total += touched(a, index.to_host(), READ)
        return total + touched(index, np.arange(index.size), READ)
    return total + touched(inputs[0], np.arange(inputs[0].size), READ)


class Tick:
    """A prepared call: launching it runs it, and advances the clock of the device."""

    def __init__(self, device, call, nbytes):
        self.device, self.call, self.ms = device, call, nbytes / BYTES_PER_MS
        self.variant = call.variant

    def tick(self):
        self.call.launch()
        self.device.now += self.ms


class Memory(MadeUpDevice):
    """A device whose time goes by the bytes that its memory moves."""

    def __init__(self, slower):
        super().__init__()
        self.slower = slower  # than the floor

    def array(self, shape, dtype, device=None):
        return gm.DeviceArray(shape, dtype, backend="sim")

    def prepare(self, family, variant, inputs, out, values, stream=None):
        call = _core.prepare(family, variant, inputs, out, stream, values)
        if family == "copy":
            return Tick(self, call, inputs[0].nbytes + out.nbytes)
        return Tick(self, call, self.slower * moved(family, inputs, out, values))


def run(monkeypatch, *words, slower=1.0):
    monkeypatch.setattr(sys, "argv", ["measure_floors.py", *words])
    monkeypatch.setattr(tool, "open_device", lambda backend: Memory(slower))
    tool.main()


@pytest.mark.parametrize("slower", [1.0, 1.25])
def test_calls_that_move_no_more_than_they_have_to_are_at_the_floor(
    slower, monkeypatch, tmp_path, capsys
):
    file = tmp_path / "found.json"
    words = "--count", "60", "--rounds", "1", "--least", "1K", "--most", "64K"
    run(monkeypatch, *words, "--json", str(file), slower=slower)
    found = json.loads(file.read_text())
    assert {one["family"] for one in found["figures"]} == set(tool.FAMILIES)
    dtypes = {one["dtype"] for one in found["figures"]}  # by chance not all of them
    assert len(dtypes) > 2 and dtypes <= set(tool.DTYPES.values())
    for one in found["figures"]:
        assert one["fraction"] == pytest.approx(1 / slower), one
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"seed {found['seed']}" and len(lines) == 1 + 60 + len(tool.FAMILIES)
    for line, family in zip(lines[-len(tool.FAMILIES) :], tool.FAMILIES, strict=True):
        assert line == f"{family}: 12, mean {1 / slower:.3f}, least {1 / slower:.3f}"


def test_a_seed_draws_the_same_calls(monkeypatch, capsys):
    words = "--count", "10", "--rounds", "1", "--least", "1K", "--most", "16K", "--seed"
    texts = []
    for seed in ("3", "3", "4"):
        run(monkeypatch, *words, seed)
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--rounds", "0"], "--rounds is 0, expected at least 1"),
        (["--count", "0"], "--count is 0, expected at least 1"),
        (["--least", "2M", "--most", "1M"], "expected 1K <= least <= most <= 8G"),
    ],
)
def test_what_it_does_not_take(words, told, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, *words)
    assert told in capsys.readouterr().err
