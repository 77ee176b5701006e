"""Times launches by events of the device, behind a flush of the L2: in rows, or one at a time.

One sample is a flush of the L2, an event, a row of launches, an event. The flush is long enough
for the host to queue everything behind it, so that the device never waits for the host between
the two events. What is timed is the kernel and its launch on the device; never the call from
Python, never the bus.

In the order "single" there is one launch between the events, and a hold before them: the launch has
nothing to overlap with, and it is queued before the hold ends.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from .._core import Prepared
from ..base.record import SINGLE
from ..families import peers
from ..machine.device import Device
from .hold import Hold

__all__ = ["FOOTPRINT", "Launch", "PythonCall", "Stopwatch"]


class PythonCall:
    """A call from Python on device arrays, with the interface of a prepared call of gpumem."""

    def __init__(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.variant = name
        self._function = function
        self._args = args

    def launch(self) -> None:
        """Queue the work once."""
        self._function(*self._args)


Launch = Prepared | peers.Call | PythonCall

FOOTPRINT = 4  # times the size of the L2: data this far back are not in it any more
SAMPLE_MS = 0.5  # the least that a sample should last
_MOST_LAUNCHES = 256  # per sample
_LEAST_LAUNCHES = 4  # per sample: a row, so that overlap of neighbouring launches counts
_LONG_MS = 10  # a launch in which neither the state of the L2 nor its neighbours count
_DEFAULT_L2 = 2**26  # bytes, where the device does not say


class Stopwatch:
    """Measures prepared calls on a device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        first = device.info()["devices"][0]
        self.l2: int = first["l2_bytes"] or _DEFAULT_L2
        # Longer than it takes to evict the L2, so that one flush hides many launches.
        nbytes = min(max(FOOTPRINT * self.l2, 2**29), first["free_bytes"] // 4)
        self.scratch = device.array((nbytes,), "uint8")
        self.start, self.stop = device.event(), device.event()
        self.flush_ms = math.inf
        for _ in range(3):
            self.start.record()
            self.flush(1)
            self.stop.record()
            self.flush_ms = min(self.flush_ms, max(self.start.elapsed(self.stop), 1e-3))

    @functools.cached_property
    def hold(self) -> Hold:
        """What keeps the device busy before a single call."""
        return Hold(self.device)

    def flush(self, times: int) -> None:
        """Fill the L2 with other data, several times."""
        for _ in range(times):
            self.scratch.fill_bytes(0x5A)

    def launch_all(self, calls: Sequence[Launch], count: int) -> None:
        """Launch `count` times, the calls in turn; others than gpumem's own from Python."""
        prepared = [one for one in calls if not isinstance(one, peers.Call | PythonCall)]
        if len(prepared) == len(calls):
            self.device.launch_all(prepared, count)
            return
        for i in range(count):
            calls[i % len(calls)].launch()

    def time(
        self, lead_in: Sequence[Launch], calls: Sequence[Launch], count: int, flushes: int
    ) -> float:
        """Return milliseconds per launch of the `count` launches that follow the lead-in."""
        self.flush(flushes)
        if lead_in:
            self.launch_all(lead_in, len(lead_in))
        self.start.record()
        self.launch_all(calls, count)
        self.stop.record()
        return self.start.elapsed(self.stop) / count

    def time_single(self, lead_in: Sequence[Launch], call: Launch, hold: Hold) -> float:
        """Return milliseconds of one launch behind a hold; the state of the L2 is set before it.

        If the host was late, the launch may have had to wait for it, and is timed once more.
        """
        while True:
            self.flush(1)
            if lead_in:
                self.launch_all(lead_in, len(lead_in))
            begin = time.perf_counter()
            hold.queue()
            self.start.record()
            self.launch_all((call,), 1)
            self.stop.record()
            queueing_ms = (time.perf_counter() - begin) * 1e3
            taken = self.start.elapsed(self.stop)
            if not hold.lengthen(queueing_ms):
                return taken

    def sampler(
        self, calls: Sequence[Launch], footprint: int, cache: str, order: str
    ) -> Callable[[], float]:
        """Return a function that takes one sample, with as many launches as it needs.

        Parameters
        ----------
        calls : sequence of calls
            The same call on each set of buffers.
        footprint : int
            Bytes of one set.
        cache : {"cold", "warm"}
            The state of the L2 before each launch.
        order : {"stream", "single"}
            Whether a sample is a row of launches or one launch.
        """
        lead_in, most = self._lead_in(calls, footprint, cache)
        if order == SINGLE:
            hold = self.hold  # made before the first flush
            return lambda: self.time_single(lead_in, calls[0], hold)
        if self.time(lead_in, calls, 1, 4) >= _LONG_MS:
            return lambda: self.time((), calls, 1, 1)
        probe = min(8, most)
        once = self.time(lead_in, calls, probe, 4)
        begin = time.perf_counter()
        self.launch_all(calls, probe)
        queueing_ms = (time.perf_counter() - begin) * 1e3 / probe
        self.device.synchronize()
        wanted = max(_LEAST_LAUNCHES, math.ceil(SAMPLE_MS / max(once, 1e-6)))
        count = max(1, min(most, wanted))
        hide_ms = 1.5 * queueing_ms * (count + len(lead_in)) + 0.05
        flushes = max(1, min(32, math.ceil(hide_ms / self.flush_ms)))
        return lambda: self.time(lead_in, calls, count, flushes)

    def _lead_in(
        self, calls: Sequence[Launch], footprint: int, cache: str
    ) -> tuple[Sequence[Launch], int]:
        """Return what to launch untimed before a sample, and the most launches of a sample."""
        if cache == "warm":
            return (calls[0], calls[0]), _MOST_LAUNCHES
        if footprint * len(calls) <= FOOTPRINT * self.l2:
            return (), len(calls)  # each set once after the flush
        # The first launches find the L2 full of the flush's dirty lines. Run them untimed, on the
        # last sets, so that the timed ones are as in the middle of a long run.
        last = min(math.ceil(self.l2 / footprint), len(calls) - 1)
        return (calls[-last:] if last > 0 else ()), _MOST_LAUNCHES
