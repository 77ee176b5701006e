"""Times of shared transposes beside the engine's all-to-all and PyTorch's own way.

Every call starts when all ranks are ready, and takes as long as the slowest rank.
"""

from __future__ import annotations

import statistics
import struct
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .._core import DeviceArray, synchronize
from ..base.record import NO_TIMES, Record
from ..base.result import BenchResult
from ..base.result_json import rounded
from ..machine.device import open_device
from ..machine.provenance import provenance
from .engine import MESSAGE, Engine
from .memory import DeviceMemory, Memory, TensorMemory
from .moves import transpose
from .shared import Shared
from .sharing import Split, lengths

WARM_UP = 3


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


def _samples(engine: Engine, backend: str, call: Callable[[], Any], count: int) -> list[float]:
    """Return the milliseconds of `count` calls, after some that warm up."""
    found = []
    for sample in range(-WARM_UP, count):
        engine.barrier()
        begin = time.perf_counter()
        kept = call()
        synchronize(backend)
        seconds = _slowest(engine, time.perf_counter() - begin)
        del kept
        if sample >= 0:
            found.append(1e3 * seconds)
    return found


def _all_to_all(engine: Engine, x: Shared) -> Callable[[], Any]:
    """Return the engine's exchange of as many bytes, without packing."""
    nbytes = x.shape[0] // engine.ranks * x.shape[1] * x.memory.itemsize
    share = nbytes // engine.ranks
    counts = [share] * engine.ranks
    send = engine.buffer(x.memory, share * engine.ranks)
    receive = engine.buffer(x.memory, share * engine.ranks)

    def call() -> None:
        send.to_wire()
        engine.exchange(send, counts, receive, counts, share * engine.ranks).wait()
        receive.from_wire()

    return call


def _of_torch(engine: Engine, x: Shared) -> Callable[[], Any]:
    """Return how users of PyTorch write it: pack, all_to_all_single, unpack."""
    torch = sys.modules["torch"]
    dist, ranks = torch.distributed, engine.ranks
    rows, columns = x.shape[0] // ranks, x.shape[1] // ranks

    def call() -> Any:
        packed = x.local.view(rows, ranks, columns).permute(1, 2, 0).contiguous()
        received = torch.empty_like(packed)
        dist.all_to_all_single(received, packed)
        return received.permute(1, 0, 2).reshape(columns, ranks * rows)

    return call


def _contenders(engine: Engine, x: Shared) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    if engine.peers is not None and x.memory.on_gpu:
        yield "transpose, into peers", "into_peers", lambda: transpose(x)
    peers = engine.peers

    def packed() -> Any:
        engine.peers = None
        try:
            return transpose(x)
        finally:
            engine.peers = peers

    yield f"transpose, by {engine.name}", "packed", packed
    yield f"{engine.name} all-to-all alone", "all_to_all", _all_to_all(engine, x)
    if isinstance(x.memory, TensorMemory):
        yield "PyTorch: pack, all-to-all, unpack", "torch", _of_torch(engine, x)


def measure(engine: Engine, backend: str, side: int, dtype: str, count: int) -> list[Timed]:
    """Time the transposes of one square matrix, which all ranks make and share out.

    Parameters
    ----------
    engine : Engine
        The ranks.
    backend : {"cuda", "sim"}
        Where parts are.
    side : int
        Rows and columns of the matrix; rounded up to a multiple of the number of ranks.
    dtype : str
        Of the elements.
    count : int
        Samples per contender.
    """
    memory = memory_for(engine, dtype, backend)
    side = -(-side // engine.ranks) * engine.ranks
    shape = (side, side)
    boxes = Split(0).boxes(shape, engine.ranks)
    local = engine.new(memory, lengths(boxes[engine.rank]))
    x = Shared.of(local, shape, boxes, engine, memory)
    out = side // engine.ranks * side * memory.itemsize * (engine.ranks - 1) // engine.ranks
    found = []
    for name, variant, call in _contenders(engine, x):
        times = _samples(engine, backend, call, count)
        middle, least = statistics.median(times), min(times)
        found.append(Timed(name, variant, side, side, dtype, out, middle, least))
    return found
