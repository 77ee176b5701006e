"""gpumem doctor: latencies, and bandwidth by mix, on a device with a clock of its own."""

import sys

import pytest
from made_up import MadeUpDevice
from test_watch import MadeUpNvml

import gpumem as gm
from gpumem import _core
from gpumem.machine.devices import with_peaks
from gpumem.report import checkup, memory_checkup
from gpumem.report.checkup_rows import Measured, verdict_on
from gpumem.report.memory_checkup import LATENCIES, MIXES, Chain, Mix
from gpumem.results import of_tools

PEAK = with_peaks(MadeUpDevice().info()["devices"][0])["bandwidth_gbps"]
SMALL, LARGE = 2**12, 2**20
NS = {SMALL: 20.0, LARGE: 400.0}
READ_GBPS, WRITE_GBPS = 0.9 * PEAK, 0.6 * PEAK
SHIPPED_PEAK = 1000.0


class Tick:
    """A prepared call: launching it advances the clock of the device."""

    def __init__(self, device, variant, ms):
        self.device, self.variant, self.ms = device, variant, ms

    def tick(self):
        self.device.now += self.ms


class Memory(MadeUpDevice):
    """A device whose loads take as long as the footprint says; it reads faster than it writes."""

    slower = 1.0  # times as long

    def array(self, shape, dtype, device=None):
        return gm.DeviceArray(shape, dtype, backend="sim")

    def prepare(self, family, variant, inputs, out, values, stream=None):
        call = _core.prepare(family, variant, inputs, out, stream, values)
        ms = 0.02
        if family == "chase":
            ms = 0.003 + values[0] * NS[inputs[0].nbytes] / 1e6
        elif family == "stream":
            written = out.nbytes if out.ndim else 0
            ms = (inputs[0].nbytes / READ_GBPS + written / WRITE_GBPS) / 1e6
        return Tick(self, call.variant, self.slower * ms)


def shipped(name="made-up device"):
    """Return a function that loads what an equally fast device has shipped."""
    provenance = {"device": {"name": name, "bandwidth_gbps": SHIPPED_PEAK}}
    chains = [
        {"variant": "cached", "stride": stride, "footprint": size, "ns": ns * (1 + (stride < 128))}
        for size, ns in NS.items()
        for stride in (32, 128)
    ]
    mixes = [
        {"reads": 1, "writes": 0, "gbps": 0.9 * SHIPPED_PEAK},
        {"reads": 0, "writes": 1, "gbps": 0.6 * SHIPPED_PEAK},
    ]
    found = {"latency-h200": chains, "mixes-h200": mixes}
    return lambda file: {"provenance": provenance, "figures": found[file]}


@pytest.fixture
def device(monkeypatch):
    """A device of which only its memory is examined, beside an equal one that is shipped."""
    monkeypatch.setattr(checkup, "JOBS", ())
    chains = Chain("the L1", "cached", SMALL), Chain("memory", "cached", LARGE)
    monkeypatch.setattr(memory_checkup, "LATENCIES", chains)
    monkeypatch.setattr(memory_checkup, "MIXES", (Mix("reads", 1, 0), Mix("writes", 0, 1)))
    monkeypatch.setattr(memory_checkup, "ROW", 2**14)
    monkeypatch.setattr(of_tools, "load", shipped())
    return Memory()


def rows(device, **keywords):
    return {row.what: row for row in gm.doctor(device=device, **keywords).measured}


def test_every_job_has_a_shipped_figure():
    latency, mixes = of_tools.load("latency-h200"), of_tools.load("mixes-h200")
    for chain in LATENCIES:
        assert memory_checkup._shipped_latency(chain, latency) > 10, chain
    for mix in MIXES:
        assert memory_checkup._shipped_mix(mix, mixes) > 1000, mix
    assert mixes["row_bytes"] == memory_checkup.ROW


def test_an_equally_fast_device_is_not_slow(device):
    found = rows(device)
    assert list(found) == ["the L1", "memory", "reads", "writes"]
    assert {row.verdict for row in found.values()} == {"ok"}
    for what, ns in (("the L1", 20), ("memory", 400)):
        row = found[what]
        assert row.figure == pytest.approx(ns) and row.expected == row.shipped == ns
        assert row.unit == "ns" and row.theory is None and row.share == pytest.approx(1)
    for what, share in (("reads", 0.9), ("writes", 0.6)):
        row = found[what]
        assert row.figure == pytest.approx(share * PEAK) == row.expected
        assert row.shipped == share * SHIPPED_PEAK and row.theory == PEAK


@pytest.mark.parametrize(
    ("slower", "name", "latency", "bandwidth"),
    [
        (1.05, "made-up device", "ok", "ok"),
        (1.15, "made-up device", "slow", "slow"),
        (1.15, "another device", "no yardstick", "ok"),
        (1.5, "another device", "no yardstick", "slow"),
        (0.5, "made-up device", "ok", "ok"),
    ],
)
def test_what_is_slow(device, monkeypatch, slower, name, latency, bandwidth):
    monkeypatch.setattr(of_tools, "load", shipped(name))
    device.slower = slower
    found = rows(device)
    assert [row.verdict for row in found.values()] == [latency] * 2 + [bandwidth] * 2
    assert found["memory"].figure == pytest.approx(400 * slower)
    assert found["reads"].share == pytest.approx(1 / slower)
    monkeypatch.setitem(sys.modules, "pynvml", MadeUpNvml(bits=0x4))
    page = str(gm.doctor(device=device))
    lowered = [what for what in found if f"{what}: 1500 MHz, lowered by: power cap" in page]
    assert lowered == [what for what, row in found.items() if row.verdict == "slow"]
    named = [what for what in found if f"{what};" in page or f"{what}. Other" in page]
    assert named == [what for what, row in found.items() if row.verdict == "slow"]


def test_what_does_not_fit_is_not_measured(device):
    device.free = LARGE
    found = rows(device)
    assert found["memory"].verdict == "not measured" and found["memory"].figure is None
    assert found["memory"].note == "needs 1 MiB of device memory, 1 MiB are free"
    assert found["the L1"].verdict == found["reads"].verdict == "ok"


def test_nothing_is_begun_after_the_deadline(device, monkeypatch):
    monkeypatch.setattr(memory_checkup, "latency", None)  # a call of it fails
    monkeypatch.setattr(memory_checkup, "Mixes", None)
    for row in rows(device, timeout=1e-9).values():
        assert row.verdict == "not measured" and "were over" in row.note


def test_without_shipped_figures_there_is_no_yardstick(device, monkeypatch):
    monkeypatch.setattr(of_tools, "load", lambda name: None)
    for row in rows(device).values():
        assert row.verdict == "no yardstick" and row.figure > 0 and row.expected is None


def test_progress_names_every_job(device):
    told = []
    gm.doctor(device=device, progress=lambda done, total, what: told.append((done, total, what)))
    names = ["the L1", "memory", "reads", "writes", "done"]
    assert told == [(i, 4, name) for i, name in enumerate(names)]


def test_the_page_has_limits_beside_those_of_the_shipped_device(device):
    found = {fact.name: fact.text for fact in gm.doctor(device=device).facts}
    assert found["limits"] == "1 multiprocessors, 2048 threads in each, an L2 of 1 MiB"
    assert found["limits, shipped"] == (
        "132 multiprocessors, 2048 threads in each, 228 KiB of shared memory in each, "
        "227 KiB of it for a block, 64 KiB of constant memory, an L2 of 60 MiB (NVIDIA H200)"
    )


@pytest.mark.parametrize(
    ("unit", "figure", "verdict"),
    [("ns", 108, "ok"), ("ns", 112, "slow"), ("GB/s", 91, "ok"), ("GB/s", 89, "slow")],
)
def test_of_a_latency_less_is_better(unit, figure, verdict):
    assert verdict_on(unit, figure, 100, 0.9) == verdict
    share = Measured("a job", unit, figure, 100, None, 0.9, verdict).share
    assert (share >= 0.9) == (verdict == "ok")
