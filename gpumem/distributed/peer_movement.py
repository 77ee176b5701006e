"""Runs a plan between GPUs of one host: kernels write to the other GPUs' results, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .engine import Engine
from .memory import Memory
from .movement import rearrange
from .peers import shaped
from .plan import Part, Plan
from .sharing import lengths


class PeerMovement:
    """One movement on one rank, whose kernels write to the other GPUs' results."""

    def __init__(
        self, engine: Engine, plan: Plan, memory: Memory, source: Any, target: Any
    ) -> None:
        self._engine = engine
        self._plan = plan
        self._source = memory.view(source)
        self._target = memory.view(target)
        self._exported: Sequence[bytes] = ()

    def exported(self) -> bytes:
        """Return what the other ranks need to write to this one's result."""
        peers = self._engine.peers
        return peers.export(self._target) if peers else b""

    def pack_first(self) -> None:
        """Move what stays on this rank, which needs no agreement, while the ranks agree."""
        me = self._engine.rank
        part = self._plan.part(me, me)
        if part:
            self._write(part, self._target)

    def can_run(self, exported: Sequence[bytes]) -> bool:
        """Take what all ranks exported; return False if one could not."""
        self._exported = exported
        return all(one[:1] == b"\1" for one in exported)

    def run(self) -> None:
        """Move the rest, once all ranks agree and have exported their results.

        The agreement was a fence: the results' memory is free on all ranks. Each rank begins with
        the one after it, so that no GPU is written to by all at once.
        """
        me, ranks = self._engine.rank, self._engine.ranks
        for step in range(1, ranks):
            rank = (me + step) % ranks
            part = self._plan.part(me, rank)
            if part:
                self._write(part, self._opened(rank))
        self._engine.fence()
        self._engine.settle()

    def _write(self, part: Part, result: Any) -> None:
        source, into = self._source[part.source], result[part.target]
        rearrange(source, self._plan.axes, into, self._engine.stream())

    def _opened(self, rank: int) -> Any:
        assert self._engine.peers is not None
        flat = self._engine.peers.open(rank, self._exported[rank], self._target.device)
        assert flat is not None  # it is not empty: a part goes there
        return shaped(flat, lengths(self._plan.targets[rank]), self._target.dtype)
