"""Runs a plan: packing, the engine's exchange and unpacking overlap piece by piece.

A piece is packed by gpumem's kernels, which permute the axes on the way, so that unpacking only
copies. While one piece is exchanged the next one is packed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..families.copy import copy
from ..families.permute import permute
from ..families.transpose import transpose
from .engine import Engine, Pending
from .memory import Buffer, Memory, flat_bytes, is_contiguous
from .overlap import overlapped
from .plan import Part, Plan

_SETS = 2  # of buffers: one is exchanged, the other is packed or unpacked


def rearrange(source: Any, axes: Sequence[int], out: Any, stream: int | None) -> None:
    """Write an array with its axes permuted into another."""
    ndim = len(axes)
    if tuple(axes) == tuple(range(ndim)):
        copy(source, out=out, stream=stream)
    elif tuple(axes) == (*range(ndim - 2), ndim - 1, ndim - 2) and is_contiguous(out):
        transpose(source, out=out, stream=stream)
    else:
        permute(source, axes, out=out, stream=stream)


@dataclass
class _Exchange:
    """One piece, as this rank sees it."""

    sent: list[Part | None]
    received: list[Part | None]
    send: Buffer
    receive: Buffer
    pending: Pending | None = None


class Movement:
    """One movement on one rank, ready to start: its memory is allocated."""

    def __init__(
        self, engine: Engine, plan: Plan, memory: Memory, source: Any, target: Any
    ) -> None:
        self._engine = engine
        self._plan = plan
        self._source = memory.view(source)
        self._target = memory.view(target)
        self._stream = engine.stream() if memory.on_gpu else None
        self._exchanges = plan.pieces if plan.travels else 0
        self._all = False  # does the engine also move what stays on this rank?
        self._first: _Exchange | None = None
        self._buffers = self._allocate(memory) if self._exchanges else []

    # ---- memory ---------------------------------------------------------------------------------

    def _allocate(self, memory: Memory) -> list[tuple[Buffer, Buffer]]:
        """Return pairs of buffers, to send from and to receive into.

        Where all that a rank sends or receives follows each other in its own array, that array is
        the buffer. The others see the same bytes, so that each rank decides it for itself.
        """
        sends, receives = self._in_place()
        self._all = sends or receives
        source, target = self._source, self._target
        send = self._engine.over(memory, flat_bytes(source)) if sends else None
        receive = self._engine.over(memory, flat_bytes(target)) if receives else None
        pieces = range(self._exchanges)
        outgoing = max(sum(self._counts(self._sent(piece))) for piece in pieces)
        incoming = max(sum(self._counts(self._received(piece))) for piece in pieces)
        return [
            (
                send or self._engine.buffer(memory, outgoing),
                receive or self._engine.buffer(memory, incoming),
            )
            for _ in range(min(_SETS, self._exchanges))
        ]

    def _in_place(self) -> tuple[bool, bool]:
        """Return whether all can be sent from the source, and received into the target."""
        if self._exchanges != 1:
            return False, False
        me, ranks, part = self._engine.rank, range(self._engine.ranks), self._plan.part
        sent = [found.source for r in ranks if (found := part(me, r, 0))]
        received = [found.target for r in ranks if (found := part(r, me, 0))]
        in_order = self._plan.axes == tuple(range(len(self._plan.axes)))
        return (
            bool(sent and in_order and is_contiguous(self._source))
            and _fill(sent, self._source.shape),
            bool(received and is_contiguous(self._target)) and _fill(received, self._target.shape),
        )

    # ---- parts ----------------------------------------------------------------------------------

    def _sent(self, piece: int) -> list[Part | None]:
        """Return what the engine takes to each rank."""
        me, ranks = self._engine.rank, range(self._engine.ranks)
        return [self._plan.part(me, r, piece) if self._all or r != me else None for r in ranks]

    def _received(self, piece: int) -> list[Part | None]:
        """Return what the engine brings from each rank."""
        me, ranks = self._engine.rank, range(self._engine.ranks)
        return [self._plan.part(r, me, piece) if self._all or r != me else None for r in ranks]

    def _counts(self, parts: list[Part | None]) -> list[int]:
        return [part.elements * self._plan.itemsize if part else 0 for part in parts]

    # ---- the run --------------------------------------------------------------------------------

    def _pack(self, piece: int) -> _Exchange:
        send, receive = self._buffers[piece % _SETS]
        one = _Exchange(self._sent(piece), self._received(piece), send, receive)
        if send.in_place:
            return one
        begin = 0
        for part, count in zip(one.sent, self._counts(one.sent), strict=True):
            if part:
                into = send.part(begin, part.shape, self._source)
                rearrange(self._source[part.source], self._plan.axes, into, self._stream)
            begin += count
        return one

    def _start(self, piece: int) -> _Exchange:
        one = (self._first if piece == 0 else None) or self._pack(piece)
        one.send.to_wire()
        one.pending = self._engine.exchange(
            one.send,
            self._counts(one.sent),
            one.receive,
            self._counts(one.received),
            self._plan.most(),
        )
        return one

    def _unpack(self, _piece: int, one: _Exchange) -> None:
        if one.pending is not None:
            one.pending.wait()
        if any(one.received):
            one.receive.from_wire()
        if one.receive.in_place:
            return
        begin = 0
        for part, count in zip(one.received, self._counts(one.received), strict=True):
            if part:
                received = one.receive.part(begin, part.shape, self._target)
                copy(received, out=self._target[part.target], stream=self._stream)
            begin += count

    def _keep(self) -> None:
        """Move what stays on this rank."""
        if self._all:
            return
        me = self._engine.rank
        for piece in range(self._plan.pieces):
            part = self._plan.part(me, me, piece)
            if part:
                source, target = self._source[part.source], self._target[part.target]
                rearrange(source, self._plan.axes, target, self._stream)

    def exported(self) -> bytes:
        """Return nothing: the other ranks do not write to this one's memory."""
        return b""

    def pack_first(self) -> None:
        """Pack the first piece, which needs no agreement."""
        if self._exchanges:
            self._first = self._pack(0)

    def run(self) -> None:
        """Move everything, once all ranks agree."""
        if not self._exchanges:
            self._keep()
            return
        overlapped(self._exchanges, self._start, self._unpack, meanwhile=self._keep)
        self._engine.settle()


def _fill(parts: list[tuple[slice, ...]], shape: tuple[int, ...]) -> bool:
    """Return whether parts fill an array in the order of its memory, one behind the other."""
    position = 0
    for part in parts:
        counts = [one.stop - one.start for one in part]
        outer = next((d for d, n in enumerate(counts) if n > 1), len(counts))
        if any(counts[d] != shape[d] for d in range(outer + 1, len(shape))):
            return False  # not one run
        begin = 0
        for one, length in zip(part, shape, strict=True):
            begin = begin * length + one.start
        if begin != position:
            return False
        position += math.prod(counts)
    return position == math.prod(shape)
