"""Clocks, power and noise while a benchmark runs."""

import itertools
import sys

import pytest
from made_up import MadeUpDevice

from gpumem.base.result import BenchResult
from gpumem.machine.nvml import Watch


@pytest.fixture
def device():
    return MadeUpDevice()


class MadeUpNvml:
    """nvidia-ml-py, as far as it is asked."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    class NVMLError(Exception):
        pass

    def __init__(self, bits=0x1 | 0x4, generation=5, lanes=16):
        self.open = 0
        self.generation, self.lanes = generation, lanes
        self.bits = bits
        self.watts = itertools.count(200)

    def nvmlInit(self):
        self.open += 1

    def nvmlShutdown(self):
        self.open -= 1

    def nvmlDeviceGetHandleByPciBusId(self, pci):
        assert self.open
        return pci

    def nvmlDeviceGetClockInfo(self, handle, kind):
        assert self.open
        return {1: 1500, 2: 3000}[kind]

    def nvmlDeviceGetPowerUsage(self, handle):
        return 1000 * next(self.watts)

    def nvmlDeviceGetTemperature(self, handle, sensor):
        raise self.NVMLError

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle):
        return self.bits

    def nvmlDeviceGetMaxPcieLinkGeneration(self, handle):
        return self.generation

    def nvmlDeviceGetCurrPcieLinkWidth(self, handle):
        return self.lanes

    def nvmlSystemGetDriverVersion(self):
        return "1.2"


def test_clocks_are_watched_and_throttling_is_reported(device, monkeypatch):
    nvml = MadeUpNvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(Watch, "_EVERY", 0)
    result = device.bench("copy", ["scalar", "vec2"], sizes="64K,1M")
    for r in result.records:
        assert r["median_ms"] and r["clock_mhz"] == 1500 and r["temperature_c"] is None
        assert r["throttled"] == ["power cap"] and r["power_w"] > 200
    assert result.records[0]["power_w"] < result.records[-1]["power_w"]
    assert "held down in 6 of 6, down to 1500 MHz: power cap." in str(result)
    assert nvml.open == 0 and result.provenance["clocks"]["after"]["memory"] == 3000
    again = BenchResult.from_json(result.to_json(packed=True))
    assert again.records == result.records
    assert "held down in 6 of the records before" in again.compare(again).warnings[0]
    monkeypatch.setitem(sys.modules, "pynvml", MadeUpNvml(bits=0x1))
    result = device.bench("copy", ["scalar"], sizes="64K")
    assert result.records[0]["throttled"] == [] and "held down" not in str(result)


def test_without_nvml_nothing_is_said(device, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    (r, _) = device.bench("copy", ["scalar"], sizes="64K").records
    assert r["throttled"] is r["clock_mhz"] is r["power_w"] is None


def test_noise_is_reported(device):
    text = str(device.bench("copy", ["scalar"], sizes="16M", spread=1e-6))
    assert "2 of 2 did not settle within 0.0%" in text and "the noisiest is copy-" in text
