"""Runs a plan between GPUs of one host: kernels write to the other GPUs' results, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .engine import Engine
from .memory import Memory
from .movement import rearrange
from .peers import shaped
from .plan import Plan
from .sharing import lengths

_LANES = 4  # streams, so that one kernel begins while the last blocks of another one run


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
        self._lanes: Sequence[int] = ()

    def exported(self) -> bytes:
        """Return what the other ranks need to write to this one's result."""
        peers = self._engine.peers
        return peers.export(self._target) if peers else b""

    def pack_first(self) -> None:
        """Move what stays on this rank, which needs no agreement, while the ranks agree."""
        self._lanes = self._engine.fork(min(_LANES, self._engine.ranks))
        self._write(0, self._target)

    def can_run(self, exported: Sequence[bytes]) -> bool:
        """Take what all ranks exported; return False if one could not."""
        self._exported = exported
        return all(one[:1] == b"\1" for one in exported)

    def give_up(self) -> None:
        """Let the memory be free for further work on the stream."""
        self._engine.join()

    def run(self) -> None:
        """Move the rest, once all ranks agree and have exported their results.

        The agreement was a fence: the results' memory is free on all ranks. Each rank begins with
        the one after it, so that no GPU is written to by all at once.
        """
        try:
            for step in range(1, self._engine.ranks):
                rank = (self._engine.rank + step) % self._engine.ranks
                if self._plan.part(self._engine.rank, rank):
                    self._write(step, self._opened(rank))
        finally:
            self._engine.join()
        self._engine.fence()
        self._engine.settle()

    def _write(self, step: int, result: Any) -> None:
        """Write to the result of the rank that is so many after this one."""
        engine = self._engine
        part = self._plan.part(engine.rank, (engine.rank + step) % engine.ranks)
        if part:
            source, into = self._source[part.source], result[part.target]
            lane = self._lanes[step % len(self._lanes)]
            rearrange(source, self._plan.axes, into, lane)

    def _opened(self, rank: int) -> Any:
        assert self._engine.peers is not None
        flat = self._engine.peers.open(rank, self._exported[rank], self._target.device)
        assert flat is not None  # it is not empty: a part goes there
        return shaped(flat, lengths(self._plan.targets[rank]), self._target.dtype)
