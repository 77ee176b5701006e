"""``gpumem info``: what gpumem was built for, and which devices this machine has."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core
from ..base.sizes import format_bytes
from ..machine import devices
from .common import Commands, print_json


def _device_lines(device: dict[str, Any]) -> Iterator[str]:
    figures = [f"  {device['name']}: {device['multiprocessors']} multiprocessors"]
    if device["capability"]:
        figures.append(f"compute capability {device['capability']}")
    if device["l2_bytes"]:
        figures.append(f"L2 {format_bytes(device['l2_bytes'])}")
    yield ", ".join(figures)
    yield (
        f"    {format_bytes(device['shared_per_block'])} of shared memory per block, "
        f"{format_bytes(device['memory_bytes'])} of memory, "
        f"{format_bytes(device['free_bytes'])} free"
    )
    if device["bandwidth_gbps"]:
        yield (
            f"    {device['bandwidth_gbps']:.0f} GB/s in theory "
            f"({device['memory_clock_khz'] / 1000:.0f} MHz x {device['memory_bus_bits']} bit x 2)"
        )
    if device["fp32_tflops"]:
        yield (
            f"    {device['fp32_tflops']:.1f} TFLOP/s FP32 in theory (2 x {device['fp32_lanes']} "
            f"lanes x {device['multiprocessors']} x {device['clock_khz'] / 1e6:.2f} GHz)"
        )


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    found = devices.info()
    if options.backend:
        found["backend"] = _core.backend(options.backend)
        found["reason"] = "--backend"
        found["devices"] = found["backends"][found["backend"]]["devices"]
    if options.json:
        print_json(found)
        return 0
    build = found["build"]
    why = f" ({found['reason']})" if found["reason"] else ""
    print(f"gpumem {found['version']}")
    print(f"backend: {found['backend'] or 'none'}{why}")
    cuda = f"nvcc {build['nvcc']} for {build['archs']}" if build["cuda"] else "no CUDA"
    print(f"built with {build['compiler']}, {cuda}, numpy {np.__version__}")
    for name, backend in found["backends"].items():
        print()
        versions = [f"{what} {backend[what]}" for what in ("driver", "runtime") if backend[what]]
        state = "available" if backend["available"] else f"not available: {backend['reason']}"
        print(f"{name}: {', '.join([state, *versions])}")
        for device in backend["devices"]:
            print("\n".join(_device_lines(device)))
    return 0


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    commands.add("info", run, "Show what gpumem was built for, and the devices of this machine.")
