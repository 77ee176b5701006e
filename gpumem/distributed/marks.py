"""How far the work of each rank's GPU is, as events that the other ranks of the host wait for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

_SETS = 2  # a rank may mark the next place while others still wait for the last one
_HANDLE = 64  # bytes of an interprocess handle


class Marks:
    """Events of all ranks of a host.

    Places are numbered like the messages of a :class:`~gpumem.distributed.board.Board`: a rank
    marks one before it tells that message, and follows the others after it has read theirs.

    Parameters
    ----------
    rank, device : int
        This rank, and its GPU.
    """

    def __init__(self, rank: int, device: int) -> None:
        self._rank = rank
        self._device = device
        self._own = [torch.cuda.Event(interprocess=True) for _ in range(_SETS)]
        self._others: list[list[Any]] = []

    def exported(self) -> bytes:
        """Return what the other ranks need to open this one's events.

        Raises
        ------
        RuntimeError
            If events cannot be shared between processes here.
        """
        return b"".join(event.ipc_handle() for event in self._own)

    def open(self, all_exported: Sequence[bytes]) -> None:
        """Open the other ranks' events; RuntimeError if that cannot be."""
        device = torch.device("cuda", self._device)
        self._others = [
            [
                torch.cuda.Event.from_ipc_handle(device, exported[begin : begin + _HANDLE])
                for rank, exported in enumerate(all_exported)
                if rank != self._rank
            ]
            for begin in range(0, _SETS * _HANDLE, _HANDLE)
        ]

    def mark(self, number: int, stream: Any) -> None:
        """Mark where a stream of PyTorch is now."""
        self._own[number % _SETS].record(stream)

    def follow(self, number: int, stream: Any) -> None:
        """Let further work on a stream begin after what the other ranks have marked."""
        for event in self._others[number % _SETS]:
            stream.wait_event(event)
