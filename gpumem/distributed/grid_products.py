"""Products of matrices that are grids of blocks (SUMMA).

A piece of the depth at a time, each rank sends its part of the piece of `x` to the ranks of its row
of the grid and its part of the piece of `w` to those of its column, and adds the product of what it
receives to its block of the result. The next piece travels meanwhile.

The idea is of R. A. van de Geijn and J. Watts, "SUMMA: Scalable Universal Matrix Multiplication
Algorithm", Concurrency: Practice and Experience 9(4), 1997.
"""

from __future__ import annotations

from typing import Any

from ..families.copy import copy
from ..families.matmul import matmul as multiply
from ..families.sgemm import sgemm
from .engine import Engine, Pending
from .memory import Buffer
from .movement import rearrange
from .overlap import overlapped
from .product_plan import Panels, Segment
from .shared import Shared
from .sharing import Shape, lengths


class _Side:
    """One factor: its pieces go to the ranks of a row or a column of the grid."""

    def __init__(self, engine: Engine, factor: Shared, panels: Panels, is_x: bool) -> None:
        self._engine, self._panels, self._is_x = engine, panels, is_x
        memory = factor.memory
        self._local = memory.numbers(factor.local)
        self._stream = engine.stream() if memory.on_gpu else None
        rows, columns = panels.way.grid
        row, column = divmod(engine.rank, columns)
        self._place = column if is_x else row
        self._line = (
            [row * columns + one for one in range(columns)]
            if is_x
            else [one * columns + column for one in range(rows)]
        )
        depth_axis = 1 if is_x else 0
        self._begin = factor.box[depth_axis][0]
        self._side = lengths(factor.box)[1 - depth_axis]
        self._widest = panels.widest[1 - depth_axis]
        self._alone = len(self._line) == 1
        sent = 0 if self._alone else max(map(self._sent_bytes, range(panels.pieces)))
        received = 4 * self._side * panels.most_depth()
        self._buffers = [
            (engine.buffer(memory, sent), engine.buffer(memory, received))
            for _ in range(min(2, panels.pieces))
        ]

    def _owner(self, segment: Segment) -> int:
        return segment.column if self._is_x else segment.row

    def _depth_from(self, place: int, piece: int) -> int:
        """Return how much of the depth of a piece comes from one rank of the line."""
        found = self._panels.segments(piece)
        return sum(one.length for one in found if self._owner(one) == place)

    def _sent_bytes(self, piece: int) -> int:
        return 4 * self._side * self._depth_from(self._place, piece) * len(self._line)

    def _pack(self, piece: int, into: Buffer) -> int:
        """Write what this rank has of a piece, the depth first; return its bytes."""
        end = 0
        for one in self._panels.segments(piece):
            if self._owner(one) != self._place or not one.length * self._side:
                continue
            shape = (one.length, self._side)
            part = into.part(end, shape, self._local)
            range_ = slice(one.begin - self._begin, one.end - self._begin)
            source = self._local[:, range_] if self._is_x else self._local[range_]
            rearrange(source, (1, 0) if self._is_x else (0, 1), part, self._stream)
            end += 4 * shape[0] * shape[1]
        return end

    def start(self, piece: int) -> Pending | None:
        """Begin to send a piece."""
        send, receive = self._buffers[piece % 2]
        if self._alone:
            self._pack(piece, receive)
            return None
        mine = self._pack(piece, send)
        for copies in range(1, len(self._line) if mine else 0):
            again = send.array[copies * mine : (copies + 1) * mine]
            copy(send.array[:mine], out=again, stream=self._stream)
        send.to_wire()
        sent, received = ([0] * self._engine.ranks for _ in range(2))
        for place, rank in enumerate(self._line):
            sent[rank] = mine
            received[rank] = 4 * self._side * self._depth_from(place, piece)
        deepest = max(self._depth_from(place, piece) for place in range(len(self._line)))
        most = 4 * self._widest * deepest * len(self._line)
        return self._engine.exchange(send, sent, receive, received, most)

    def finish(self, piece: int, pending: Pending | None) -> Any:
        """Return a piece as a matrix, the depth first."""
        receive = self._buffers[piece % 2][1]
        if pending is not None:
            pending.wait()
            receive.from_wire()
        depth = sum(one.length for one in self._panels.segments(piece))
        shape: Shape = (depth, self._side)
        return receive.part(0, shape, self._local)


class GridProduct:
    """The pieces of one product."""

    def __init__(
        self, engine: Engine, x: Shared, w: Shared, out: Any, panels: Panels, precision: str
    ) -> None:
        self._panels, self._precision = panels, precision
        self._engine = engine
        self._stream = engine.stream() if x.memory.on_gpu else None
        self._x = _Side(engine, x, panels, is_x=True)
        self._w = _Side(engine, w, panels, is_x=False)
        self._out = x.memory.numbers(out)

    def _start(self, piece: int) -> tuple[Pending | None, Pending | None]:
        return self._x.start(piece), self._w.start(piece)

    def _finish(self, piece: int, pending: tuple[Pending | None, Pending | None]) -> None:
        x, w = self._x.finish(piece, pending[0]), self._w.finish(piece, pending[1])
        out, stream, precision = self._out, self._stream, self._precision
        if not (out.shape[0] and out.shape[1]):
            return
        if piece == 0:
            multiply(x.T, w, out=out, stream=stream, precision=precision)
        else:
            sgemm(x.T, w, out, beta=1.0, out=out, stream=stream, precision=precision)

    def run(self) -> None:
        """Compute the product; a piece is multiplied while the next one travels."""
        overlapped(self._panels.pieces, self._start, self._finish)
        self._engine.settle()
