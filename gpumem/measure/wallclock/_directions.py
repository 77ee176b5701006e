"""The directions in which bytes go between the host and a device, and within that device."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ... import _core
from . import _ways
from ._contender import timed

if TYPE_CHECKING:
    from ._arrays import Arrays
    from ._contender import Checked, Timed

_PAGE = 4096  # no smaller ones move


def one_way(arrays: Arrays, kind: str, pieces: int, *, to_device: bool) -> Checked:
    if kind == "managed":
        run = managed(arrays, to_device)
    else:
        run = timed(arrays.way(kind, to_device, pieces))
    return run, lambda: arrays.check(run, kind, to_device, not to_device)


def managed(arrays: Arrays, to_device: bool) -> Timed:
    """What makes the pages move; that they are on the other side before is not timed."""
    host = arrays.host("managed", to_device)
    pages = host[::_PAGE]
    kernel = arrays.way("managed", to_device, 1)

    def run(count: int) -> float:
        taken = 0.0
        for _ in range(count):
            if to_device:
                np.bitwise_or(pages, 0, out=pages)  # written: the page is the host's
            else:
                kernel(1)
            begin = time.perf_counter()
            if to_device:
                kernel(1)
            else:
                pages.max()
            taken += time.perf_counter() - begin
        return taken

    return run


def both_ways(arrays: Arrays, kind: str, pieces: int) -> Checked:
    blocks = None
    if kind == "mapped":  # so few that both kernels find room
        device = _core.backend_info(arrays.backend)["devices"][arrays.source.device]
        blocks = max(device["multiprocessors"], 1)
    ways = [
        arrays.way(kind, to_device, pieces, _core.Stream(backend=arrays.backend), blocks)
        for to_device in (True, False)
    ]
    run = timed(_ways.Pair(arrays.pool, *ways))
    return run, lambda: arrays.check(run, kind, True, True)


def within(arrays: Arrays, kind: str, pieces: int) -> Checked:
    run = timed(_ways.by_kernel(arrays.source, arrays.target, pieces, variant="memcpy"))
    return run, lambda: arrays.check(run, kind, True, False)
