"""Times of shared transposes and products beside what they are compared with (`contenders`).

A call, or a row of calls, starts when all ranks are ready, and takes as long as the slowest rank.
"""

from __future__ import annotations

import statistics
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .._core import DeviceArray, synchronize
from ..base.record import NO_TIMES, SINGLE, STREAM, Record
from ..base.result import BenchResult
from ..base.result_json import rounded
from ..machine.device import open_device
from ..machine.provenance import provenance
from .contenders import VARIANTS, contenders
from .engine import MESSAGE, Engine
from .memory import DeviceMemory, Memory, TensorMemory

WARM_UP = 3
_ROW = 8  # calls that follow each other; fewer if they take long
_LONG = 0.1  # seconds of a row


@dataclass(frozen=True)
class Timed:
    """One contender at one size."""

    name: str
    variant: str
    """The same in one word, for a record."""
    rows: int
    columns: int
    dtype: str
    out_bytes: int
    """What leaves each rank."""
    milliseconds: float
    least: float
    order: str = SINGLE
    """Whether calls were alone ("single") or followed each other ("stream")."""

    @property
    def gbps(self) -> float:
        """GB/s out of each rank."""
        return self.out_bytes / self.milliseconds / 1e6 if self.milliseconds else 0.0


def result_of(found: list[Timed], engine: Engine, backend: str, count: int) -> BenchResult:
    """Return what was measured as a result that can be saved; its times are of rank 0's device."""
    has_clock = backend == "cuda"
    records = []
    for one in found:
        times = {
            "median_ms": rounded(one.milliseconds),
            "min_ms": rounded(one.least),
            "gbps": rounded(one.gbps),
            "samples": count,
        }
        record = Record(
            family="distributed",
            variant=one.variant,
            backend=backend,
            shape=(one.rows, one.columns),
            dtype=one.dtype,
            parameters={"ranks": engine.ranks, "engine": engine.name},
            bytes=one.out_bytes,
            order=one.order,
            **(times if has_clock else {"reason": NO_TIMES}),
        )
        records.append(record.to_dict())
    where = provenance(open_device(backend))
    where["settings"] = {"samples": count, "warm_up": WARM_UP, "bytes": "out of each rank"}
    return BenchResult(records, where)


def memory_for(engine: Engine, dtype: str, backend: str) -> Memory:
    """Return the memory to measure in: tensors on GPUs with torch, else DeviceArrays."""
    import numpy as np

    if engine.name == "mpi" or backend == "sim":
        array = DeviceArray(0, dtype, backend=backend)
        return DeviceMemory(np.dtype(dtype), backend, array.device)
    torch = sys.modules["torch"]
    device = torch.device("cuda", torch.cuda.current_device())
    return TensorMemory(getattr(torch, dtype), device)


def _slowest(engine: Engine, seconds: float) -> float:
    told = engine.tell(struct.pack("<d", seconds).ljust(MESSAGE, b"\0")).wait()
    return max(float(struct.unpack("<d", one[:8])[0]) for one in told)


def _samples(
    engine: Engine, backend: str, call: Callable[[], Any], count: int, order: str
) -> list[float]:
    """Return `count` times of a call in milliseconds, after some that warm up.

    In a row, the host may be ahead of the device: what it does before each call is hidden then.
    """
    found: list[float] = []
    calls = 1
    for sample in range(-WARM_UP, count):
        engine.barrier()
        begin = time.perf_counter()
        for _ in range(calls):
            kept = call()
        synchronize(backend)
        seconds = _slowest(engine, time.perf_counter() - begin) / calls
        del kept
        if sample >= 0:
            found.append(1e3 * seconds)
        elif order == STREAM:  # the same number on all ranks
            calls = min(_ROW, max(2, int(_LONG / seconds))) if seconds else _ROW
    return found


def measure(
    engine: Engine,
    backend: str,
    side: int,
    dtype: str,
    count: int,
    variants: Sequence[str] | None = None,
    orders: Sequence[str] = (SINGLE,),
) -> list[Timed]:
    """Time the transposes and the products of square matrices, which all ranks make.

    Parameters
    ----------
    engine : Engine
        The ranks.
    backend : {"cuda", "sim"}
        Where parts are.
    side : int
        Rows and columns of the matrices; rounded up to a multiple of the number of ranks.
    dtype : str
        Of the elements; there are products of float32 alone.
    count : int
        Samples per contender.
    variants : sequence of str, optional
        Only these contenders, by the names in :data:`~gpumem.distributed.contenders.VARIANTS`.
    orders : sequence of {"single", "stream"}, optional
        Calls alone, or calls that follow each other.
    """
    memory = memory_for(engine, dtype, backend)
    side = -(-side // engine.ranks) * engine.ranks
    found = []
    for one in contenders(engine, memory, side, variants or VARIANTS):
        for order in orders:
            times = _samples(engine, backend, one.call, count, order)
            middle, least = statistics.median(times), min(times)
            what = one.name, one.variant, side, side, dtype, one.out_bytes
            found.append(Timed(*what, middle, least, order))
    return found
