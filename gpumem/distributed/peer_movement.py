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
        """Do nothing: nothing is packed."""

    def can_run(self, exported: Sequence[bytes]) -> bool:
        """Take what all ranks exported; return False if one could not."""
        self._exported = exported
        return all(one[:1] == b"\1" for one in exported)

    def give_up(self) -> None:
        """Do nothing: no kernel has started."""

    def run(self) -> None:
        """Move everything, once all ranks agree and have exported their results.

        Each rank begins with the one after it, and takes one after the other, so that no GPU is
        written to by several: that was faster than to all at once, by 2 to 9 percent on four H200s.
        What stays here moves beside that, on a stream of its own.
        """
        me, ranks, engine = self._engine.rank, self._engine.ranks, self._engine
        others = [(me + step) % ranks for step in range(1, ranks)]
        stream = engine.stream()
        engine.follow()  # the results' memory is free on all ranks
        beside = engine.fork()
        try:
            for place, rank in enumerate(others):
                if self._plan.part(me, rank):
                    self._write(rank, self._opened(rank), stream)
                if place == 0:  # the wires are busy by now
                    self._write(me, self._target, beside)
        finally:
            engine.join()
        engine.fence()
        engine.settle()

    def _write(self, rank: int, result: Any, stream: int | None) -> None:
        """Write to a rank's result what it gets from here."""
        part = self._plan.part(self._engine.rank, rank)
        if part:
            source, into = self._source[part.source], result[part.target]
            rearrange(source, self._plan.axes, into, stream)

    def _opened(self, rank: int) -> Any:
        assert self._engine.peers is not None
        flat = self._engine.peers.open(rank, self._exported[rank], self._target.device)
        assert flat is not None  # it is not empty: a part goes there
        return shaped(flat, lengths(self._plan.targets[rank]), self._target.dtype)
