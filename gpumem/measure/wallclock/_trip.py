"""One round trip, and the floor below it: both of its transfers and nothing else."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from . import _jobs, _ways
from ._bytes import POISON, compare, random_bytes
from ._callers import ASK
from ._contender import timed

if TYPE_CHECKING:
    from ._contender import Checked

_ONE_PIECE = 2**62  # bytes: the chunk that cuts nothing


@contextmanager
def _uncut() -> Iterator[None]:
    before = _core.set_chunk(_ONE_PIECE)
    try:
        yield
    finally:
        _core.set_chunk(before)


def trip(
    job: str, by: str, inputs: Sequence[np.ndarray[Any, Any]], out: Any, backend: str
) -> Checked:
    ask = functools.partial(ASK[by], job, backend, inputs, out)
    cut = _uncut if by == "one_piece" else nullcontext

    def run(count: int) -> float:
        with cut():
            begin = time.perf_counter()
            for _ in range(count):
                ask()
            return time.perf_counter() - begin

    def check() -> None:
        if out is not None:
            out.fill(np.nan)
        with cut():
            got = ask()
        _jobs.check(job, got, inputs)
        # The next result may be given the same memory, and must not find this one in it.
        got.fill(np.nan)

    return run, check


def floor(job: str, shape: tuple[int, ...], backend: str, pool: ThreadPoolExecutor) -> Checked:
    """Both transfers of a job at once, from and to pinned memory, and nothing else."""
    in_bytes, out_bytes, _ = _jobs.work(job, shape)
    hosts = [
        _core.empty((size,), "uint8", kind="pinned", backend=backend)
        for size in (in_bytes, out_bytes)
    ]
    data, result = random_bytes(in_bytes), random_bytes(out_bytes)
    hosts[0][...], hosts[1][...] = data, POISON
    source = _core.to_device(result, backend=backend)
    target = _core.DeviceArray((in_bytes,), "uint8", backend=backend)
    streams = [_core.Stream(backend=backend) for _ in hosts]
    run = timed(
        _ways.Pair(
            pool,
            _ways.by_bus(target, hosts[0], True, "pinned", stream=streams[0]),
            _ways.by_bus(source, hosts[1], False, "pinned", stream=streams[1]),
        )
    )

    def check() -> None:
        target.fill_bytes(POISON)
        _core.synchronize(backend)
        run(1)
        compare(target, data)
        compare(hosts[1], result)

    return run, check
