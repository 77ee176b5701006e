"""Bandwidth by the mix of reads and writes: rows of one length, read and written by stream."""

from __future__ import annotations

from .._core import Prepared
from ..families import table
from ..machine.device import Device
from .launch_clock import Clock

__all__ = ["Mixes"]

_ITEM = 4  # bytes of a word


class Mixes:
    """Rows in the memory of a device, and how fast mixes of them are read and written.

    Parameters
    ----------
    device : Device
        What is measured.
    row : int
        Bytes of a row, a multiple of 16.
    reads, writes : int
        The most rows that are read, and that are written.
    """

    def __init__(self, device: Device, row: int, reads: int, writes: int) -> None:
        self.row = row
        self._device = device
        self._clock = Clock(device)
        self._read = device.array((reads, row // _ITEM), "uint32")
        self._written = device.array((writes, row // _ITEM), "uint32")
        self._word = device.array((), "uint32")  # the result without writes
        self._read.fill_bytes(1)

    def stream(self, reads: int, writes: int) -> Prepared:
        """Return the call that reads and writes so many rows."""
        values = table.parameters("stream", {"writes": writes})
        out = self._written[:writes] if writes else self._word
        return self._device.prepare("stream", "auto", (self._read[:reads],), out, values)

    def driver_copy(self) -> Prepared:
        """Return the driver's copy of a row."""
        values = table.parameters("copy", {})
        one = self._read[0], self._written[0]
        return self._device.prepare("copy", "memcpy", one[:1], one[1], values)

    def gbps(self, call: Prepared, rows: int, rounds: int) -> float:
        """Return GB/s of a call that reads and writes so many rows together."""
        return rows * self.row / self._clock.times(call, rounds).median / 1e6
