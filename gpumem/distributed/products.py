"""Products of shared matrices: `matmul`.

`product_plan` says which ways there are, and which of them moves least. Here is the one by rows:
each rank needs all of `w`. Where `w` is shared out, a group of its columns at a time is gathered
while the group before is multiplied: rows that follow each other in the order of the ranks are a
matrix as they arrive, and each sum is one product's, as on one device.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

from .. import _core
from ..base.messages import quoted
from ..families import keywords
from ..families.copy import copy as copy_array
from ..families.matmul import matmul as multiply
from .agreement import agreed
from .engine import Engine, Pending
from .grid_products import GridProduct
from .memory import Buffer, Memory, memory_of
from .moves import checked_target, copy
from .overlap import overlapped
from .partial_products import PartialSums
from .product_plan import Boxes, Factor, Panels, Way, choose, shares_of, usual_result
from .shared import Shared, check_shared
from .sharing import Given, Shape, Sharing, Whole, lengths, whole

_LEAST_COLUMNS = 512  # fewer leave a product's tiles half empty
_SIDE = 128  # of a tile
_MOST = 2.5  # times the usual piece
_FORMAT = "<i"  # of a rank's multiprocessors, which it tells the others


def _check_factors(x: Shared, shape: Shape, memory: Memory) -> None:
    if len(x.shape) != 2 or len(shape) != 2 or x.shape[1] != shape[0]:
        raise ValueError(f"x has shape {x.shape} and w {shape}: they are no m x k and k x n")
    for dtype in (x.memory.dtype, memory.dtype):
        if dtype != "float32":
            raise TypeError(f"products are of float32, not of {dtype}")


def _columns(engine: Engine, rows: int) -> int:
    """Return how many columns of so many rows are a piece."""
    wanted = -(-engine.piece_bytes // (4 * max(1, rows) * _SIDE)) * _SIDE
    return max(_LEAST_COLUMNS, wanted)


def filled(columns: int, rows: int, multiprocessors: int) -> int:
    """Return a few more columns, so that tiles of a product fill all multiprocessors.

    The last tiles that are computed at once may be fewer than there are multiprocessors.

    Parameters
    ----------
    columns : int
        Of the product, at least.
    rows : int
        Of the product.
    multiprocessors : int
        Of the device.
    """
    down, least = -(-rows // _SIDE), columns // _SIDE

    def used(across: int) -> float:
        tiles = down * across
        return tiles / (-(-tiles // multiprocessors) * multiprocessors)

    if multiprocessors == 0 or down * least < multiprocessors:
        return columns
    return _SIDE * max(range(least, int(_MOST * least) + 1), key=used)


@lru_cache
def _multiprocessors_of(backend: str, device: int) -> int:
    found: int = _core.backend_info(backend)["devices"][device]["multiprocessors"]
    return found


def _multiprocessors(x: Shared) -> int:
    """Return those of the device that this rank's part is on; 0 on the host."""
    array = x.memory.view(x.local)
    is_host = not isinstance(array, _core.DeviceArray)
    return 0 if is_host else _multiprocessors_of(array.backend, array.device)


class _Gathered:
    """The columns of a matrix whose rows are shared out, gathered group by group."""

    def __init__(
        self, engine: Engine, w: Shared, counts: list[int], step: int, stream: int | None
    ) -> None:
        self._engine, self._counts, self._step, self._stream = engine, counts, step, stream
        self._shape = w.shape
        self._local = w.memory.numbers(w.local)
        rows = max(1, w.shape[0])
        width = min(self._step, w.shape[1])
        self._buffers = [
            (
                engine.buffer(w.memory, counts[engine.rank] * width * 4),
                engine.buffer(w.memory, rows * width * 4),
            )
            for _ in range(min(2, self.groups()))
        ]

    def groups(self) -> int:
        """Return the number of groups."""
        return -(-self._shape[1] // self._step)

    def columns(self, group: int) -> slice:
        """Return the columns of a group."""
        return slice(group * self._step, min((group + 1) * self._step, self._shape[1]))

    def start(self, group: int) -> tuple[Pending, Buffer]:
        """Begin to gather a group."""
        send, receive = self._buffers[group % 2]
        columns = self.columns(group)
        width = columns.stop - columns.start
        mine = (self._counts[self._engine.rank], width)
        if mine[0]:
            packed = send.part(0, mine, self._local)
            copy_array(self._local[:, columns], out=packed, stream=self._stream)
        send.to_wire()
        received = [4 * count * width for count in self._counts]
        return self._engine.spread(send, receive, received), receive

    def finish(self, group: int, started: tuple[Pending, Buffer]) -> Any:
        """Return a group as a matrix."""
        pending, receive = started
        pending.wait()
        receive.from_wire()
        columns = self.columns(group)
        return receive.part(0, (self._shape[0], columns.stop - columns.start), self._local)


def matmul(x: Shared, w: Any, *, to: Sharing | None = None, precision: str = "highest") -> Shared:
    """Multiply shared matrices: ``x @ w``.

    Every rank of the group has to call it.

    Parameters
    ----------
    x : Shared, shape (m, k), float32
        The first factor.
    w : Shared, ndarray, DeviceArray or torch.Tensor, shape (k, n), float32
        The second factor: shared out, or the same whole matrix on each rank, of the same kind as
        the parts of `x`.
    to : Sharing, optional
        How the product is shared out; see :func:`permute`. By default its rows, like those of `x`,
        or evenly if `x` is shared out otherwise.
    precision : {"highest", "high"}, optional
        As of :func:`gpumem.matmul`.

    Returns
    -------
    Shared, shape (m, n), float32
        The product.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    RankError
        If that happened on another rank, other ranks were called with other arguments, or the
        engine failed.

    Notes
    -----
    There are three ways, and the shapes and sharings decide which one moves least, copies of the
    factors and of the product included. *Rows*: each rank gathers all of `w`, some columns at a
    time. *Sums*: each rank multiplies what it has of the depth, and partial sums are added in the
    order of the ranks. *Grid*: factors and product are blocks, and pieces of the depth go along the
    rows and columns of the grid. In all of them one piece travels while another one is multiplied,
    so that no rank has to hold more than some pieces. A sum is rounded as its way adds it up.
    """
    engine = check_shared(x, "x").engine

    def prepare() -> tuple[str, tuple[Shared, Boxes]]:
        memory = w.memory if isinstance(w, Shared) else memory_of(w, "w")
        shape = tuple(w.shape)
        _check_factors(x, shape, memory)
        keywords.precision(precision)
        if type(memory) is not type(x.memory) or memory.on_gpu != x.memory.on_gpu:
            raise TypeError(f"w is {quoted(memory)}, but the parts of x are {quoted(x.memory)}")
        if isinstance(w, Shared) and w.engine is not engine:
            raise ValueError("w is shared out over other ranks than x")
        other = w if isinstance(w, Shared) else _replicated(w, shape, engine, memory)
        wanted = usual_result(_factor(x), shape[1])
        if to is not None:
            wanted = checked_target(to).boxes((x.shape[0], shape[1]), engine.ranks)
        how = "whole" if other.replicated else f"shared as {other.boxes}"
        text = f"matmul of {x.shape} and {shape} {how} in precision {precision} to {to}"
        return text, (other, wanted)

    agreement, (other, wanted) = agreed(
        engine, prepare, extra=lambda _: struct.pack(_FORMAT, _multiprocessors(x))
    )
    agreement.check()
    fewest = min(struct.unpack_from(_FORMAT, one)[0] for one in agreement.extras)
    way = choose(_factor(x), _factor(other), wanted)
    product = _product(
        engine, _shared_as(x, way.x), _shared_as(other, way.w), way, precision, fewest
    )
    if product.boxes != wanted and to is not None:
        return copy(product, to=to)
    product = _shared_as(product, wanted)
    product.replicated = isinstance(to, Whole)
    return product


def _factor(x: Shared) -> Factor:
    return Factor(x.boxes, x.replicated)


def _replicated(w: Any, shape: Shape, engine: Engine, memory: Memory) -> Shared:
    return Shared.of(w, shape, (whole(shape),) * engine.ranks, engine, memory, True)


def _shared_as(x: Shared, boxes: Boxes) -> Shared:
    return x if x.boxes == boxes else copy(x, to=Given(boxes))


def _product(
    engine: Engine, x: Shared, w: Shared, way: Way, precision: str, multiprocessors: int
) -> Shared:
    """Multiply factors that are shared out as one way needs them."""
    shape = (x.shape[0], w.shape[1])
    out = x.memory.new(lengths(way.out[engine.rank]))
    if way.name == "sums":
        rows = shares_of(way.out, shape, 0)
        assert rows is not None
        PartialSums(engine, x, w, out, rows, _columns(engine, shape[0]), precision).run()
    elif way.name == "grid":
        GridProduct(engine, x, w, out, Panels(way, engine.piece_bytes), precision).run()
    else:
        longest = max(lengths(box)[0] for box in way.out)
        step = filled(_columns(engine, w.shape[0]), longest, multiprocessors)
        _multiply_rows(engine, x, w, out, step, precision)
    return Shared.of(out, shape, way.out, engine, x.memory)


def _multiply_rows(
    engine: Engine, x: Shared, w: Shared, out: Any, step: int, precision: str
) -> None:
    memory = x.memory
    stream = engine.stream() if memory.on_gpu else None
    factor, result = memory.numbers(x.local), memory.numbers(out)
    if w.replicated or engine.ranks == 1:
        matrix = memory.numbers(w.local)
        multiply(factor, matrix, out=result, stream=stream, precision=precision)
    else:
        counts = shares_of(w.boxes, w.shape, 0)
        assert counts is not None
        gathered = _Gathered(engine, w, counts, step, stream)

        def finish(group: int, started: tuple[Pending, Buffer]) -> None:
            matrix = gathered.finish(group, started)
            columns = result[:, gathered.columns(group)]
            multiply(factor, matrix, out=columns, stream=stream, precision=precision)

        overlapped(gathered.groups(), gathered.start, finish)
    engine.settle()
