"""A clock of prepared calls alone: no check, no input of NumPy, nothing in the L2 flushed.

A time is that of several launches between two events, behind a hold that lets the host queue them.
What preparing a call checks is not in it. Programs in tools/ and ``gpumem doctor`` use it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._core import Prepared
from ..machine.device import Device
from .hold import Hold

__all__ = ["Clock", "Times"]

_LAUNCHES = 4  # between two events


class Times(NamedTuple):
    """Milliseconds of one launch: the median of the rounds, the least and the most."""

    median: float
    least: float
    most: float


class Clock:
    """Times prepared calls on a device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.hold = Hold(device)
        self.start, self.stop = device.event(), device.event()

    def once(self, call: Prepared) -> float:
        """Return the time of one launch of several in a row."""
        self.hold.queue()
        self.start.record()
        self.device.launch_all([call], _LAUNCHES)
        self.stop.record()
        return self.start.elapsed(self.stop) / _LAUNCHES

    def times(self, call: Prepared, rounds: int) -> Times:
        """Return the times of a call after a launch that does not count."""
        self.device.launch_all([call], 1)
        found = [self.once(call) for _ in range(rounds)]
        return Times(float(np.median(found)), min(found), max(found))
