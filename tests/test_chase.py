"""chase: every variant and length against NumPy; refusals; what tools/measure_latency.py finds."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up import MadeUpDevice
from support import here

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))  # where they find each other

import measure_latency as tool

LADDER = gm.variants("chase")
BY_PATH = [v for v in LADDER if v.name in ("cached", "uncached", "readonly")]
DTYPES = ["i4", "u4"]
LENGTHS = [1, 2, 3, 31, 32, 33, 255, 257, 1009, 4099]
DRAWN = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def cycle(rng, n, dtype="u4"):
    order = rng.permutation(n)
    after = np.empty(n, dtype)
    after[order] = np.roll(order, -1)
    return after


def walk(after, steps, start=0):
    """Return the end of a chain, one step after the other."""
    at = start
    for _ in range(steps):
        at = int(after[at])
    return at


def test_variants_in_order():
    assert [v.name for v in LADDER] == [
        "cached",
        "uncached",
        "readonly",
        "shared",
        "remote_shared",
        "constant",
    ]


# ---- against NumPy ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_every_length(variant, dtype, backend, rng):
    here(variant, backend)
    for n in LENGTHS:
        after = cycle(rng, n, dtype)
        there = gm.to_device(after, backend=backend)
        out = gm.DeviceArray((), dtype, backend=backend)
        for steps in (0, 1, 7, 8, 9, 33, 1000):
            out.fill_bytes(0xA5)
            start = int(rng.integers(n))
            assert variant(there, steps, start, out=out) is out
            assert out.to_host() == walk(after, steps, start)
        assert there.to_host().tobytes() == after.tobytes()


@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_a_chain_need_not_be_a_cycle(variant, backend, rng):
    here(variant, backend)
    after = rng.integers(0, 500, 500).astype("i4")
    for steps in (3, 100):
        got = variant(after, steps, 499, backend=backend)
        assert got == walk(after, steps, 499)
        assert got.shape == () and got.dtype == np.int32


@given(n=st.integers(1, 3000), steps=st.integers(0, 5000), data=st.data())
@DRAWN
def test_auto_from_any_start(backend, n, steps, data):
    start = data.draw(st.integers(0, n - 1))
    after = np.random.default_rng(n).integers(0, n, n).astype("u4")
    assert gm.chase(after, steps, start, backend=backend) == walk(after, steps, start)


def test_any_stride_and_alignment(backend, rng):
    after = cycle(rng, 100)
    memory = np.zeros((100, 3), "u4")
    memory[:, 1] = after
    there = gm.to_device(memory, backend=backend)
    assert gm.chase(there[:, 1], 55).to_host() == walk(after, 55)
    assert gm.chase(memory[:, 1], 55, backend=backend) == walk(after, 55)
    raw = np.zeros(401, "u1")
    raw[1:] = after.view("u1")
    unaligned = gm.to_device(raw, backend=backend)[1:].view("u4")
    assert gm.chase(unaligned, 55).to_host() == walk(after, 55)


def test_lists_and_numpy_integers(backend):
    after = np.array([1, 2, 0], "i4")
    assert gm.chase(after, np.int64(4), np.uint8(1), backend=backend) == 2
    assert gm.chase(after, backend=backend) == 1024 % 3


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize("variant", BY_PATH, ids=str)
def test_indices_beyond_2_31(variant):
    n = 2**31 + 7
    there = gm.DeviceArray((n,), "u4", backend="cuda")
    there.fill_bytes(0)
    there[:1] = np.array([n - 1], "u4")
    there[n - 1 :] = np.array([2**31], "u4")
    there[2**31 : 2**31 + 1] = np.array([5], "u4")
    assert [int(variant(there, steps).to_host()) for steps in range(5)] == [0, n - 1, 2**31, 5, 0]


# ---- traffic ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", BY_PATH, ids=str)
def test_each_step_is_one_load(variant, rng):
    for steps in (0, 1, 100):
        t = gm.traffic("chase", cycle(rng, 1000), variant=variant, steps=steps)
        assert t.loads.requests == t.loads.sectors == steps
        assert t.stores.requests == 1


def test_a_chain_on_the_chip_is_read_once(rng):
    after = cycle(rng, 4096)
    for name, space in (("shared", "shared"), ("constant", "constant")):
        counted = _core.traffic("chase", name, (after,), (300, 0))
        loads = [s for s in counted["sites"] if (s["space"], s["kind"]) == (space, "load")]
        assert sum(s["requests"] for s in loads) == 300
    assert gm.traffic("chase", after, variant="shared", steps=300).loads.bytes_asked == 4 * 4096


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", LADDER, ids=str)
@pytest.mark.parametrize(
    ("dtype", "place", "value", "told"),
    [
        ("i4", 4, 70, "70"),
        ("i4", 0, -1, "-1"),
        ("i4", 69, 2**31 - 1, "2147483647"),
        ("u4", 33, 70, "70"),
        ("u4", 0, 2**32 - 1, "4294967295"),
    ],
)
def test_a_chain_that_leads_out_of_bounds(variant, dtype, place, value, told, backend, rng):
    here(variant, backend)
    after = cycle(rng, 70, dtype)
    after[place] = value
    out = gm.DeviceArray((), dtype, backend=backend)
    out.fill_bytes(0xA5)
    words = rf"index {told} is out of bounds for axis 0 with size 70 \(element {place} of next\)"
    for arrays in (after, gm.to_device(after, backend=backend)):
        with pytest.raises(IndexError, match=words):
            variant(arrays, 0, backend=backend)
    with pytest.raises(IndexError, match=words):
        variant(gm.to_device(after, backend=backend), out=out)
    assert out.to_host().tobytes() == b"\xa5" * 4


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"start": 5}, IndexError, "start 5 is out of bounds for axis 0 with size 5"),
        ({"start": -1}, ValueError, "start is -1, expected 0 to 4294967295"),
        ({"start": 1.0}, TypeError, "start must be an integer, not float"),
        ({"steps": -1}, ValueError, "steps is -1, expected 0 to 2147483647"),
        ({"steps": 2**31}, ValueError, "steps is 2147483648, expected 0 to 2147483647"),
        ({"steps": True}, TypeError, "steps must be an integer, not bool"),
    ],
)
def test_numbers_out_of_range(keywords, error, words, backend):
    with pytest.raises(error, match=words):
        gm.chase(np.arange(5, dtype="u4"), backend=backend, **keywords)


@pytest.mark.parametrize("dtype", ["i8", "u8", "i2", "f4", "?", "S4"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match=r"next has dtype .*accepted is int32, uint32"):
        gm.chase(np.zeros(3, dtype), backend="sim")


def test_other_shapes_are_refused(backend):
    with pytest.raises(ValueError, match="next has no elements, expected at least one"):
        gm.chase(np.empty(0, "u4"), backend=backend)
    with pytest.raises(ValueError, match="next has 2 dimensions, expected 1"):
        gm.chase(np.zeros((2, 2), "u4"), backend=backend)


@pytest.mark.parametrize("variant", LADDER[3:], ids=str)
def test_chains_that_do_not_fit_on_the_chip(variant, backend):
    here(variant, backend)
    fits = np.zeros(16384 if variant.name == "constant" else 12288, "u4")
    assert variant(fits, 5, backend=backend) == 0
    words = f"next has 4194304 bytes, variant {variant.name} has room for"
    with pytest.raises(ValueError, match=words):
        variant(np.zeros(2**20, "u4"), 5, backend=backend)
    if variant.name == "constant":
        with pytest.raises(ValueError, match="next has 65540 bytes, variant constant has room for"):
            variant(np.zeros(16385, "u4"), backend=backend)


def test_out_must_fit(backend):
    after = np.zeros(4, "u4")
    for out, error in [
        (np.empty(1, "u4"), ValueError),
        (np.empty((), "i4"), TypeError),
        (after[0:1].reshape(()), ValueError),
    ]:
        with pytest.raises(error, match="out"):
            gm.chase(after, out=out, backend=backend)
    memory = gm.DeviceArray((9,), "u1", backend=backend)
    out = memory[1:5].view("u4").reshape(())
    assert gm.chase(gm.to_device(after, backend=backend), out=out) is out
    assert out.to_host() == 0


# ---- the oracle -------------------------------------------------------------------------------


def test_the_oracle_walks_the_chain(rng):
    for n in (1, 2, 77):
        after = rng.integers(0, n, n).astype("i4")
        for steps in (*range(20), 1000, 10_000, 10_001, 65_537):
            assert oracle.expected("chase", after, steps=steps, start=n - 1) == walk(
                after, steps, n - 1
            )


def test_the_oracle_draws_one_cycle():
    (after,) = oracle.arguments("chase", 1000, "uint32", seed=3)
    assert after.dtype == np.uint32
    assert len({walk(after, steps) for steps in range(1000)}) == 1000
    assert walk(after, 1000) == 0


# ---- tools/measure_latency.py -----------------------------------------------------------------


class Tick:
    """A prepared call: launching it advances the clock of the device."""

    def __init__(self, device, ms):
        self.device, self.ms = device, ms

    def tick(self):
        self.device.now += self.ms


class Latencies(MadeUpDevice):
    """A device whose loads take 20 ns up to 64 KiB, 200 ns up to 1 MiB, and 500 ns beyond.

    Lines of the L2 take 150 or 250 ns, by the parity of their number.
    """

    def __init__(self):
        super().__init__()
        self.launched = []

    def array(self, shape, dtype, device=None):
        return gm.DeviceArray(shape, dtype, backend="sim")

    def prepare(self, family, variant, inputs, out, values, stream=None):
        if family != "chase":
            return Tick(self, 0.02)
        call = _core.prepare(family, variant, inputs, out, stream, values)  # it checks the chain
        steps, start = values
        self.launched.append((call.variant, inputs[0].nbytes, steps, start))
        return Tick(self, 0.003 + steps * self.ns(inputs[0], start) / 1e6)

    def ns(self, chain, start):
        if chain[start : start + 1].to_host()[0] == start:
            return 150 if start // 32 % 2 == 0 else 250
        return 20 if chain.nbytes <= 2**16 else 200 if chain.nbytes <= 2**20 else 500


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["measure_latency.py", *words])
    device = Latencies()
    monkeypatch.setattr(tool, "open_device", lambda backend: device)
    tool.main()
    return device


def test_the_tool_finds_plateaus_and_their_ends(monkeypatch, tmp_path, capsys):
    file = tmp_path / "found.json"
    monkeypatch.setattr(tool, "LINES_FOOTPRINT", 2**15)
    device = run(
        monkeypatch,
        *("--footprints", "4K:4M:x2", "--strides", "128", "--variants", "cached,shared"),
        *("--lines", "64", "--rounds", "2", "--steps", "1000", "--json", str(file)),
    )
    found = json.loads(file.read_text())
    ends = {(p["least"], p["most"]): p["ns"] for p in found["plateaus"] if p["variant"] == "cached"}
    assert list(ends) == [(4096, 65536), (98304, 2**20), (3 * 2**19, 2**22)]
    assert list(ends.values()) == pytest.approx([20, 200, 500])
    fitting = [f["footprint"] for f in found["figures"] if f["variant"] == "shared"]
    assert fitting and max(fitting) < 2**20  # longer chains are left out
    groups = found["lines"]["groups"]
    assert groups["near"]["median_ns"] == pytest.approx(150)
    assert groups["far"]["median_ns"] == pytest.approx(250)
    assert groups["near"]["lines"] + groups["far"]["lines"] == 64
    text = capsys.readouterr().out
    assert "cached" in text and "far: " in text and "plateaus" in text
    # Once around before the clock counts, where that is short.
    assert {s for v, size, s, _ in device.launched if (v, size) == ("cached", 2**16)} == {512, 1512}


def test_the_walks_of_a_long_chain_do_not_overlap(monkeypatch):
    device = run(
        monkeypatch,
        *("--footprints", "16M", "--strides", "128", "--variants", "uncached"),
        *("--lines", "0", "--rounds", "3", "--steps", "4000"),
    )
    (after,) = {size for _, size, _, _ in device.launched}
    assert after == 2**24
    # As many starts as walks; the first is taken twice, to see whether there is room.
    assert len({start for *_, start in device.launched}) == 6 and len(device.launched) == 7


def test_a_random_cycle_goes_through_all_places(rng):
    order, after = tool.random_cycle(100, rng)
    walked = [int(order[0])]
    for _ in range(99):
        walked.append(int(after[walked[-1]]))
    assert walked == order.tolist() and sorted(walked) == list(range(100))
    assert tool.starts(order, 30, 5) == [int(order[i]) for i in (0, 30, 60, 90, 20)]


def figures(*ns):
    return [tool.Figure("cached", 32, 2**i, x, x, x) for i, x in enumerate(ns)]


def test_two_figures_or_a_slope_are_no_plateau():
    assert tool.plateaus(figures(10, 10, 30, 60, 90, 90.5)) == []
    (found,) = tool.plateaus(figures(10, 20, 30, 31, 30.5, 60))
    assert (found.least, found.most, found.ns) == (4, 16, 30.5)


def test_split_leaves_the_least_variance():
    assert tool.split([5, 1, 6, 1.5, 5.5]) == ([1, 1.5], [5, 5.5, 6])
    assert tool.split([3]) == ([3], []) and tool.split([]) == ([], [])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--strides", "6"], "--strides has 6, expected multiples of 4"),
        (["--footprints", "64", "--strides", "128"], "less than a stride of 128"),
        (["--footprints", "32G"], "indices of 32 bits reach 16G"),
        (["--steps", "0"], "--steps is 0, expected at least 1"),
    ],
)
def test_the_tool_says_what_it_does_not_take(words, told, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, *words)
    assert told in capsys.readouterr().err
