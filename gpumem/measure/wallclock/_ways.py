"""One direction, by bus or by kernel, or two at once."""

from __future__ import annotations

import functools
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ... import _core
from ...families import table

if TYPE_CHECKING:
    import numpy as np

    from ..._core import DeviceArray, Stream
    from ._contender import Runs


def by_bus(
    device: DeviceArray,
    host: np.ndarray[Any, Any],
    to_device: bool,
    kind: str,
    pieces: int = 1,
    stream: Stream | None = None,
) -> Runs:
    driver = kind == "pageable_driver"
    return lambda count: _core.transfer(device, host, to_device, count, driver, pieces, stream)


def by_kernel(
    source: DeviceArray,
    target: DeviceArray,
    pieces: int = 1,
    stream: Stream | None = None,
    variant: str = "auto",
    max_blocks: int | None = None,
) -> Runs:
    """Copies by the device, of what it can reach; each piece is waited for, as on the bus."""
    values = table.parameters("copy", {"max_blocks": max_blocks})
    cuts = [source.size * i // pieces for i in range(pieces + 1)]
    parts = [slice(first, last) for first, last in itertools.pairwise(cuts)]
    prepared = [
        _core.prepare("copy", variant, (source[part],), target[part], stream, values)
        for part in parts
    ]

    wait = stream.synchronize if stream else functools.partial(_core.synchronize, target.backend)

    def run(count: int) -> None:
        for one in itertools.chain.from_iterable(itertools.repeat(prepared, count)):
            one.launch()
            wait()

    return run


class Pair:
    """Two things at once: one in this thread, one in another."""

    def __init__(self, pool: ThreadPoolExecutor, first: Runs, second: Runs) -> None:
        self.pool, self.first, self.second = pool, first, second

    def __call__(self, count: int) -> None:
        other = self.pool.submit(self.second, count)
        try:
            self.first(count)
        finally:
            other.result()
