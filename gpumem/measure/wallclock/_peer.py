"""From one device to the next."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ... import _core
from . import _ways
from ._bytes import POISON, compare

if TYPE_CHECKING:
    from ._arrays import Arrays
    from ._contender import Checked

WAYS = ("access", "no_access", "kernel")


@contextmanager
def _access(device: int, other: int, on: bool, backend: str) -> Iterator[None]:
    """Let a device reach the memory of another, or not."""
    if not _core.can_reach(device, other, backend):
        if on:
            raise ValueError(f"device {device} cannot reach the memory of device {other}")
        yield
        return
    before = _core.let_reach(device, other, on, backend)
    try:
        yield
    finally:
        _core.let_reach(device, other, before, backend)


def to_peer(arrays: Arrays, way: str, pieces: int) -> Checked:
    """The first device writes to the second: by its copy engine, or a kernel."""
    source, target = arrays.source, arrays.peer()
    by_kernel = None
    if way == "kernel":
        by_kernel = _ways.by_kernel(source, _core.reach(target, source.device), pieces)

    def run(count: int) -> float:
        with _access(source.device, target.device, way != "no_access", arrays.backend):
            begin = time.perf_counter()
            if by_kernel is not None:
                by_kernel(count)
            else:
                _core.send(source, target, count, pieces)
            return time.perf_counter() - begin

    def check() -> None:
        target.fill_bytes(POISON)
        _core.synchronize(arrays.backend, device=target.device)
        run(1)
        compare(target, arrays.data)

    return run, check
