"""Keeps the device busy while the host queues what is to be timed."""

from __future__ import annotations

import math

import numpy as np

from ..families import table
from ..machine.device import Device

__all__ = ["Hold"]

_BYTES = 2**16  # of the array that is copied: little beside any L2
_MOST_COPIES = 64  # per hold
_MARGIN = 1.5  # times as long as the host needs


class Hold:
    """A wait on the device: copies by one block, which take much longer than their launches.

    Each is a plain launch of a kernel that lets nothing start before it has ended.

    Parameters
    ----------
    device : Device
        What is to be kept busy.

    Attributes
    ----------
    count : int
        The copies of one hold.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        source = device.to_device(np.zeros(_BYTES, np.uint8))
        target = device.array((_BYTES,), "uint8")
        one_block = table.parameters("copy", {"max_blocks": 1})
        self._copy = device.prepare("copy", "scalar", (source,), target, one_block)
        self.count = 1
        self._copy_ms = math.inf
        start, stop = device.event(), device.event()
        for _ in range(3):
            start.record()
            self.queue()
            stop.record()
            self._copy_ms = min(self._copy_ms, start.elapsed(stop))

    def queue(self) -> None:
        """Queue the wait."""
        self._device.launch_all([self._copy], self.count)

    def lengthen(self, queueing_ms: float) -> bool:
        """Make further holds longer if this one was too short for the host, and longer is possible.

        Parameters
        ----------
        queueing_ms : float
            How long the host took for queueing the hold and all that had to be behind it.

        Returns
        -------
        bool
            Whether it was too short and the next one is longer.
        """
        long_enough = _MARGIN * queueing_ms <= self.count * self._copy_ms
        if long_enough or self.count >= _MOST_COPIES:
            return False
        self.count = min(2 * self.count, _MOST_COPIES)
        return True
