"""Which backends and devices are here, and the peak rates that follow from their properties."""

from __future__ import annotations

import os
from typing import Any

from .. import _core
from ..base.version import __version__


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


def with_peaks(device: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a device together with its peak rates."""
    return {
        **device,
        "bandwidth_gbps": peak_bandwidth(device),
        "fp32_tflops": peak_fp32(device),
    }


def _backend(name: str) -> dict[str, Any]:
    found = dict(_core.backend_info(name))
    return found | {"devices": [with_peaks(device) for device in found["devices"]]}


def info() -> dict[str, Any]:
    """Return what gpumem was built for and what is here. A missing device is no error.

    Returns
    -------
    dict
        ``version``; ``build`` (``cuda``, ``nvcc``, ``archs``, ``compiler``);
        ``backend``, the default one, or None if the one asked for is not here; ``reason``,
        why it is not "cuda", or None; ``devices`` of the default backend; ``backends``, a
        dict with ``available reason runtime driver devices`` of "cuda" and "sim".

        A device is a dict of its properties as the driver reports them (bytes, kHz, bits), and
        two rates that follow from them: ``bandwidth_gbps``, twice the memory clock times the bus
        width, and ``fp32_tflops``, twice the clock times the FP32 lanes; None where the
        clocks are unknown.

    Examples
    --------
    >>> import gpumem as gm
    >>> found = gm.info()
    >>> sorted(found["backends"])
    ['cuda', 'sim']
    >>> found["backends"]["sim"]["available"]
    True
    """
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
