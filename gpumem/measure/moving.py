"""Bytes on their way: by the bus or by a kernel, one way or both at once; and their check."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .. import _core
from .._core import DeviceArray, Stream
from ..families import oracle, table
from ..machine.device import Device, HostArray
from . import spot_check

__all__ = ["POISON", "Runs", "both_at_once", "by_bus", "by_kernel", "check_bytes", "random_bytes"]

POISON = 0xA5  # what a target holds before bytes arrive

_PERIOD = 2**24 + 43  # bytes of random data: odd, so that no two pieces are alike
_SLOW_READ = 2**20  # bytes of write-combined memory that are compared whole

# Does a number of transfers, all of which are done when it returns.
Runs = Callable[[int], None]


def random_bytes(nbytes: int) -> HostArray:
    """Return random bytes, which repeat after a long period."""
    found = np.empty(nbytes, np.uint8)
    period = np.frombuffer(np.random.default_rng().bytes(min(nbytes, _PERIOD)), np.uint8)
    for at in range(0, nbytes, _PERIOD):
        found[at : at + _PERIOD] = period[: nbytes - at]
    return found


def check_bytes(got: DeviceArray | HostArray, wanted: HostArray) -> None:
    """Raise AssertionError unless the bytes are those; of many, slices are compared."""
    slow = isinstance(got, np.ndarray) and _core.memory_kind(got) == "write_combined"
    for part in spot_check.compared_parts(wanted.size, 1, _SLOW_READ if slow else None):
        piece: Any = got[part]
        here = piece if isinstance(piece, np.ndarray) else piece.to_host()
        try:
            oracle.compare("transfer", here, wanted[part])
        except AssertionError as error:
            raise AssertionError(f"from byte {part.start} on: {error}") from None


def by_bus(
    device: Device,
    array: DeviceArray,
    host: HostArray,
    to_device: bool,
    kind: str,
    pieces: int = 1,
    stream: Stream | None = None,
) -> Runs:
    """Return what moves bytes between a host array and one of the device."""
    driver = kind == "pageable_driver"
    return lambda count: device.transfer(array, host, to_device, count, driver, pieces, stream)


def by_kernel(
    device: Device,
    source: DeviceArray,
    target: DeviceArray,
    pieces: int = 1,
    stream: Stream | None = None,
    variant: str = "auto",
    max_blocks: int | None = None,
) -> Runs:
    """Return what copies bytes that the device can reach; each piece is waited for, as on the bus.

    Parameters
    ----------
    device : Device
        Runs the copy.
    source, target : DeviceArray
        From where to where.
    pieces : int
        The number of copies for the same bytes.
    stream : Stream, optional
        The stream of the copies.
    variant : str
        Of the family "copy".
    max_blocks : int, optional
        The most blocks of a copy.
    """
    values = table.parameters("copy", {"max_blocks": max_blocks})
    cuts = [source.size * i // pieces for i in range(pieces + 1)]
    parts = [slice(first, last) for first, last in itertools.pairwise(cuts)]
    prepared = [
        device.prepare("copy", variant, (source[part],), target[part], values, stream)
        for part in parts
    ]
    wait = stream.synchronize if stream else device.synchronize

    def run(count: int) -> None:
        for one in itertools.chain.from_iterable(itertools.repeat(prepared, count)):
            one.launch()
            wait()

    return run


def both_at_once(pool: ThreadPoolExecutor, first: Runs, second: Runs) -> Runs:
    """Return what does two things at once: one in the calling thread, one in the pool's."""

    def run(count: int) -> None:
        other = pool.submit(second, count)
        try:
            first(count)
        finally:
            other.result()

    return run
