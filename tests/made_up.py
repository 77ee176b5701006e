"""A device that is made up: the simulator's memory, and a clock that its launches advance.

Tests of benchmarks put it in the place of a GPU; notebooks run on it from top to bottom.
"""

from __future__ import annotations

import importlib
import math
import sys

import numpy as np

import gpumem as gm
from gpumem import _core
from gpumem.base.sizes import parse_sizes

L2 = 2**20
OVERHEAD_MS = 0.002
GBPS = {"scalar": 1000, "memcpy": 2000, "auto": 2100}


def there(a):
    return _core.to_device(a, backend="sim")


class MadeUpDevice:
    """The extension module, but for a "cuda" that is the simulator's memory and a clock."""

    def __init__(self, free=2**33):
        self.now = 0.0  # ms
        self.free = free
        self.events = []  # what happened, in order
        self.idle = None  # the variant that writes nothing
        self.damaging = None  # the variant that gets the last byte wrong
        self.noise = np.random.default_rng(0)

    def backend(self, name=None):
        return "cuda"

    def backend_info(self, name):
        device = {
            "name": "made-up device",
            "capability": "9.0",
            "multiprocessors": 1,
            "threads_per_multiprocessor": 2048,
            "l2_bytes": L2,
            "memory_bytes": self.free,
            "free_bytes": self.free,
            "clock_khz": 10**6,
            "memory_clock_khz": 10**6,
            "memory_bus_bits": 16000,
            "fp32_lanes": 128,
            "pci": "0000:00:00.0",
        }
        found = {"available": True, "reason": None, "runtime": "1", "driver": "2"}
        return found | {"devices": [device]}

    def available(self, family, variant, backend=None):
        return _core.available(family, variant, "sim")

    def to_device(self, a, backend):
        return there(a)

    def synchronize(self, backend):
        pass

    def DeviceArray(self, shape, dtype, backend):
        flushes = len(shape) == 1 and shape[0] >= 2**28  # nobody looks at what is in there
        real = _core.DeviceArray((1,) if flushes else shape, dtype, backend="sim")
        device = self

        class Array:
            def __getattr__(self, name):
                return getattr(real, name)

            nbytes = math.prod(shape) * np.dtype(dtype).itemsize

            def fill_bytes(self, byte):
                real.fill_bytes(byte)
                device.events.append(("fill", self.nbytes))
                device.now += self.nbytes / 2e9

        array = Array()
        array.real = real
        return array

    def Event(self, backend):
        device = self

        class Event:
            def record(self):
                self.time = device.now
                device.events.append(("event",))

            def elapsed(self, later):
                return later.time - self.time

        return Event()

    def prepare(self, family, variant, inputs, out, stream, parameters):
        device = self
        name = variant
        to = inputs[0] if out is None else out.real
        real = _core.prepare(
            family, variant, inputs, None if out is None else to, stream, parameters
        )

        class Prepared:
            variant = real.variant
            nbytes = 2 * to.nbytes

            def launch(self):
                if device.idle != name:
                    real.launch()
                if device.damaging == name:
                    bad = to.to_host()
                    bad.reshape(-1).view("u1")[-1] ^= 1
                    _core.call("copy", "auto", (there(bad),), to, None, None, (0,))

            def tick(self):
                rate = GBPS.get(name, 1500) * (1 + 0.002 * device.noise.random())
                device.now += OVERHEAD_MS + self.nbytes / rate / 1e6
                device.events.append(("launch", name, to.pointer))

        return Prepared()

    def launch_all(self, prepared, count):
        for i in range(count):
            prepared[i % len(prepared)].tick()

    def __getattr__(self, name):  # families, exceptions, build
        return getattr(_core, name)


# ---- for whole programs -------------------------------------------------------------------


def smaller(sizes=None, shapes=None):
    """A small part of what a benchmark is asked for, as arguments of it."""
    found = {}
    if sizes is not None:
        found["sizes"] = list(dict.fromkeys(max(4096, n // 256) for n in parse_sizes(sizes)))
    if shapes is not None:
        sides = [tuple(max(n // 8, min(n, 64)) for n in shape) for shape in shapes]
        found["shapes"] = list(dict.fromkeys(sides))
    return found


def install():
    """Have this process benchmark the device, at a small part of the sizes.

    What is called otherwise still runs on the simulator.
    """
    device = MadeUpDevice()
    for name in ("measure.bench", "machine.devices"):
        sys.modules[f"gpumem.{name}"]._core = device
    importlib.import_module("gpumem.measure.wallclock._measure")._has_clock = lambda backend: True
    measure = gm.bench

    def bench(family, *arguments, sizes=None, shapes=None, **keywords):
        return measure(family, *arguments, **smaller(sizes or "4M", shapes), **keywords)

    gm.bench = bench
    gm.backend = device.backend
    figures = {"registers": 32, "local_bytes": 0, "shared_bytes": 0, "blocks": 8, "occupancy": 1.0}
    gm.Variant.attributes = lambda variant, **keywords: figures
