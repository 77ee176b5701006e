"""What gpumem asks of an engine, which moves bytes between the processes of a group.

There are two: :class:`~gpumem.distributed.mpi.MpiEngine` over a communicator of mpi4py, and
:class:`~gpumem.distributed.torch_engine.TorchEngine` over a process group of torch.distributed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .memory import Buffer, Memory
from .peers import Peers
from .processes import Processes

MESSAGE = 1024  # bytes of what each rank tells all others before data moves


class Pending(Protocol):
    """A collective operation that is under way."""

    def wait(self) -> None:
        """Wait for it: the host, or the work that is queued on the device from now on."""


class PendingMessages(Protocol):
    """Messages that are under way."""

    def wait(self) -> list[bytes]:
        """Return the message of each rank."""


class Engine(Protocol):
    """The processes of a group, and how bytes move between them."""

    name: str
    rank: int
    ranks: int
    piece_bytes: int
    """How many bytes of a rank's part to exchange at a time, so that work can overlap."""

    peers: Peers | None
    """The other ranks' memory, if all of them are GPUs of one host that reach each other."""

    processes: Processes
    """Those of the ranks, so that errors can name a rank that has ended."""

    def stream(self) -> int | None:
        """Return the stream that packing and unpacking has to join; None: the default stream."""

    def buffer(self, memory: Memory, nbytes: int) -> Buffer:
        """Return new bytes, which gpumem packs and the engine moves."""

    def new(self, memory: Memory, shape: tuple[int, ...]) -> Any:
        """Return an array of a kind of memory, uninitialised; one that `peers` can export."""

    def over(self, memory: Memory, flat: Any) -> Buffer:
        """Return the bytes of an array that is contiguous, for use in place."""

    def tell(self, message: bytes) -> PendingMessages:
        """Send a message of MESSAGE bytes to all ranks."""

    def follow(self) -> None:
        """Let further work on the stream begin after that of all ranks up to their last `tell`.

        After their messages are here; for `peers`.
        """

    def exchange(
        self,
        send: Buffer,
        sent: Sequence[int],
        receive: Buffer,
        received: Sequence[int],
        most: int,
    ) -> Pending:
        """Send `sent[r]` bytes to each rank r, and receive `received[r]` bytes from it.

        They follow each other in the buffers in the order of the ranks. `most` is no less than what
        any rank sends or receives, and the same on all of them.
        """

    def spread(self, send: Buffer, receive: Buffer, received: Sequence[int]) -> Pending:
        """Send the same bytes to all ranks, and receive those of all ranks in their order."""

    def fence(self) -> None:
        """Let further work on the stream begin after the work of all ranks up to here."""

    def settle(self) -> None:
        """Order what the engine did on the device before gpumem's next work there."""

    def barrier(self) -> None:
        """Wait until all ranks are here and their work on the device is done."""
