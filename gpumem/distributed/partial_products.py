"""Products whose depth is shared out: each rank multiplies its share, and partial sums are added.

A rank's share of the depth gives a partial sum of every element of the result. A group of columns
at a time, each rank sends the rows of its partial sums to the ranks that hold those rows in the
result, and adds what it receives in the order of the ranks.
"""

from __future__ import annotations

from typing import Any

from ..families.add import add
from ..families.matmul import matmul as multiply
from .engine import Engine, Pending
from .memory import Buffer, Memory
from .overlap import overlapped
from .shared import Shared


class PartialSums:
    """The groups of columns of one product."""

    def __init__(
        self,
        engine: Engine,
        x: Shared,
        w: Shared,
        out: Any,
        rows: list[int],
        step: int,
        precision: str,
    ) -> None:
        self._engine, self._precision, self._step = engine, precision, step
        memory = x.memory
        self._stream = engine.stream() if memory.on_gpu else None
        self._factors = memory.numbers(x.local), memory.numbers(w.local)
        self._out = memory.numbers(out)
        self._m, self._n = x.shape[0], w.shape[1]
        self._rows = rows  # of the result, on each rank
        self._buffers = self._allocate(memory)
        self._sums = [self._temporary(memory) for _ in range(min(2, engine.ranks - 2))]

    def _width(self) -> int:
        return min(self._step, self._n)

    def _allocate(self, memory: Memory) -> list[tuple[Buffer, Buffer]]:
        mine = self._rows[self._engine.rank]
        sent = 4 * self._m * self._width()
        received = 4 * self._engine.ranks * mine * self._width()
        return [
            (self._engine.buffer(memory, sent), self._engine.buffer(memory, received))
            for _ in range(min(2, self.groups()))
        ]

    def _temporary(self, memory: Memory) -> Buffer:
        return self._engine.buffer(memory, 4 * self._rows[self._engine.rank] * self._width())

    def groups(self) -> int:
        """Return the number of groups."""
        return -(-self._n // self._step)

    def _columns(self, group: int) -> slice:
        return slice(group * self._step, min((group + 1) * self._step, self._n))

    def _start(self, group: int) -> Pending:
        """Multiply this rank's share for a group, and begin to send it."""
        send, receive = self._buffers[group % 2]
        columns = self._columns(group)
        width, mine = columns.stop - columns.start, self._rows[self._engine.rank]
        x, w = self._factors
        if self._m:
            partial = send.part(0, (self._m, width), self._out)
            multiply(x, w[:, columns], out=partial, stream=self._stream, precision=self._precision)
        send.to_wire()
        sent = [4 * rows * width for rows in self._rows]
        received = [4 * mine * width] * self._engine.ranks
        most = 4 * width * self._engine.ranks * max(self._rows)
        return self._engine.exchange(send, sent, receive, received, most)

    def _finish(self, group: int, pending: Pending) -> None:
        """Add what all ranks sent for a group, in their order."""
        receive = self._buffers[group % 2][1]
        pending.wait()
        receive.from_wire()
        columns = self._columns(group)
        shape = (self._rows[self._engine.rank], columns.stop - columns.start)
        if not shape[0]:
            return
        each, ranks = 4 * shape[0] * shape[1], self._engine.ranks
        total = receive.part(0, shape, self._out)
        for rank in range(1, ranks):
            last = rank == ranks - 1
            into = (
                self._out[:, columns]
                if last
                else self._sums[(rank - 1) % 2].part(0, shape, self._out)
            )
            add(total, receive.part(rank * each, shape, self._out), out=into, stream=self._stream)
            total = into

    def run(self) -> None:
        """Compute the product; a group is multiplied while the one before is exchanged."""
        overlapped(self.groups(), self._start, self._finish)
        self._engine.settle()
