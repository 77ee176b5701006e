"""What is here: backends, devices and the figures that follow from theirs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from .. import _core


def peak_bandwidth(device: dict[str, Any]) -> float | None:
    """Return the theoretical bandwidth of a device's memory in GB/s, None where unknown.

    Two transfers per cycle of the memory clock, over the whole width of the bus.
    """
    return 2 * device["memory_clock_khz"] * 1e3 * device["memory_bus_bits"] / 8 / 1e9 or None


def peak_fp32(device: dict[str, Any]) -> float | None:
    """Return the theoretical FP32 rate of a device in TFLOP/s, None where unknown.

    One fused multiply-add, two operations, per lane and cycle of the highest clock.
    """
    lanes = device["fp32_lanes"] * device["multiprocessors"]
    return 2 * lanes * device["clock_khz"] * 1e3 / 1e12 or None


def _backend(name: str) -> dict[str, Any]:
    found = dict(_core.backend_info(name))
    found["devices"] = [
        {**device, "bandwidth_gbps": peak_bandwidth(device), "fp32_tflops": peak_fp32(device)}
        for device in found["devices"]
    ]
    return found


def info() -> dict[str, Any]:
    """Return what gpumem was built for and what is here. Never raises for want of a device.

    Returns
    -------
    dict
        ``version``; ``build`` (``cuda``, ``nvcc``, ``archs``, ``compiler``);
        ``backend``, the default one, or None if the one asked for is not here; ``reason``,
        why it is not "cuda", or None; ``devices`` of the default backend; ``backends``, a
        dict with ``available reason runtime driver devices`` of "cuda" and "sim".

        A device is a dict of its figures as the driver reports them (bytes, kHz, bits), and
        two that follow from them: ``bandwidth_gbps``, twice the memory clock times the bus
        width, and ``fp32_tflops``, twice the clock times the FP32 lanes; None where the
        clocks are unknown.

    Examples
    --------
    >>> import gpumem as gm
    >>> gm.info()["backends"]["sim"]["available"]
    True
    """
    from .. import __version__

    backends = {name: _backend(name) for name in ("cuda", "sim")}
    name: str | None = None
    reason = None
    try:
        name = _core.backend()
        if name != "cuda":
            asked = os.environ.get("GPUMEM_BACKEND", "auto")
            absent = backends["cuda"]["reason"]
            reason = f"GPUMEM_BACKEND={asked}" if asked == name else absent and f"cuda: {absent}"
    except (_core.UnavailableError, ValueError) as error:
        reason = str(error)
    return {
        "version": __version__,
        "build": dict(_core.build),
        "backend": name,
        "reason": reason,
        "devices": backends[name]["devices"] if name else [],
        "backends": backends,
    }


def _commit() -> str | None:
    """The commit of the code: from the environment, or of the checkout that it lies in."""
    named = os.environ.get("GPUMEM_COMMIT")
    if named:
        return named
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    if not os.path.exists(os.path.join(root, ".git")):
        return None
    import subprocess

    command = ["git", "-C", root, "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(
            [*command, "--exclude=*"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _nvml(device: dict[str, Any], read: Callable[[Any, Any], Any]) -> Any:
    """What ``read(pynvml, handle)`` returns for a CUDA device, None without nvidia-ml-py."""
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


def clocks(device: dict[str, Any]) -> dict[str, int] | None:
    """Return a CUDA device's present clocks in MHz, None without nvidia-ml-py."""
    return _nvml(
        device,
        lambda nvml, handle: {
            "multiprocessors": nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
            "memory": nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        },
    )


# What NVML calls reasons of clock events, by bit; being idle or set so by someone is none here.
_HELD_DOWN = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "temperature",
    0x40: "temperature, by hardware",
    0x80: "power brake",
}


class Watch:
    """Looks at a device's clocks, power and temperature while something is measured.

    A context. Without a device or nvidia-ml-py it sees nothing.
    """

    _EVERY = 0.05  # seconds: a look takes time that a turn of short samples should not wait for

    def __init__(self, device: dict[str, Any] | None) -> None:
        self._device = device
        self._nvml: Any = None
        self._handle: Any = None
        self._last = 0.0
        self._looks: list[tuple[int | None, float | None, int | None, int | None]] = []

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
        """Take one reading, if the last one is not too recent."""
        if self._handle is None or (self._looks and time.perf_counter() - self._last < self._EVERY):
            return
        self._last = time.perf_counter()
        power = self._ask("nvmlDeviceGetPowerUsage")
        reasons = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if reasons is None:  # as it was called before
            reasons = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        self._looks.append(
            (
                self._ask("nvmlDeviceGetClockInfo", self._nvml.NVML_CLOCK_SM),
                None if power is None else power / 1000,
                self._ask("nvmlDeviceGetTemperature", self._nvml.NVML_TEMPERATURE_GPU),
                reasons,
            )
        )

    def seen(self) -> dict[str, Any]:
        """Return what was seen since the last time, as fields of a record."""
        looks, self._looks = self._looks, []
        if not looks:
            return {}
        clocks, power, temperature, reasons = (
            [value for value in values if value is not None] for values in zip(*looks, strict=True)
        )
        bits = 0
        for reason in reasons:
            bits |= int(reason)
        return {
            "clock_mhz": min(clocks, default=None),
            "power_w": max(power, default=None),
            "temperature_c": max(temperature, default=None),
            "throttled": [word for bit, word in _HELD_DOWN.items() if bits & bit]
            if reasons
            else None,
        }


def _driver(device: dict[str, Any]) -> str | None:
    """The version of the driver itself, which CUDA does not tell."""
    version = _nvml(device, lambda nvml, _: nvml.nvmlSystemGetDriverVersion())
    return version.decode() if isinstance(version, bytes) else version


def provenance(backend: str) -> dict[str, Any]:
    """Return where figures come from: device, driver, versions, commit, date."""
    import datetime
    import platform

    import numpy as np

    from .. import __version__

    found = _backend(backend)
    device = found["devices"][0] if found["devices"] else None
    return {
        "gpumem": __version__,
        "commit": _commit(),
        "build": dict(_core.build),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "backend": backend,
        "device": device,
        "driver": _driver(device) if backend == "cuda" and device else None,
        "cuda_driver": found["driver"] or None,  # the latest CUDA that the driver knows
        "cuda_runtime": found["runtime"] or None,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": f"{sys.platform} {platform.machine()}",
    }
