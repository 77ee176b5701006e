"""The bus by the host's clock: transfers, round trips, and the two calls they are made of.

Where there is no GPU the simulator's memory stands in for a device's, with a clock that means
nothing: every contender really moves its bytes.
"""

import itertools
import json
import math
import time

import numpy as np
import pytest
from made_up import ClockedSimulator

import gpumem as gm
from gpumem import _core, cli
from gpumem.base.record import NO_TIMES
from gpumem.base.result import BenchResult
from gpumem.base.wall_clock import FAMILIES
from gpumem.measure import callers, roundtrips, transfers, wall_clock
from gpumem.measure.recording import Interrupted

KINDS = transfers.KINDS
QUICK = {"samples": (1, 2)}


@pytest.fixture
def clock(monkeypatch):
    """The simulator as a device with a clock."""
    monkeypatch.setattr(wall_clock, "SAMPLE_S", 1e-4)
    return ClockedSimulator()


def on(kind, nbytes, backend, value=None):
    a = gm.empty(nbytes, "u1", kind=kind, backend=backend)
    a[...] = np.random.default_rng(nbytes).integers(256, size=nbytes) if value is None else value
    return a


def by_way(result):
    return {(r["variant"], r["parameters"]["kind"], r["parameters"]["pieces"]): r for r in result}


# ---- _core.over ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pinned", "write_combined", "mapped", "managed"])
def test_a_host_array_as_one_of_the_device(kind, backend):
    a = on(kind, 1000, backend)
    d = _core.over(a, backend)
    assert (d.shape, d.dtype, d.backend, d.pointer) == ((1000,), a.dtype, backend, a.ctypes.data)
    assert np.array_equal(gm.copy(d[1::3]).to_host(), a[1::3])
    gm.copy(gm.to_device(np.arange(1000, dtype="u1"), backend=backend), out=d)
    gm.synchronize(backend)
    assert np.array_equal(a, np.arange(1000, dtype="u1"))
    del a  # which the device array keeps
    assert d.to_host()[999] == 999 % 256


def test_what_the_device_cannot_reach(backend):
    with pytest.raises(ValueError, match=r"a is in memory that backend .* cannot reach"):
        _core.over(np.ones(3), backend)
    with pytest.raises(ValueError, match="cannot reach"):
        _core.over(gm.empty(3, backend=backend), backend)
    with pytest.raises(ValueError, match="backend"):
        _core.over(on("pinned", 3, backend), "gpu")
    with pytest.raises(TypeError):
        _core.over([1, 2], backend)
    a = on("pinned", 3, backend)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="a is read-only"):
        _core.over(a, backend)


# ---- _core.transfer -----------------------------------------------------------------------------


@pytest.mark.parametrize("driver", [False, True])
@pytest.mark.parametrize("kind", [one for one in KINDS if one != "pageable_driver"])
def test_bytes_arrive_in_pieces(kind, driver, backend):
    for nbytes, pieces in ((0, 3), (1, 1), (1, 5), (1000, 7), (70_001, 16), (3_000_001, 1)):
        a, device = on(kind, nbytes, backend), _core.DeviceArray((nbytes,), "u1", backend=backend)
        device.fill_bytes(0xA5)
        _core.transfer(device, a, True, 2, driver, pieces)
        assert np.array_equal(device.to_host(), a)
        back = on(kind, nbytes, backend, 0xA5)
        _core.transfer(device, back, False, 1, driver, pieces, gm.Stream(backend=backend))
        assert np.array_equal(back, a)


def test_a_count_of_nothing_moves_nothing(backend):
    device = gm.to_device(np.zeros(100, "u1"), backend=backend)
    _core.transfer(device, np.ones(100, "u1"), True, 0, False)
    assert not device.to_host().any()


def test_pageable_memory_goes_by_chunks_or_as_the_driver_does_it(backend):
    a = np.random.default_rng(0).integers(256, size=300_007, dtype="u1")
    for driver in (False, True):
        device = _core.DeviceArray(a.shape, "u1", backend=backend)
        back = np.zeros_like(a)
        _core.transfer(device, a, True, 1, driver, chunk=2**14)
        _core.transfer(device, back, False, 1, driver, chunk=2**14)
        assert np.array_equal(a, back)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"host": np.ones(99, "u1")}, ValueError, "host has 99 bytes, expected .* device, 100"),
        ({"host": np.ones(200, "u1")[::2]}, ValueError, "host is not C-contiguous"),
        ({"host": b"x" * 100}, TypeError, "ndarray"),
        ({"host": np.array([None] * 100)}, TypeError, "host has dtype .*Python's memory"),
        ({"device": np.ones(100, "u1")}, TypeError, "DeviceArray"),
        ({"count": -1}, ValueError, "count is -1"),
        ({"count": 2**64}, OverflowError, "too (big|large)"),
        ({"pieces": 0}, ValueError, "pieces is 0"),
        ({"chunk": -1}, ValueError, "chunk is -1"),
        ({"chunk": "1M"}, TypeError, "int"),
        ({"stream": object()}, TypeError, "stream must be"),
    ],
)
def test_transfers_that_cannot_be(change, error, words):
    device = gm.to_device(np.zeros(100, "u1"), backend="sim")
    good = {"device": device, "host": np.ones(100, "u1"), "to_device": True, "count": 1}
    with pytest.raises(error, match=words):
        _core.transfer(**good | {"driver": False} | change)
    assert not device.to_host().any()


def test_neither_into_what_is_read_only_nor_onto_itself():
    a = on("mapped", 100, "sim", 7)
    d = _core.over(a, "sim")
    with pytest.raises(ValueError, match="share memory"):
        _core.transfer(d, a, True, 1, False)
    with pytest.raises(ValueError, match="not C-contiguous"):
        _core.transfer(d[::2], np.ones(50, "u1"), True, 1, False)
    frozen = np.zeros(100, "u1")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="host is read-only"):
        _core.transfer(d, frozen, False, 1, False)
    _core.transfer(d, frozen, True, 1, False)  # only read
    assert not a.any()


# ---- from device to device ----------------------------------------------------------------------


@pytest.mark.parametrize(("nbytes", "pieces"), [(0, 3), (1, 1), (2, 5), (1000, 7), (300_001, 16)])
def test_bytes_go_to_another_array_in_pieces(nbytes, pieces, backend):
    a = on("pageable", nbytes, backend)
    source, target = gm.to_device(a, backend=backend), gm.DeviceArray(nbytes, "u1", backend=backend)
    target.fill_bytes(0xA5)
    _core.send(source, target, 2, pieces)
    assert np.array_equal(target.to_host(), a)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"target": gm.DeviceArray(99, "u1", backend="sim")}, ValueError, "target has 99 bytes"),
        ({"target": np.ones(100, "u1")}, TypeError, "DeviceArray"),
        ({"target": gm.DeviceArray(200, "u1", backend="sim")[::2]}, ValueError, "target is not C"),
        ({"source": gm.DeviceArray(200, "u1", backend="sim")[::2]}, ValueError, "source is not C"),
        ({"count": -1}, ValueError, "count is -1"),
        ({"pieces": 0}, ValueError, "pieces is 0"),
        ({"count": 2**62, "pieces": 4}, ValueError, "count is"),
    ],
)
def test_what_cannot_be_sent(change, error, words):
    target = gm.to_device(np.zeros(100, "u1"), backend="sim")
    source = gm.to_device(np.ones(100, "u1"), backend="sim")
    with pytest.raises(error, match=words):
        _core.send(**{"source": source, "target": target, "count": 1} | change)
    assert not target.to_host().any()
    with pytest.raises(ValueError, match="share memory"):
        _core.send(source, source, 1)


def test_the_simulator_reaches_its_own_memory_alone():
    assert _core.can_reach(0, 0, "sim") and _core.let_reach(0, 0, True, "sim")
    with pytest.raises(ValueError, match="device 0 always reaches the memory of device 0"):
        _core.let_reach(0, 0, False, "sim")
    for pair in ((0, 1), (2, 0), (-1, 0)):
        with pytest.raises(ValueError, match=r"device is -?\d, the simulator has device 0 alone"):
            _core.can_reach(*pair, "sim")
        with pytest.raises(ValueError, match="the simulator has device 0 alone"):
            _core.let_reach(*pair, True, "sim")


def test_an_array_reached_from_a_device_keeps_its_memory():
    d = gm.to_device(np.arange(10), backend="sim")
    reached = _core.reach(d[2:], 0)
    pointer = d.pointer
    del d
    assert (reached.pointer, reached.device, reached.shape) == (pointer + 16, 0, (8,))
    assert np.array_equal(gm.copy(reached).to_host(), np.arange(2, 10))
    with pytest.raises(ValueError, match="the simulator has device 0 alone"):
        _core.reach(reached, 1)
    with pytest.raises(TypeError):
        _core.reach(np.ones(3), 0)


# ---- what is asked for --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "arguments", "error", "words"),
    [
        ("transfer", {"variants": "up"}, ValueError, "variant is 'up', expected one of: to_device"),
        ("transfer", {"variants": []}, ValueError, "variant must name"),
        ("transfer", {"variants": gm.variants("copy")[0]}, ValueError, "copy-scalar"),
        ("transfer", {"kind": "device"}, ValueError, "kind is 'device', expected one of: pageable"),
        ("transfer", {"kind": []}, ValueError, "kind must name"),
        ("transfer", {"pieces": 0}, ValueError, "pieces is 0, expected 1 to 65536"),
        ("transfer", {"pieces": [1, 2**17]}, ValueError, "pieces is 131072"),
        ("transfer", {"pieces": []}, ValueError, "pieces must"),
        ("transfer", {"pieces": "many"}, TypeError, "pieces is 'many'"),
        ("transfer", {"pieces": True}, TypeError, "pieces is True"),
        ("transfer", {"stride": 2}, TypeError, "transfer has no parameter 'stride'.*kind, pieces"),
        ("transfer", {"sizes": "4Q"}, ValueError, "4Q"),
        ("transfer", {"with_peers": ["cupy"]}, ValueError, "with_peers is .*: a transfer has none"),
        ("transfer", {"dtype": "f4"}, ValueError, "dtype is 'f4'"),
        ("transfer", {"shapes": [3]}, ValueError, r"shapes is \[3\]"),
        ("transfer", {"cache": "both"}, ValueError, "cache is 'both'"),
        ("transfer", {"samples": (3, 2)}, ValueError, "samples"),
        ("transfer", {"backend": "quantum"}, ValueError, "quantum"),
        ("roundtrip", {"variants": "gather"}, ValueError, "variant is 'gather'.*transpose"),
        ("roundtrip", {"kind": "managed"}, ValueError, "kind is 'managed'.*pinned"),
        ("roundtrip", {"pieces": 2}, TypeError, "roundtrip has no parameter 'pieces'"),
        ("roundtrip", {"with_peers": ["jax"]}, ValueError, "with_peers is 'jax'.*numpy, cupy"),
        ("roundtrip", {"sizes": 3}, ValueError, "3 bytes are less than one element"),
    ],
)
def test_refusals(family, arguments, error, words):
    with pytest.raises(error, match=words):
        gm.bench(family, **{"sizes": 4096, "backend": "sim"} | arguments)


def test_the_simulator_has_no_times():
    result = gm.bench("transfer", sizes="64K,1M", backend="sim")
    assert len(result.records) == 2 * (3 * len(KINDS) + 2)
    assert all(r["median_ms"] is None and r["samples"] is None for r in result.records)
    reasons = {r["reason"] for r in result.records if r["parameters"]["kind"] == "pinned"}
    assert reasons == {NO_TIMES}
    trips = gm.bench("roundtrip", sizes="64K", with_peers=iter(["numpy"]), backend="sim")
    assert {r["reason"] for r in trips.records} == {NO_TIMES}
    assert len(trips.records) == 4 * (1 + 2 * 3)
    for one in (result, trips):
        assert f"No times: {NO_TIMES}." in str(one)
        assert BenchResult.from_json(one.to_json()).records == one.records


def test_sizes_by_default():
    def sizes(family, name):
        records = gm.bench(family, name, backend="sim", kind="pinned").records
        return list(dict.fromkeys(math.prod(r["shape"]) for r in records))

    assert sizes("transfer", "to_host") == [2**i for i in range(16, 31, 2)]
    assert sizes("roundtrip", "copy") == [2**i for i in range(18, 27, 2)]


def test_progress_and_settings():
    steps = []
    result = gm.bench(
        "roundtrip",
        ["copy", "sgemm"],
        "1M",
        with_peers=(),
        progress=lambda *one: steps.append(one),
        backend="sim",
        **QUICK,
    )
    words = ["roundtrip copy 1 MiB", "roundtrip sgemm 512x512", "done"]
    assert steps == [(i, 2, word) for i, word in enumerate(words)]
    settings = result.provenance["settings"]
    assert settings["parameters"] == {"kind": ["pageable", "pinned"], "with_peers": []}
    assert (settings["least"], settings["most"]) == (1, 2)
    chosen = gm.bench(
        "transfer", "both", 4096, pieces=range(1, 3), kind="mapped", backend="sim", **QUICK
    )
    asked = chosen.provenance["settings"]["parameters"]
    assert asked == {"kind": ["mapped"], "pieces": [1, 2]}
    json.loads(chosen.to_json())


# ---- transfers ----------------------------------------------------------------------------------


def test_records_of_transfers(clock):
    result = clock.bench("transfer", sizes="64K,1M", pieces=[1, 4], **QUICK)
    for nbytes in (2**16, 2**20):
        records = by_way(r for r in result.records if r["shape"] == [nbytes])
        assert len(records) == 2 * (3 * len(KINDS) + 2)
        for (name, kind, pieces), r in records.items():
            absent = name == "to_peer" or (kind == "managed" and (pieces > 1 or name == "both"))
            assert (r["reason"] is None) != absent, (name, kind)
            assert r["bytes"] == nbytes * (2 if name in ("both", "within") else 1)
            assert r["cache"] is None and r["fraction_of_peak"] is None and r["flops"] is None
            if absent:
                assert r["median_ms"] is None
                continue
            assert 0 < r["min_ms"] <= r["p20_ms"] <= r["median_ms"] <= r["p80_ms"]
            assert r["gbps"] == pytest.approx(r["bytes"] / r["median_ms"] / 1e6, rel=1e-5)
            if name == "within":
                assert kind == "device" and r["fraction_of_reference"] is None
            else:
                share = r["gbps"] / records[name, "pinned", 1]["gbps"]
                assert r["fraction_of_reference"] == pytest.approx(share, rel=1e-4)


def test_why_there_is_no_transfer(clock, monkeypatch):
    monkeypatch.setattr(transfers, "MOST_MANAGED", 2**17)
    kinds = {"kind": ["managed", "pinned"]}
    result = clock.bench("transfer", sizes="128K,256K", **kinds, **QUICK)
    small, large = (by_way(r for r in result.records if r["shape"] == [n]) for n in (2**17, 2**18))
    assert small["to_device", "managed", 1]["reason"] is None
    assert large["to_device", "managed", 1]["reason"] == "managed memory is measured up to 128 KiB"
    assert "one direction" in small["both", "managed", 1]["reason"]
    assert small["to_peer", "device", 1]["reason"] == "there is no second device"
    assert "transfer-to_device managed at 256 KiB: managed memory is" in str(result)
    assert "transfer-to_peer device: there is no second device" in str(result)
    one = clock.bench("transfer", "to_host", 5, kind="pinned", pieces=[5, 6], **QUICK)
    assert [r["reason"] for r in one.records] == [None, "5 B cannot be cut into 6 pieces"]


class TwoDevices(ClockedSimulator):
    """Two devices, each of which is the simulator's; records what they do with access or without.

    Attributes
    ----------
    able : bool
        Whether either can be given access to the memory of the other.
    on : bool
        Whether it has it.
    seen : list of (str, bool)
        What was done, and whether there was access.
    """

    def __init__(self, able=True):
        super().__init__()
        self.able, self.on, self.seen = able, False, []

    def info(self):
        found = super().info()
        return found | {"devices": found["devices"] * 2}

    def array(self, shape, dtype, device=None):
        assert device in (None, 1)
        return super().array(shape, dtype)

    def synchronize(self, device=None):
        super().synchronize()

    def can_reach(self, device, other):
        return self.able

    def let_reach(self, device, other, on):
        assert self.able
        before, self.on = self.on, on
        return before

    def reach(self, array, device):
        assert device == 0
        if not self.able:
            raise ValueError("device 0 cannot reach the memory of device 1")
        return array

    def send(self, source, target, count, pieces):
        self.seen.append(("send", self.on))
        super().send(source, target, count, pieces)

    def prepare(self, *arguments):
        real, device = super().prepare(*arguments), self

        class Prepared:
            def launch(self):
                device.seen.append(("kernel", device.on))
                real.launch()

        return Prepared()


def test_from_one_device_to_another(clock):
    pair = TwoDevices()
    result = pair.bench("transfer", "to_peer", "64K", pieces=[1, 3], **QUICK)
    records = by_way(result.records)
    assert list(records) == [("to_peer", way, n) for way in transfers.PEER_WAYS for n in (1, 3)]
    access = records["to_peer", "access", 1]["gbps"]
    for r in records.values():
        assert r["reason"] is None and r["bytes"] == 2**16
        assert r["fraction_of_reference"] == pytest.approx(r["gbps"] / access, rel=1e-4)
    assert set(pair.seen) == {("send", True), ("send", False), ("kernel", True)}
    assert not pair.on  # as before
    pair.on = True
    pair.bench("transfer", "to_peer", 5, **QUICK)
    assert pair.on
    assert "transfer to_peer, wall clock, GB/s\n" in str(result) and "no_access" in str(result)


def test_devices_that_cannot_reach_each_other(clock):
    pair = TwoDevices(able=False)
    records = by_way(pair.bench("transfer", "to_peer", 4096, **QUICK).records)
    reasons = {kind: r["reason"] for (_, kind, _), r in records.items()}
    assert reasons.pop("no_access") is None
    assert set(reasons) == {"access", "kernel"}
    assert all("device 0 cannot reach the memory of device" in r for r in reasons.values())
    assert set(pair.seen) == {("send", False)}


class Idle:
    """A call that does nothing."""

    def launch(self):
        pass


def test_what_does_not_arrive_at_the_other_device(clock, monkeypatch):
    pair = TwoDevices()
    monkeypatch.setattr(pair, "send", lambda *_: None)
    monkeypatch.setattr(pair, "prepare", lambda *_: Idle())
    records = pair.bench("transfer", "to_peer", "64K", **QUICK).records
    assert len(records) == 3
    assert all(r["reason"].startswith("wrong result: from byte 0 on") for r in records)


@pytest.mark.parametrize("name", ["to_device", "to_host", "both"])
def test_what_does_not_arrive_has_no_time(clock, monkeypatch, name):
    """Neither by the bus, nor by a kernel."""
    monkeypatch.setattr(clock, "transfer", lambda *_: None)
    result = clock.bench("transfer", name, "64K", **QUICK)
    for r in result.records:
        kind = r["parameters"]["kind"]
        if kind in ("pinned", "pageable", "pageable_driver", "write_combined"):
            assert r["reason"].startswith("wrong result: from byte 0 on") and r["gbps"] is None
        elif kind == "mapped":
            assert r["reason"] is None and r["fraction_of_reference"] is None
    monkeypatch.setattr(clock, "prepare", lambda *_: Idle())
    result = clock.bench("transfer", [name, "within"], "64K", kind=["mapped", "managed"], **QUICK)
    reasons = [r["reason"] for r in result.records]
    assert [reason.startswith(("wrong", "managed memory is")) for reason in reasons] == [True] * 3


def test_one_byte_that_is_wrong_is_found(clock, monkeypatch):
    real = clock.transfer

    def damaging(array, host, to_device, *others):
        real(array, host, to_device, *others)
        if not to_device:
            host[-1] ^= 1

    monkeypatch.setattr(clock, "transfer", damaging)
    records = by_way(
        clock.bench("transfer", ["to_device", "to_host"], "3M", kind="pinned", **QUICK).records
    )
    assert records["to_device", "pinned", 1]["reason"] is None
    assert "wrong result" in records["to_host", "pinned", 1]["reason"]


def test_more_than_the_host_has(clock, monkeypatch):
    monkeypatch.setattr(wall_clock, "host_memory", lambda: 2**20)
    for family in FAMILIES:
        result = clock.bench(family, sizes="4K,64M", with_peers=None, kind="pinned", **QUICK)
        reasons = {r["reason"] for r in result.records if math.prod(r["shape"]) >= 2**24}
        assert any("of host memory, 1 MiB are free" in reason for reason in reasons)
        assert any(r["gbps"] for r in result.records)


def test_a_kind_that_cannot_be_had_leaves_the_others(clock, monkeypatch):
    real = clock.host_array

    def host_array(shape, dtype, kind):
        if kind == "write_combined":
            raise MemoryError("asked for 64 KiB of it")
        return real(shape, dtype, kind)

    monkeypatch.setattr(clock, "host_array", host_array)
    records = by_way(clock.bench("transfer", "to_host", "64K", **QUICK).records)
    assert records["to_host", "write_combined", 1]["reason"] == "asked for 64 KiB of it"
    assert all(
        r["gbps"] for (_, kind, _), r in records.items() if kind not in ("write_combined", "device")
    )


def test_pages_are_on_the_other_side_before_each_move(clock):
    """Half of what managed memory does is not timed."""
    arrays = transfers.Arrays(2**16, clock)
    for to_device in (True, False):
        run = transfers.migrating(arrays, to_device)
        begin = time.perf_counter()
        taken = run(20)
        assert 0 < taken < time.perf_counter() - begin
        arrays.check(run, "managed", to_device, not to_device)


def test_a_sample_is_long_enough():
    counts = []

    def run(count):
        counts.append(count)
        return 1e-5 + 3e-6 * count

    sample = wall_clock.sampler(run)
    assert sample() == pytest.approx((1e-5 + 3e-6 * counts[-1]) * 1e3 / counts[-1])
    assert run(counts[-1]) >= wall_clock.SAMPLE_S and counts[-1] < 2000
    assert wall_clock.sampler(lambda count: 0.0)() == 0  # a clock that stands still


def test_the_table_of_transfers(clock):
    text = str(clock.bench("transfer", sizes="64K,1M", **QUICK))
    assert "transfer to_device, wall clock, GB/s\n" in text
    assert "transfer both, wall clock, GB/s, both directions together\n" in text
    assert "transfer within, wall clock, GB/s, bytes read and written\n" in text
    assert max(map(len, text.splitlines())) <= 100
    lines = text.splitlines()
    first = lines.index("transfer to_device, wall clock, GB/s")
    assert lines[first + 1].split() == ["size", *KINDS]
    row = lines[first + 3]
    assert row.startswith("1 MiB") and "-" not in row.split() and len(row.split()) == 8
    pieces = str(clock.bench("transfer", "to_host", "64K", kind="pinned", pieces=[1, 2], **QUICK))
    assert "size    pieces  pinned" in pieces


def test_an_interrupt_ends_it(clock, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setitem(callers.CALLERS, "one_piece", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clock.bench("roundtrip", "copy", "64K", with_peers=(), **QUICK)


# ---- round trips --------------------------------------------------------------------------------


def test_records_of_round_trips(clock):
    result = clock.bench("roundtrip", sizes="64K", with_peers=["numpy"], **QUICK)
    n = 2**16
    wanted = {  # shape, bytes in and out, operations
        "copy": ([2**14], 2 * n, None),
        "transpose": ([128, 128], 2 * n, None),
        "add": ([2**14], 3 * n, None),
        "sgemm": ([128, 128], 3 * n, 2 * 128**3),
    }
    for job, (shape, nbytes, flops) in wanted.items():
        records = [r for r in result.records if r["variant"] == job]
        ways = itertools.product(("pageable", "pinned"), ("gpumem", "one_piece", "numpy"))
        assert [(r["parameters"]["kind"], r["parameters"]["by"]) for r in records] == [
            ("pinned", "bus"),
            *ways,
        ]
        floor = records[0]["median_ms"]
        for r in records:
            assert r["reason"] is None and r["dtype"] == "float32"
            assert (r["shape"], r["bytes"], r["flops"]) == (shape, nbytes, flops)
            share = floor / r["median_ms"]
            assert r["fraction_of_reference"] == pytest.approx(share, rel=1e-4)
            assert (r["tflops"] is None) == (flops is None)


@pytest.mark.parametrize("kind", ["pageable", "pinned"])
@pytest.mark.parametrize("job", roundtrips.JOBS)
def test_a_wrong_result_has_no_time(clock, monkeypatch, job, kind):
    """One that keeps what the last one left, and one that is wrong in the last element."""

    def idle(job, backend, inputs, out):
        shape = (len(inputs[0]), *inputs[-1].shape[1:])
        return np.empty(shape, np.float32) if out is None else out

    def damaging(*arguments):
        found = callers.call_gpumem(*arguments)
        found.reshape(-1)[-1] += 1
        return found

    monkeypatch.setitem(callers.CALLERS, "gpumem", idle)
    monkeypatch.setitem(callers.CALLERS, "one_piece", damaging)
    result = clock.bench("roundtrip", job, "64K", kind=kind, with_peers=["numpy"], **QUICK)
    records = {r["parameters"]["by"]: r for r in result.records}
    for by in ("gpumem", "one_piece"):
        assert records[by]["reason"].startswith("wrong result") and records[by]["gbps"] is None
    assert records["bus"]["gbps"] and records["numpy"]["gbps"]


def test_only_some_rows_of_a_large_product_are_checked(clock, monkeypatch, rng):
    monkeypatch.setattr(roundtrips, "WHOLE_SIDE", 100)
    a, b = roundtrips.random_inputs("sgemm", (300, 300))
    good = a @ b
    roundtrips.check_result("sgemm", good, (a, b))
    for place in ((0, 0), (299, 299)):
        bad = good.copy()
        bad[place] += 1
        with pytest.raises(AssertionError):
            roundtrips.check_result("sgemm", bad, (a, b))
    with pytest.raises(AssertionError, match="shape"):
        roundtrips.check_result("sgemm", good[:-1], (a, b))


@pytest.mark.parametrize("job", roundtrips.JOBS)
@pytest.mark.parametrize("pinned", [False, True])
def test_how_numpy_is_asked(job, pinned, rng):
    inputs = roundtrips.random_inputs(job, (40, 40))
    out = np.empty((40, 40), np.float32) if pinned else None
    got = callers.call_numpy(job, None, inputs, out)
    assert got.flags.c_contiguous and (got is out) == pinned
    roundtrips.check_result(job, got, inputs)
    assert not any(np.shares_memory(got, a) for a in inputs)


@pytest.mark.parametrize("job", roundtrips.JOBS)
def test_one_piece_is_a_chunk_that_divides_nothing(clock, monkeypatch, job):
    chunks, real = [], clock.call

    def call(family, inputs, out, values, chunk):
        chunks.append(chunk)
        return real(family, inputs, out, values, chunk)

    monkeypatch.setattr(clock, "call", call)
    inputs = roundtrips.random_inputs(job, (40, 40))
    for by in ("one_piece", "gpumem"):
        roundtrips.check_result(job, callers.CALLERS[by](job, clock, inputs, None), inputs)
    assert chunks == [2**62]


def test_peers_that_are_not_installed(clock, monkeypatch):
    def absent(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(callers.importlib, "import_module", absent)
    result = clock.bench("roundtrip", "copy", "64K", with_peers=["cupy", "torch"], **QUICK)
    for r in result.records:
        by = r["parameters"]["by"]
        assert (r["reason"] is None) == (by in ("gpumem", "one_piece", "bus"))
        assert r["reason"] is None or r["reason"].startswith(f"{by} is not installed: No module")
    assert str(result).count("cupy is not installed") == 1  # for memory of both kinds


def test_a_peer_that_fails_leaves_the_others(clock, monkeypatch):
    def fails(*_):
        raise RuntimeError("out of order")

    monkeypatch.setitem(callers.CALLERS, "numpy", fails)
    result = clock.bench("roundtrip", "copy", "64K", with_peers=["numpy"], **QUICK)
    reasons = {r["parameters"]["by"]: r["reason"] for r in result.records}
    assert reasons["numpy"] == "RuntimeError: out of order" and reasons["gpumem"] is None
    monkeypatch.setitem(callers.CALLERS, "gpumem", fails)  # ours is not passed over
    with pytest.raises(RuntimeError, match="out of order"):
        clock.bench("roundtrip", "copy", "64K", with_peers=(), **QUICK)


def test_the_table_of_round_trips(clock):
    text = str(clock.bench("roundtrip", ["add", "sgemm"], "64K", with_peers=["numpy"], **QUICK))
    title = "round trip, wall clock, ms from ndarray to ndarray; ratio: bus over gpumem"
    assert f"add: {title}\n" in text and f"sgemm: {title}\n" in text
    lines = text.splitlines()
    first = lines.index(f"sgemm: {title}")
    assert lines[first + 1].split() == [
        "size", "kind", "gpumem", "one_piece", "numpy", "bus", "ratio",
    ]  # fmt: skip
    pageable, pinned = lines[first + 2].split(), lines[first + 3].split()
    assert pageable[:2] == ["128x128", "pageable"] and pinned[:2] == ["128x128", "pinned"]
    assert pageable[5] == pinned[5]  # one floor
    assert "-" not in pageable + pinned


# ---- the command line ---------------------------------------------------------------------------


def test_the_command_line(capsys, monkeypatch):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    command = ["bench", "transfer", "--set", "kind=pinned,pageable", "--set", "pieces=1,2"]
    assert cli.main([*command, "--sizes", "4K", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    kinds = {r["parameters"]["kind"] for r in found["records"]}
    assert kinds == {"pinned", "pageable", "device"}
    assert cli.main(["bench", "roundtrip", "--variants", "copy", "--peers", "numpy"]) == 0
    assert NO_TIMES in capsys.readouterr().out
    assert cli.main(["bench", "transfer", "--dtype", "f4"]) == 2
    assert "dtype" in capsys.readouterr().err
    for command in ("traffic", "verify", "list"):
        assert cli.main([command, "transfer"]) == 2
        assert "there is no family 'transfer'" in capsys.readouterr().err


# ---- a real device ------------------------------------------------------------------------------


@pytest.mark.gpu
def test_transfers_of_a_gpu():
    result = gm.bench("transfer", sizes="64K,1M", samples=(3, 10), pieces=[1, 8], backend="cuda")
    alone = len(gm.info()["backends"]["cuda"]["devices"]) == 1
    for r in result.records:
        values = r["parameters"]
        absent = (r["variant"] == "to_peer" and alone) or (
            values["kind"] == "managed" and (values["pieces"] > 1 or r["variant"] == "both")
        )
        assert (r["reason"] is None) != absent, r
        assert absent or (r["gbps"] > 0 and r["samples"] >= 3)
    large = by_way(r for r in result.records if r["shape"] == [2**20])
    # Not more than memory: nobody measures the call alone.
    for name in ("to_device", "to_host"):
        assert 1 < large[name, "pinned", 1]["gbps"] < 1000
        assert large[name, "pinned", 8]["fraction_of_reference"] < 1


@pytest.mark.gpu
def test_round_trips_of_a_gpu():
    result = gm.bench("roundtrip", sizes="64K,1M", samples=(3, 10), backend="cuda")
    for r in result.records:
        by = r["parameters"]["by"]
        if by in ("cupy", "torch") and callers.absent(by):
            assert r["reason"] == callers.absent(by)
            continue
        assert r["reason"] is None, r
        assert r["median_ms"] > 0 and r["samples"] >= 3
        assert by == "numpy" or r["fraction_of_reference"] > 0
    assert result.provenance["clocks"].keys() == {"before", "after"}


@pytest.mark.parametrize("family", FAMILIES)
def test_an_interrupt_keeps_what_was_measured(clock, family):
    def interrupt(done, total, text):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        clock.bench(family, sizes="64K,128K", kind="pinned", progress=interrupt, **QUICK)
    result = stopped.value.result
    whole = clock.bench(family, sizes="64K,128K", kind="pinned", **QUICK)
    assert result.provenance["interrupted"] and 0 < len(result.records) <= len(whole.records)
    assert any(r["median_ms"] for r in result.records)


def test_what_comes_after_the_time_is_over_says_so(clock):
    late = clock.bench("transfer", sizes="64K", kind="pinned", timeout=0, **QUICK)
    reasons = {r["reason"] for r in late.records if r["variant"] != "to_peer"}
    assert reasons == {"not measured: the 0 s were over"}
    with pytest.raises(ValueError, match="timeout must be 0 or more"):
        clock.bench("transfer", timeout=-1, **QUICK)
