"""What `bench distributed` times: gpumem's transposes and products, and others to compare with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import to_device
from ..families.copy import copy
from ..families.matmul import matmul as multiply
from .engine import Engine
from .memory import Memory, TensorMemory
from .moves import transpose
from .product_plan import Factor, choose
from .products import matmul
from .shared import Shared
from .sharing import Split, lengths

VARIANTS = ("into_peers", "packed", "all_to_all", "torch", "matmul", "matmul_of_one")
_RANDOM_ROWS = 1024  # rows of random numbers, which repeat


@dataclass(frozen=True)
class Contender:
    """One way to do it."""

    name: str
    variant: str
    """The same in one word, for a record; one of :data:`VARIANTS`."""
    out_bytes: int
    """What leaves each rank."""
    call: Callable[[], Any]


def contenders(
    engine: Engine, memory: Memory, side: int, variants: Sequence[str]
) -> Iterator[Contender]:
    """Yield what there is to measure of square matrices, each with its arrays in place."""
    if not {"matmul", "matmul_of_one"}.issuperset(variants):
        x = _matrix(engine, memory, side)
        yield from (one for one in _transposes(engine, x) if one.variant in variants)
        del x
    if memory.dtype == "float32":
        if "matmul" in variants:
            yield _product(engine, memory, side)
        if "matmul_of_one" in variants:
            yield _product_of_one(engine, memory, side)


def _matrix(engine: Engine, memory: Memory, side: int) -> Shared:
    """Return a square matrix whose rows are shared out, uninitialised."""
    boxes = Split(0).boxes((side, side), engine.ranks)
    local = engine.new(memory, lengths(boxes[engine.rank]))
    return Shared.of(local, (side, side), boxes, engine, memory)


# ---- transposes ---------------------------------------------------------------------------------


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


def _transposes(engine: Engine, x: Shared) -> Iterator[Contender]:
    side, ranks = x.shape[0], engine.ranks
    out = side // ranks * side * x.memory.itemsize * (ranks - 1) // ranks
    peers = engine.peers
    if peers is not None and x.memory.on_gpu:
        yield Contender("transpose, into peers", "into_peers", out, lambda: transpose(x))

    def packed() -> Any:
        engine.peers = None
        try:
            return transpose(x)
        finally:
            engine.peers = peers

    yield Contender(f"transpose, by {engine.name}", "packed", out, packed)
    exchange = _all_to_all(engine, x)
    yield Contender(f"{engine.name} all-to-all alone", "all_to_all", out, exchange)
    if isinstance(x.memory, TensorMemory):
        three = _of_torch(engine, x)
        yield Contender("PyTorch: pack, all-to-all, unpack", "torch", out, three)


# ---- products -----------------------------------------------------------------------------------


def _randomise(engine: Engine, memory: Memory, local: Any) -> None:
    """Fill an array with random numbers: a GPU multiplies zeros at a higher clock."""
    numbers = memory.numbers(local)
    rows = min(_RANDOM_ROWS, numbers.shape[0])
    if rows == 0:
        return
    random = np.random.default_rng(engine.rank).standard_normal((rows, numbers.shape[1]), "f4")
    block = to_device(random, device=numbers.device, backend=numbers.backend)
    for begin in range(0, numbers.shape[0], rows):
        into = numbers[begin : begin + rows]
        copy(block[: into.shape[0]], out=into)


def _product(engine: Engine, memory: Memory, side: int) -> Contender:
    """Return the product of two matrices whose rows are shared out."""
    x, w = (_matrix(engine, memory, side) for _ in range(2))
    for one in (x, w):
        _randomise(engine, memory, one.local)
    way = choose(Factor(x.boxes), Factor(w.boxes), x.boxes)
    out = memory.itemsize * way.received // engine.ranks
    return Contender("matmul", "matmul", out, lambda: matmul(x, w))


def _product_of_one(engine: Engine, memory: Memory, side: int) -> Contender:
    """Return the same product by rank 0 alone, which has all of both matrices."""
    name, variant = "matmul on one rank", "matmul_of_one"
    if engine.rank != 0:
        return Contender(name, variant, 0, lambda: None)
    x, w, out = (memory.new((side, side)) for _ in range(3))
    for one in (x, w):
        _randomise(engine, memory, one)
    a, b, c = (memory.numbers(one) for one in (x, w, out))
    stream = engine.stream() if memory.on_gpu else None
    return Contender(name, variant, 0, lambda: multiply(a, b, out=c, stream=stream))
