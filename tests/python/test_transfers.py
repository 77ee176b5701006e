"""Benchmarks of transfers, where the simulator stands in for a device with a clock.

The clock means nothing, but every contender really moves its bytes.
"""

import math
import time

import pytest
from made_up import ClockedSimulator

import gpumem as gm
from gpumem.base.wall_clock import FAMILIES
from gpumem.measure import callers, transfers, wall_clock

KINDS = transfers.KINDS
QUICK = {"samples": (1, 2)}


def by_way(result):
    return {(r["variant"], r["parameters"]["kind"], r["parameters"]["pieces"]): r for r in result}


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


# ---- a real device -------------------------------------------------------------------------------


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
