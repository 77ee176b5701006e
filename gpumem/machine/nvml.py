"""Clocks, power and temperature of a CUDA device, read with nvidia-ml-py where it is installed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

Properties = dict[str, Any]  # of a device, as the extension module reports them

# NVML's reasons for lowered clocks, by bit. Idling, and limits that a user set, are not listed.
_THROTTLING = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "temperature",
    0x40: "temperature, by hardware",
    0x80: "power brake",
}

# Of PCI Express, by generation, after the coding of bits and before packets have heads.
_GBPS_PER_LANE = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}


def _read(device: Properties, read: Callable[[Any, Any], Any]) -> Any:
    """Return ``read(pynvml, handle)`` for a CUDA device, None where NVML is missing or fails."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        try:
            return read(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(device["pci"]))
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return None


def clocks(device: Properties) -> dict[str, int] | None:
    """Return a CUDA device's present clocks in MHz, None without nvidia-ml-py."""
    found: dict[str, int] | None = _read(
        device,
        lambda nvml, handle: {
            "multiprocessors": nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
            "memory": nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        },
    )
    return found


def link_gbps(device: Properties) -> float | None:
    """Return the rate of a CUDA device's link to the host in GB/s each way, None where unknown.

    PCI Express: the lanes that it has now, of the highest generation that both ends take, since an
    idle link goes back to a lower one.
    """

    def read(nvml: Any, handle: Any) -> float | None:
        generation = nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle)
        per_lane = _GBPS_PER_LANE.get(generation)
        return per_lane and per_lane * nvml.nvmlDeviceGetCurrPcieLinkWidth(handle)

    found: float | None = _read(device, read)
    return found


def driver_version(device: Properties) -> str | None:
    """Return the version of the driver itself, which the CUDA runtime does not report."""
    version = _read(device, lambda nvml, _: nvml.nvmlSystemGetDriverVersion())
    return version.decode() if isinstance(version, bytes) else version


class _Reading(NamedTuple):
    """One look at the device; what NVML does not say is None."""

    clock_mhz: int | None
    power_w: float | None
    temperature_c: int | None
    throttling: int | None  # bits


class Watch:
    """Reads a device's clocks, power and temperature while something is measured.

    A context. Without a device or nvidia-ml-py it reads nothing.
    """

    _EVERY = 0.05  # seconds: a reading takes time that short samples should not wait for

    def __init__(self, device: Properties | None) -> None:
        self._device = device
        self._nvml: Any = None
        self._handle: Any = None
        self._last = 0.0
        self._readings: list[_Reading] = []

    def __enter__(self) -> Watch:
        if self._device is not None:
            try:
                import pynvml

                pynvml.nvmlInit()
            except Exception:  # not installed, or no driver that it knows
                return self
            self._nvml = pynvml
            try:
                self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(self._device["pci"])
            except pynvml.NVMLError:
                pass
        return self

    def __exit__(self, *_: object) -> None:
        if self._nvml is not None:
            self._nvml.nvmlShutdown()
            self._nvml = self._handle = None

    def _ask(self, name: str, *arguments: Any) -> int | None:
        function = getattr(self._nvml, name, None)
        try:
            return None if function is None else int(function(self._handle, *arguments))
        except self._nvml.NVMLError:
            return None

    def look(self) -> None:
        """Take a reading, unless the last one is too recent."""
        recent = self._readings and time.perf_counter() - self._last < self._EVERY
        if self._handle is None or recent:
            return
        self._last = time.perf_counter()
        power = self._ask("nvmlDeviceGetPowerUsage")
        throttling = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if throttling is None:  # the function's name in older versions
            throttling = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        self._readings.append(
            _Reading(
                self._ask("nvmlDeviceGetClockInfo", self._nvml.NVML_CLOCK_SM),
                None if power is None else power / 1000,
                self._ask("nvmlDeviceGetTemperature", self._nvml.NVML_TEMPERATURE_GPU),
                throttling,
            )
        )

    def summary(self) -> dict[str, Any]:
        """Return what was read since the last call, as fields of a record."""
        readings, self._readings = self._readings, []
        if not readings:
            return {}
        clocks, power, temperature, throttling = (
            [value for value in values if value is not None]
            for values in zip(*readings, strict=True)
        )
        bits = 0
        for one in throttling:
            bits |= int(one)
        words = [word for bit, word in _THROTTLING.items() if bits & bit]
        return {
            "clock_mhz": min(clocks, default=None),
            "power_w": max(power, default=None),
            "temperature_c": max(temperature, default=None),
            "throttled": words if throttling else None,
        }
