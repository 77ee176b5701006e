"""A fake GPU: arrays in the simulator's memory, and a clock that each launch advances.

Tests of benchmarks use it instead of a GPU. The cells of notebooks that need a GPU run on it too.
"""

from __future__ import annotations

import functools
import math

import numpy as np

import gpumem as gm
from gpumem import _core
from gpumem.base.sizes import parse_sizes
from gpumem.base.wall_clock import FAMILIES
from gpumem.machine.device import BackendDevice
from gpumem.machine.devices import with_peaks
from gpumem.measure.stopwatch import PythonCall
from gpumem.modules.launch import Launch

L2 = 2**20
OVERHEAD_MS = 0.002
GBPS = {"scalar": 1000, "memcpy": 2000, "auto": 2100}


class ClockedSimulator(BackendDevice):
    """The simulator as a device with a clock: the host's, whose times do not predict a GPU's."""

    def __init__(self):
        super().__init__("sim")
        self.has_clock = True
        self.bench = functools.partial(gm.bench, device=self)


class MadeUpDevice(BackendDevice):
    """A device whose backend is called "cuda", with the simulator's memory and a fake clock.

    Attributes
    ----------
    now : float
        The time of the clock, in milliseconds.
    free : int
        Bytes of free memory.
    events : list of tuple
        The fills, launches and recorded events, in order.
    idle, damaging : str or None
        Name of a variant that writes nothing, and of one that flips a bit of the last byte.
    bench, bench_all : callable
        gpumem.bench and gpumem.bench_all on this device.
    """

    def __init__(self, free=2**33):
        super().__init__("sim")
        self.backend = "cuda"
        self.has_clock = True
        self.now = 0.0
        self.free = free
        self.events = []
        self.idle = None
        self.damaging = None
        self.noise = np.random.default_rng(0)
        self.bench = functools.partial(gm.bench, device=self)
        self.bench_all = functools.partial(gm.bench_all, device=self)

    def info(self):
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

    def available(self, family, variant):
        return _core.available(family, variant, "sim")

    def to_device(self, a):
        return _core.to_device(a, backend="sim")

    def synchronize(self, device=None):
        pass

    def array(self, shape, dtype, device=None):
        return _Array(self, shape, dtype)

    def event(self):
        return _Event(self)

    def prepare(self, family, variant, inputs, out, values, stream=None):
        return _Prepared(self, family, variant, inputs, out, values)

    def launch_all(self, prepared, count):
        for i in range(count):
            prepared[i % len(prepared)].tick()


class _Array:
    """An array; a fill advances the clock.

    The contents of a buffer that flushes the L2 cache (2**28 elements or more) are never read, so
    one element is allocated for it.
    """

    def __init__(self, device, shape, dtype):
        self.made_up = device
        flushes = len(shape) == 1 and shape[0] >= 2**28
        self.real = _core.DeviceArray((1,) if flushes else shape, dtype, backend="sim")
        self.nbytes = math.prod(shape) * np.dtype(dtype).itemsize

    def __getattr__(self, name):
        return getattr(self.real, name)

    def fill_bytes(self, byte):
        self.real.fill_bytes(byte)
        self.made_up.events.append(("fill", self.nbytes))
        self.made_up.now += self.nbytes / 2e9


class _Event:
    def __init__(self, device):
        self.device = device

    def record(self):
        self.time = self.device.now
        self.device.events.append(("event",))

    def elapsed(self, later):
        return later.time - self.time


class _Prepared:
    """A prepared call: launch() runs it, for checks; tick() only advances the clock."""

    def __init__(self, device, family, name, inputs, out, values):
        self.device, self.name = device, name
        self.to = inputs[0] if out is None else out.real
        self.real = _core.prepare(
            family, name, inputs, None if out is None else self.to, None, values
        )
        self.variant = self.real.variant

    def launch(self):
        if self.device.idle != self.name:
            self.real.launch()
        if self.device.damaging == self.name:
            bad = self.to.to_host()
            bad.reshape(-1).view("u1")[-1] ^= 1
            self.device.copy(self.device.to_device(bad), self.to)

    def tick(self):
        rate = GBPS.get(self.name, 1500) * (1 + 0.002 * self.device.noise.random())
        self.device.now += OVERHEAD_MS + 2 * self.to.nbytes / rate / 1e6
        self.device.events.append(("launch", self.name, self.to.pointer))


# ---- for whole programs -------------------------------------------------------------------


def smaller(sizes=None, shapes=None):
    """Return smaller `sizes` and `shapes` than these, as keyword arguments of a benchmark."""
    found = {}
    if sizes is not None:
        found["sizes"] = list(dict.fromkeys(max(4096, n // 256) for n in parse_sizes(sizes)))
    if shapes is not None:
        sides = [tuple(max(n // 8, min(n, 64)) for n in shape) for shape in shapes]
        found["shapes"] = list(dict.fromkeys(sides))
    return found


def install():
    """Replace gpumem.bench and gpumem.info in this process: benchmarks run on the fake device.

    They use smaller sizes than requested. All other functions still run on the simulator.
    """
    device, clocked = MadeUpDevice(), ClockedSimulator()
    clocked.info = device.info  # transfers report the same device
    found = gm.info()

    def bench(family, *arguments, sizes=None, shapes=None, **keywords):
        if isinstance(family, Launch):
            return measure(family, *arguments, device=device, **keywords)
        target = clocked if family in FAMILIES else device
        reduced = smaller(sizes if sizes or shapes else "4M", shapes)
        return measure(family, *arguments, device=target, **reduced, **keywords)

    def launch(call):
        run(call)
        device.now += OVERHEAD_MS * len(call.variant)  # another time for each name

    run, PythonCall.launch = PythonCall.launch, launch
    measure, gm.bench = gm.bench, bench
    gm.backend = lambda name=None: device.backend
    devices = [with_peaks(one) for one in device.info()["devices"]]
    gm.info = lambda: found | {"backend": device.backend, "reason": None, "devices": devices}
    usage = {"registers": 32, "local_bytes": 0, "shared_bytes": 0, "blocks": 8, "occupancy": 1.0}
    gm.Variant.attributes = lambda variant, **keywords: usage
