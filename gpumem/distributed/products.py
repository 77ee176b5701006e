"""Products of shared matrices: `matmul`.

The rows of the result lie where the rows of `x` lie, and each rank needs all of `w`. Where `w` is
shared out too, a group of its columns at a time is gathered while the group before is multiplied:
rows that follow each other in the order of the ranks are a matrix as they arrive, and each sum is
one product's, as on one device.

Where both factors are shared out along the depth, and it is less to move, the ranks add partial
sums instead (`partial_products`).
"""

from __future__ import annotations

from typing import Any

from ..base.messages import quoted
from ..families import keywords
from ..families.copy import copy as copy_array
from ..families.matmul import matmul as multiply
from .agreement import agreed
from .engine import Engine, Pending
from .memory import Buffer, Memory, memory_of
from .moves import copy
from .partial_products import PartialSums, is_less_to_move, shares_of
from .shared import Shared, check_shared
from .sharing import Shape, Split, lengths

_LEAST_COLUMNS = 512  # fewer leave a product's tiles half empty
_COLUMNS = 128  # whole tiles


def _check(x: Shared, shape: Shape, memory: Memory) -> None:
    if len(x.shape) != 2 or len(shape) != 2 or x.shape[1] != shape[0]:
        raise ValueError(f"x has shape {x.shape} and w {shape}: they are no m x k and k x n")
    for dtype in (x.memory.dtype, memory.dtype):
        if dtype != "float32":
            raise TypeError(f"products are of float32, not of {dtype}")


def _columns(engine: Engine, rows: int) -> int:
    """Return how many columns of so many rows are a piece."""
    wanted = -(-engine.piece_bytes // (4 * max(1, rows) * _COLUMNS)) * _COLUMNS
    return max(_LEAST_COLUMNS, wanted)


class _Gathered:
    """The columns of a matrix whose rows are shared out, gathered group by group."""

    def __init__(self, engine: Engine, w: Shared, counts: list[int], stream: int | None) -> None:
        self._engine, self._counts, self._stream = engine, counts, stream
        self._shape = w.shape
        self._local = w.memory.numbers(w.local)
        rows = max(1, w.shape[0])
        self._step = _columns(engine, rows)
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


def matmul(x: Shared, w: Any, *, precision: str = "highest") -> Shared:
    """Multiply a matrix whose rows are shared out by another: ``x @ w``.

    Every rank of the group has to call it.

    Parameters
    ----------
    x : Shared, shape (m, k), float32
        The first factor. If its columns are shared out as the rows of `w` are, each rank multiplies
        what it has, and partial sums are added in the order of the ranks, where that moves less.
        Otherwise, if it is not its rows that are shared out, it is copied.
    w : Shared, ndarray, DeviceArray or torch.Tensor, shape (k, n), float32
        The second factor: shared out, or the same whole matrix on each rank, of the same kind as
        the parts of `x`.
    precision : {"highest", "high"}, optional
        As of :func:`gpumem.matmul`.

    Returns
    -------
    Shared, shape (m, n), float32
        The product; its rows are shared out as those of `x`, or evenly if `x` is shared otherwise.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong.
    RankError
        If that happened on another rank, other ranks were called with other arguments, or the
        engine failed.
    """
    engine = check_shared(x, "x").engine
    here = isinstance(w, Shared) and not w.replicated

    def prepare() -> tuple[str, tuple[Shape, Memory]]:
        memory = w.memory if isinstance(w, Shared) else memory_of(w, "w")
        shape = tuple(w.shape)
        _check(x, shape, memory)
        keywords.precision(precision)
        if type(memory) is not type(x.memory) or memory.on_gpu != x.memory.on_gpu:
            raise TypeError(f"w is {quoted(memory)}, but the parts of x are {quoted(x.memory)}")
        if isinstance(w, Shared) and w.engine is not engine:
            raise ValueError("w is shared out over other ranks than x")
        how = f"shared as {w.boxes}" if here else "whole"
        return f"matmul of {x.shape} and {shape} {how} in precision {precision}", (shape, memory)

    agreement, (shape, memory) = agreed(engine, prepare)
    agreement.check()
    if here and is_less_to_move(x, w):
        return _add_partial_sums(engine, x, w, precision)
    if shares_of(x, 0) is None:
        x = copy(x)
    if here and shares_of(w, 0) is None:
        w = copy(w)
    out = memory.new((x.box[0][1] - x.box[0][0], shape[1]))
    _multiply(engine, x, w if here else _whole(w), out, precision)
    boxes = Split(0, shares_of(x, 0)).boxes((x.shape[0], shape[1]), engine.ranks)
    return Shared.of(out, (x.shape[0], shape[1]), boxes, engine, memory)


def _add_partial_sums(engine: Engine, x: Shared, w: Shared, precision: str) -> Shared:
    shape = (x.shape[0], w.shape[1])
    boxes = Split(0).boxes(shape, engine.ranks)
    out = x.memory.new(lengths(boxes[engine.rank]))
    PartialSums(engine, x, w, out, _columns(engine, shape[0]), precision).run()
    return Shared.of(out, shape, boxes, engine, x.memory)


def _whole(w: Any) -> Any:
    return w.local if isinstance(w, Shared) else w


def _multiply(engine: Engine, x: Shared, w: Any, out: Any, precision: str) -> None:
    memory = x.memory
    stream = engine.stream() if memory.on_gpu else None
    factor, result = memory.numbers(x.local), memory.numbers(out)
    if not isinstance(w, Shared):
        whole = memory.numbers(w)
        multiply(factor, whole, out=result, stream=stream, precision=precision)
        return
    gathered = _Gathered(engine, w, shares_of(w, 0) or [], stream)
    started = gathered.start(0) if gathered.groups() else None
    for group in range(gathered.groups()):
        following = gathered.start(group + 1) if group + 1 < gathered.groups() else None
        assert started is not None
        matrix = gathered.finish(group, started)
        columns = gathered.columns(group)
        multiply(factor, matrix, out=result[:, columns], stream=stream, precision=precision)
        started = following
