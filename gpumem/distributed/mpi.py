"""The engine over a communicator of mpi4py.

MPI moves host memory; parts on a GPU go through pinned memory of the host. Counts and displacements
of MPI are C ints: where a rank sends or receives more bytes than those reach, messages of bounded
size replace the all-to-all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from .._core import empty
from .engine import MESSAGE, Engine
from .memory import Buffer, Memory, host_bytes
from .peers import Peers
from .processes import Processes

PIECE_BYTES = 32 << 20
MOST = 2**31 - 1  # bytes that a C int counts
MESSAGE_BYTES = 1 << 30

_key = MPI.Comm.Create_keyval()


def engine_of(comm: Any) -> Engine:
    """Return the engine over a communicator; the same one each time."""
    if comm == MPI.COMM_NULL:
        raise TypeError("comm is MPI.COMM_NULL: this process is not in the communicator")
    engine: Engine | None = comm.Get_attr(_key)
    if engine is None:
        engine = MpiEngine(comm)
        comm.Set_attr(_key, engine)
    return engine


class _Requests:
    """Requests of MPI that are under way, and the memory that they use."""

    def __init__(self, engine: MpiEngine, what: str, requests: list[Any], keep: Any) -> None:
        self._engine = engine
        self._what = what
        self._requests = requests
        self._keep = keep

    def wait(self) -> None:
        with self._engine.named(self._what):
            MPI.Request.Waitall(self._requests)


class _Messages(_Requests):
    def wait(self) -> list[bytes]:  # type: ignore[override]
        super().wait()
        return [row.tobytes() for row in self._keep[1]]


class MpiEngine:
    """The processes of a communicator of mpi4py."""

    name = "mpi"
    peers: Peers | None = None

    def __init__(self, comm: Any, piece_bytes: int = PIECE_BYTES, most: int = MOST) -> None:
        self._comm = comm
        self._own: Any = None
        self._most = most
        self.rank: int = comm.Get_rank()
        self.ranks: int = comm.Get_size()
        self.piece_bytes = piece_bytes
        self.processes = Processes()

    @contextlib.contextmanager
    def named(self, what: str) -> Iterator[None]:
        """Turn MPI's exceptions into errors that name ranks."""
        try:
            yield
        except MPI.Exception as error:
            raise self.processes.error(self.rank, what, error) from error

    def stream(self) -> int | None:
        """Return None: work joins the default stream, and the host waits for it."""
        return None

    def buffer(self, memory: Memory, nbytes: int) -> Buffer:
        """Return new bytes."""
        array = memory.bytes(nbytes)
        wire = host_bytes(array)
        if wire is not None:
            return Buffer(array, wire)
        staged = empty(nbytes, np.uint8, kind="pinned", backend="cuda")
        return Buffer(array, staged, staged)

    def new(self, memory: Memory, shape: tuple[int, ...]) -> Any:
        """Return an array."""
        return memory.new(shape)

    def over(self, memory: Memory, flat: Any) -> Buffer:
        """Return the bytes of an array, in place."""
        wire = host_bytes(flat)
        if wire is not None:
            return Buffer(flat, wire, in_place=True)
        staged = empty(flat.size, np.uint8, kind="pinned", backend="cuda")
        return Buffer(flat, staged, staged, in_place=True)

    def tell(self, message: bytes) -> _Messages:
        """Send a message to all ranks."""
        sent = np.frombuffer(message, np.uint8)
        received = np.empty((self.ranks, MESSAGE), np.uint8)
        with self.named("the agreement"):
            request = self._comm.Iallgather(sent, received)
        return _Messages(self, "the agreement", [request], (sent, received))

    def exchange(
        self,
        send: Buffer,
        sent: Sequence[int],
        receive: Buffer,
        received: Sequence[int],
        most: int,
    ) -> _Requests:
        """Send bytes to each rank and receive bytes from it."""
        what = "the all-to-all"
        with self.named(what):
            if most > self._most:
                begins = _begins(sent), _begins(received)
                requests = self._messages(send.wire, sent, receive.wire, received, begins)
            else:
                to = (send.wire, (list(sent), _begins(sent)), MPI.BYTE)
                of = (receive.wire, (list(received), _begins(received)), MPI.BYTE)
                requests = [self._comm.Ialltoallv(to, of)]
        return _Requests(self, what, requests, (send, receive))

    def _messages(
        self,
        send: Any,
        sent: Sequence[int],
        receive: Any,
        received: Sequence[int],
        begins: tuple[Sequence[int], Sequence[int]],
    ) -> list[Any]:
        """Do the same by messages, which the two sides cut alike."""
        if self._own is None:
            self._own = self._comm.Dup()  # other messages must not be taken for these
        step = min(MESSAGE_BYTES, self._most)
        requests = []
        for start, counts, wire, begin in (
            (self._own.Irecv, received, receive, begins[1]),
            (self._own.Isend, sent, send, begins[0]),
        ):
            for rank in range(self.ranks):
                first, last = begin[rank], begin[rank] + counts[rank]
                for low in range(first, last, step):
                    requests.append(start(wire[low : min(low + step, last)], rank))
        return requests

    def spread(self, send: Buffer, receive: Buffer, received: Sequence[int]) -> _Requests:
        """Send the same bytes to all ranks."""
        what = "the all-gather"
        mine, begins = received[self.rank], _begins(received)
        with self.named(what):
            if sum(received) > self._most:
                sent, same = [mine] * self.ranks, [0] * self.ranks
                requests = self._messages(send.wire, sent, receive.wire, received, (same, begins))
            else:
                of = (receive.wire, (list(received), begins), MPI.BYTE)
                requests = [self._comm.Iallgatherv((send.wire, mine, MPI.BYTE), of)]
        return _Requests(self, what, requests, (send, receive))

    def follow(self) -> None:
        """Do nothing: MPI's host code waits for each kernel."""

    def fence(self) -> None:
        """Wait until all ranks are here: MPI's host code waits for each kernel."""
        self.barrier()

    def settle(self) -> None:
        """Do nothing: MPI does no work on a device."""

    def barrier(self) -> None:
        """Wait until all ranks are here."""
        with self.named("the barrier"):
            self._comm.Barrier()


def _begins(counts: Sequence[int]) -> list[int]:
    return [sum(counts[:rank]) for rank in range(len(counts))]
