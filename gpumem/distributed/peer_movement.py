"""Runs a plan between GPUs of one host: kernels write to the other GPUs' results, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .engine import Engine
from .memory import Memory
from .movement import rearrange
from .plan import Part, Plan


class PeerMovement:
    """One movement on one rank, whose kernels write to the other GPUs' results."""

    def __init__(
        self, engine: Engine, plan: Plan, memory: Memory, source: Any, target: Any
    ) -> None:
        self._engine = engine
        self._plan = plan
        self._source = memory.view(source)
        self._target = memory.view(target)
        self._stream = engine.stream()
        self._exported: Sequence[bytes] = ()

    def exported(self) -> bytes:
        """Return what the other ranks need to write to this one's result."""
        peers = self._engine.peers
        return peers.export(self._target) if peers else b""

    def pack_first(self) -> None:
        """Move what stays on this rank, which needs no agreement, while the host does the rest."""
        part = self._plan.part(self._engine.rank, self._engine.rank)
        if part:
            self._write(part, self._target[part.target])

    def can_run(self, exported: Sequence[bytes]) -> bool:
        """Take what all ranks exported; return False if one could not."""
        self._exported = exported
        return all(one[:1] == b"\1" for one in exported)

    def run(self) -> None:
        """Move the rest, once all ranks agree and have exported their results.

        Each rank begins with the one after it, and takes one after the other, so that no GPU is
        written to by several: that was faster than to all at once, by 2 to 9 percent on four H200s.
        """
        me, ranks, engine, plan = self._engine.rank, self._engine.ranks, self._engine, self._plan
        peers = engine.peers
        assert peers is not None
        engine.follow()  # the results' memory is free on all ranks
        for rank in ((me + step) % ranks for step in range(1, ranks)):
            part = plan.part(me, rank)
            if part:
                self._write(part, peers.target(plan, rank, self._exported[rank], self._target))
        engine.fence()
        engine.settle()

    def _write(self, part: Part, into: Any) -> None:
        # One after the other: a kernel fills all multiprocessors, so that another stream waits.
        rearrange(self._source[part.source], self._plan.axes, into, self._stream)
