"""Short messages between the ranks of one host, through memory that all of them have mapped.

NCCL has no message that a host can read before its device has come to it, which takes longer than
to move some megabytes. What ranks tell each other before data moves goes this way where it can;
data never does.
"""

from __future__ import annotations

import mmap
import os
import secrets
import struct
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from .engine import MESSAGE
from .processes import Processes

_FOLDER = Path("/dev/shm")
_TOKEN = 16  # bytes at the beginning, by which ranks know that they have mapped the same memory
_HEADER = "<QI"  # the number of the message, and a checksum over it and the message
_SLOT = struct.calcsize(_HEADER) + MESSAGE
_SETS = 2  # a rank may tell the next message while others still read the last one
_NUMBER = struct.Struct("<Q")
_SPIN = 2e-3  # seconds until a wait leaves the processor to others for longer
_REST = 1e-3
_LOOK = 0.1  # seconds between looks at whether processes have ended


class ProcessEnded(RuntimeError):
    """A process that has not told its message has ended."""


class NoMessage(RuntimeError):
    """Ranks have not told their message in time."""

    def __init__(self, ranks: list[int], seconds: float) -> None:
        who = f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
        super().__init__(f"no message of {who} within {seconds:g} s")
        self.ranks = ranks


def _sum(number: int, message: bytes) -> int:
    return zlib.crc32(message, zlib.crc32(_NUMBER.pack(number)))


class Board:
    """A place for a message of each rank.

    Messages are numbered: all ranks tell theirs in the same order, and wait for those of all before
    they tell the next one. A message is there when its checksum is right, in whatever order the
    memory shows what was written.

    Parameters
    ----------
    rank, ranks : int
        This rank, and their number.
    memory : mmap.mmap
        See :func:`connect`.
    processes : Processes
        Those of the ranks: a wait ends if one of them has.
    timeout : float
        Seconds after which a wait ends with an error.
    """

    def __init__(
        self, rank: int, ranks: int, memory: mmap.mmap, processes: Processes, timeout: float
    ) -> None:
        self.count = 0  # messages told so far
        self._rank = rank
        self._ranks = ranks
        self._memory = memory
        self._processes = processes
        self._timeout = timeout

    def tell(self, message: bytes) -> Messages:
        """Tell all ranks a message of MESSAGE bytes."""
        self.count += 1
        header = struct.pack(_HEADER, self.count, _sum(self.count, message))
        begin = self._begin(self._rank, self.count)
        self._memory[begin : begin + _SLOT] = header + message
        return Messages(self, self.count)

    def read(self, number: int) -> list[bytes]:
        """Return the messages of all ranks, once they are there."""
        found: list[bytes | None] = [self._find(rank, number) for rank in range(self._ranks)]
        if None in found:
            self._wait(found, number)
        return [one for one in found if one is not None]

    def _begin(self, rank: int, number: int) -> int:
        return _TOKEN + (_SETS * rank + number % _SETS) * _SLOT

    def _find(self, rank: int, number: int) -> bytes | None:
        begin = self._begin(rank, number)
        if _NUMBER.unpack_from(self._memory, begin)[0] != number:
            return None
        slot = self._memory[begin : begin + _SLOT]
        told, checksum = struct.unpack_from(_HEADER, slot)
        message = slot[-MESSAGE:]
        return message if told == number and checksum == _sum(number, message) else None

    def _wait(self, found: list[bytes | None], number: int) -> None:
        begin = looked = time.monotonic()
        while True:
            missing = [rank for rank, message in enumerate(found) if message is None]
            for rank in missing:
                found[rank] = self._find(rank, number)
            if None not in found:
                return
            now = time.monotonic()
            if now - looked > _LOOK:
                looked = now
                self._check(missing, now - begin)
            time.sleep(_REST if now - begin > _SPIN else 0)

    def _check(self, missing: list[int], waited: float) -> None:
        if any(rank in missing for rank in self._processes.ended()):
            raise ProcessEnded("a rank's process has ended")
        if waited > self._timeout:
            raise NoMessage(missing, self._timeout)


class Messages:
    """Those of all ranks, under one number."""

    def __init__(self, board: Board, number: int) -> None:
        self._board = board
        self._number = number

    def wait(self) -> list[bytes]:
        """Return the message of each rank."""
        return self._board.read(self._number)


def connect(
    rank: int,
    ranks: int,
    told: Callable[[bytes], list[bytes]],
    processes: Processes,
    timeout: float,
) -> Board | None:
    """Return a board, or None if not all ranks can map the same memory.

    Every rank has to call it.

    Parameters
    ----------
    rank, ranks : int
        This rank, and their number.
    told : callable
        Tells all ranks a message of up to MESSAGE bytes, and returns theirs, by other means.
    processes, timeout
        See :class:`Board`.
    """
    path, token = "", secrets.token_bytes(_TOKEN)
    if rank == 0:
        path = _make(token + bytes(ranks * _SETS * _SLOT))
    try:
        first = told(path.encode() + b"\0" + token)[0]
        name, _, wanted = first.partition(b"\0")
        memory = _map(name.decode(), wanted[:_TOKEN])
        if not all(one[:1] == b"y" for one in told(b"n" if memory is None else b"y")):
            return None
    finally:
        if path:
            Path(path).unlink()  # the memory stays until the last process has left it
    return None if memory is None else Board(rank, ranks, memory, processes, timeout)


def _make(content: bytes) -> str:
    """Write a file in memory and return its path; an empty one if that cannot be."""
    try:
        number, path = tempfile.mkstemp(prefix="gpumem-", dir=_FOLDER)
    except OSError:
        return ""
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
    except OSError:  # it is full
        Path(path).unlink()
        return ""
    return path


def _map(path: str, token: bytes) -> mmap.mmap | None:
    try:
        with Path(path).open("r+b") as file:
            memory = mmap.mmap(file.fileno(), 0)
    except (OSError, ValueError):
        return None
    return memory if memory[:_TOKEN] == token else None
