"""What is here: backends, devices and the figures that follow from theirs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from . import _core


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
    """
    from . import __version__

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
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
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


def _driver(device: dict[str, Any]) -> str | None:
    """The version of the driver itself, which CUDA does not tell."""
    version = _nvml(device, lambda nvml, _: nvml.nvmlSystemGetDriverVersion())
    return version.decode() if isinstance(version, bytes) else version


def provenance(backend: str) -> dict[str, Any]:
    """Return where figures come from: device, driver, versions, commit, date."""
    import datetime
    import platform

    import numpy as np

    from . import __version__

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
