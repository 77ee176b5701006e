"""gpumem doctor: what is here, and whether a GPU is as fast as it should be."""

import json
import sys

import pytest
from made_up import GBPS, MadeUpDevice
from test_watch import MadeUpNvml

import gpumem as gm
from gpumem.base.record import Record
from gpumem.base.result import BenchResult
from gpumem.cli import main
from gpumem.cuda_c import compile as compiling
from gpumem.cuda_c.errors import CompileError
from gpumem.machine import nvml
from gpumem.machine.devices import with_peaks
from gpumem.report import checkup, memory_checkup
from gpumem.report.checkup import JOBS, Job, Measured

SHAPE = (2**14,)
PEAK = with_peaks(MadeUpDevice().info()["devices"][0])["bandwidth_gbps"]
BUS = Job("to the device", "transfer", "to_device", (2**16,), {"kind": "pinned"})


def facts(found):
    return {fact.name: fact for fact in found.facts}


@pytest.fixture
def device(monkeypatch):
    """A device that copies at known rates, beside one shipped figure."""
    monkeypatch.setattr(checkup, "JOBS", (Job("a copy", "copy", "auto", SHAPE, {}),))
    monkeypatch.setattr(memory_checkup, "LATENCIES", ())
    monkeypatch.setattr(memory_checkup, "MIXES", ())
    return MadeUpDevice()


def ship(monkeypatch, share, name="another device"):
    """Have a result shipped whose device reached this share of its peak."""
    record = Record("copy", "auto", shape=SHAPE, gbps=123.0, fraction_of_peak=share)
    result = BenchResult([record.to_dict()], {"device": {"name": name}})
    monkeypatch.setattr(checkup, "RESULTS", {"copy-h200": result, "transfer-h200": result})


def test_every_job_has_a_shipped_figure():
    for job in JOBS:
        row = checkup._record(gm.results[f"{job.family}-h200"].rows, job)
        figure = row.tflops if job.unit == "TFLOP/s" else row.gbps
        assert figure > 10, job
        assert job.family == "transfer" or 0.3 < row.fraction_of_peak < 1, job


def test_on_the_simulator_nothing_is_measured(capsys):
    found = gm.doctor(backend="sim")
    assert found.measured == found.slow == [] and "no clock" in str(found)
    assert facts(found)["not known"].text == (
        "latencies, bandwidths and limits of a GPU; shipped are those of NVIDIA H200"
    )
    assert facts(found)["gpumem"].text.startswith(gm.__version__)
    assert facts(found)["your kernels on the simulator"].ok
    assert main(["doctor", "--backend", "sim"]) == 0
    assert capsys.readouterr().out == f"{found}\n"
    assert main(["doctor", "--backend", "sim", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found.to_dict()


def test_a_timeout_is_checked_without_a_gpu_too():
    with pytest.raises(ValueError, match="timeout must be 0 or more, not -1"):
        gm.doctor(timeout=-1, backend="sim")


def test_without_a_compiler_it_says_so(monkeypatch):
    def missing():
        raise CompileError("no compiler was found: install one")

    monkeypatch.setattr(compiling, "host_compiler", missing)
    fact = facts(gm.doctor(backend="sim"))["your kernels on the simulator"]
    assert (fact.ok, fact.text) == (False, "no compiler was found: install one")
    assert "! your kernels on the simulator" in str(gm.doctor(backend="sim"))


@pytest.mark.parametrize(
    "share_of_here, name, verdict",
    [
        (1.0, "made-up device", "ok"),
        (1.05, "made-up device", "ok"),
        (1.15, "made-up device", "slow"),
        (1.15, "another device", "ok"),  # other models reach other shares
        (1.5, "another device", "slow"),
    ],
)
def test_what_is_slow(device, monkeypatch, share_of_here, name, verdict):
    reached = device.bench("copy", "auto", shapes=[SHAPE], samples=(5, 15)).records[0]["gbps"]
    assert 0 < reached <= GBPS["auto"]
    ship(monkeypatch, share_of_here * reached / PEAK, name)
    monkeypatch.setitem(sys.modules, "pynvml", MadeUpNvml(bits=0x4))
    found = gm.doctor(device=device)
    (row,) = found.measured
    assert row.verdict == verdict and row.shipped == 123 and row.unit == "GB/s"
    assert row.figure == pytest.approx(reached, rel=0.01)
    assert row.expected == pytest.approx(share_of_here * reached, rel=0.01)
    assert found.slow == ([row] if verdict == "slow" else [])
    assert ("lowered by: power cap" in row.note) == (verdict == "slow")
    assert ("slower than it should be: a copy." in str(found)) == (verdict == "slow")
    assert facts(found)["NVML"].text == "1500 MHz, memory 3000 MHz, before measuring"


def test_the_exit_status_says_whether_something_is_slow(device, monkeypatch, capsys):
    monkeypatch.setattr(checkup, "device_of", lambda given, backend: device)
    for share, status in ((0.001, 0), (1.0, 1)):
        ship(monkeypatch, share)
        assert main(["doctor"]) == status
        out = capsys.readouterr().out
        assert ("nothing that was measured is slower" in out) == (status == 0)
        assert "another device" in out.splitlines()[-2]


def test_what_is_not_measured_has_its_reason(device, monkeypatch):
    ship(monkeypatch, 0.5)
    device.damaging = "auto"
    (row,) = gm.doctor(device=device).measured
    assert row.verdict == "not measured" and row.figure is None and "wrong" in row.note


def test_a_gpu_that_others_use(device, monkeypatch):
    ship(monkeypatch, 0.5)
    assert facts(gm.doctor(device=device))["GPU"].ok
    found = device.info()["devices"][0] | {"memory_bytes": 2**36}
    monkeypatch.setattr(device, "info", lambda: {"devices": [found], "driver": 0, "runtime": 0})
    fact = facts(gm.doctor(device=device))["GPU"]
    assert not fact.ok and fact.text.endswith("others use its memory")


@pytest.mark.parametrize("generation, lanes, rate", [(5, 16, 63.0), (4, 8, 15.75), (9, 16, None)])
def test_the_rate_of_the_bus(monkeypatch, generation, lanes, rate):
    made_up = MadeUpNvml(generation=generation, lanes=lanes)
    monkeypatch.setitem(sys.modules, "pynvml", made_up)
    found = nvml.link_gbps({"pci": "0000:00:00.0"})
    assert found == (rate and pytest.approx(rate, rel=0.001))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert nvml.link_gbps({"pci": "0000:00:00.0"}) is None


@pytest.mark.parametrize("link, verdict", [(60.0, "ok"), (75.0, "slow"), (None, "no yardstick")])
def test_transfers_are_judged_by_the_link(link, verdict):
    row = Record("transfer", "to_device", shape=BUS.shape, parameters=BUS.parameters, gbps=55.0)
    device = MadeUpDevice().info()["devices"][0]
    found = checkup._judged(BUS, row, None, device, True, link)
    assert found == Measured(BUS.what, "GB/s", 55.0, link, None, 0.8, verdict, theory=link)


@pytest.mark.gpu
def test_on_a_gpu():
    found = gm.doctor(backend="cuda")
    probes = [*memory_checkup.LATENCIES, *memory_checkup.MIXES]
    assert facts(found)["GPU"].text and len(found.measured) == len(JOBS) + len(probes)
    for row in found.measured:
        assert row.figure and row.figure > 0, row
        assert row.verdict in ("ok", "slow", "no yardstick"), row
