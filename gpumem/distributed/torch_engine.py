"""The engine over a process group of torch.distributed: NCCL on GPUs, gloo or MPI on the host.

NCCL's work is queued on a stream of its own, which waits for PyTorch's current stream when an
operation begins and which the current stream waits for afterwards; so gpumem's kernels join
PyTorch's current stream.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np
import torch
import torch.distributed as dist

from .._core import DeviceArray, empty, from_dlpack
from .board import Board, Messages, NoMessage, ProcessEnded, connect
from .engine import MESSAGE, Engine, PendingMessages
from .errors import RankError
from .marks import Marks
from .memory import Buffer, DeviceMemory, Memory, host_bytes
from .peers import Peers, host_name
from .processes import WHO, Processes

HOST_PIECE_BYTES = 32 << 20
GPU_PIECE_BYTES = 256 << 20
_AGREEMENT = "the agreement"

_engines: WeakKeyDictionary[Any, Engine] = WeakKeyDictionary()


def engine_of(group: Any) -> Engine:
    """Return the engine over a process group; the same one each time.

    All ranks have to call it the first time: they look for each other.
    """
    engine = _engines.get(group)
    if engine is None:
        made = TorchEngine(group)
        made.find_neighbours()
        engine = _engines[group] = made
    return engine


class _Works:
    """Operations that are under way, and the memory that they use."""

    def __init__(self, engine: TorchEngine, what: str, works: list[Any], keep: Any) -> None:
        self._engine = engine
        self._what = what
        self._works = works
        self._keep = keep

    def wait(self) -> None:
        # What is left of an operation when the interpreter exits makes torch abort.
        works, self._works = self._works, []
        with self._engine.named(self._what):
            for work in works:
                work.wait()


class _Messages(_Works):
    def wait(self) -> list[bytes]:  # type: ignore[override]
        super().wait()
        told = self._keep[1].cpu().numpy().tobytes()
        return [told[begin : begin + MESSAGE] for begin in range(0, len(told), MESSAGE)]


class _Posted:
    """Messages on the board."""

    def __init__(self, engine: TorchEngine, messages: Messages) -> None:
        self._engine = engine
        self._messages = messages

    def wait(self) -> list[bytes]:
        me = self._engine.rank
        try:
            return self._messages.wait()
        except NoMessage as error:
            silent = error.ranks[0] if len(error.ranks) == 1 else None
            raise RankError(f"on rank {me}, {error}", silent) from error
        except ProcessEnded as error:
            raise self._engine.processes.error(me, _AGREEMENT, error) from error


class TorchEngine:
    """The processes of a process group of torch.distributed."""

    def __init__(self, group: Any) -> None:
        # Weak: torch aborts at exit if a group outlives destroy_process_group.
        self._weak = ref(group)
        self.name: str = dist.get_backend(group)
        self.rank: int = dist.get_rank(group)
        self.ranks: int = dist.get_world_size(group)
        self._on_gpu = "nccl" in self.name
        self.piece_bytes = GPU_PIECE_BYTES if self._on_gpu else HOST_PIECE_BYTES
        self.peers: Peers | None = None
        self.processes = Processes()
        self._device = torch.cuda.current_device() if self._on_gpu else -1
        self._board: Board | None = None
        self._marks: Marks | None = None
        self._token: Any = None

    @contextlib.contextmanager
    def named(self, what: str) -> Iterator[None]:
        """Turn errors of torch.distributed into ones that name ranks."""
        try:
            yield
        except RuntimeError as error:
            raise self.processes.error(self.rank, what, error) from error

    @property
    def _group(self) -> Any:
        group = self._weak()
        if group is None:
            raise ValueError("the process group was destroyed")
        return group

    def _current(self) -> Any:
        # Without a number PyTorch looks for devices first, which takes longer than a launch.
        return torch.cuda.current_stream(self._device)

    def stream(self) -> int | None:
        """Return PyTorch's current stream; None without GPUs."""
        return self._current().cuda_stream if self._on_gpu else None

    # ---- memory ---------------------------------------------------------------------------------

    def buffer(self, memory: Memory, nbytes: int) -> Buffer:
        """Return new bytes."""
        if self._on_gpu:
            # From PyTorch's allocator, which knows NCCL's stream.
            wire = _gpu_bytes(nbytes)
            if memory.on_gpu:
                return Buffer(from_dlpack(wire), wire)
            return Buffer(memory.bytes(nbytes), wire, from_dlpack(wire))
        return self._on_host(memory.bytes(nbytes))

    def over(self, memory: Memory, flat: Any) -> Buffer:
        """Return the bytes of an array, in place."""
        if not self._on_gpu:
            return self._on_host(flat, in_place=True)
        if isinstance(flat, DeviceArray) and flat.backend == "cuda":
            return Buffer(flat, torch.from_dlpack(flat), in_place=True)
        wire = _gpu_bytes(flat.size)
        return Buffer(flat, wire, from_dlpack(wire), in_place=True)

    def _on_host(self, flat: Any, in_place: bool = False) -> Buffer:
        array = host_bytes(flat)
        if array is not None:
            return Buffer(flat, _tensor(array), in_place=in_place)
        staged = empty(flat.size, np.uint8, kind="pinned", backend="cuda")
        return Buffer(flat, _tensor(staged), staged, in_place=in_place)

    def new(self, memory: Memory, shape: tuple[int, ...]) -> Any:
        """Return an array; on a GPU it is in PyTorch's memory, which has interprocess handles."""
        if not (self._on_gpu and isinstance(memory, DeviceMemory) and memory.on_gpu):
            return memory.new(shape)
        nbytes = math.prod(shape) * memory.itemsize
        return from_dlpack(_gpu_bytes(nbytes)).view(memory.of).reshape(shape)

    # ---- other ranks of the host ---------------------------------------------------------------

    def find_neighbours(self) -> None:
        """Find what ranks of one host can share: messages, events and their GPUs' memory.

        All ranks have to call it: they try, and use what works for each of them.
        """
        if self.ranks == 1 or len(set(self._told(host_name().encode()[:MESSAGE]))) > 1:
            return
        self.processes.learn([one[:WHO] for one in self._told(self.processes.who)])
        board = connect(self.rank, self.ranks, self._told, self.processes, self._timeout())
        if self._on_gpu:
            self._marks = self._find_marks() if board else None
            self.peers = self._find_peers()
        self._board = board

    def _find_marks(self) -> Marks | None:
        """Return events of all ranks if each can wait for those of each other one."""
        marks = Marks(self.rank, self._device)
        try:
            mine = b"y" + marks.exported()
        except RuntimeError:
            mine = b"n"
        exported = self._told(mine)
        able = all(one[:1] == b"y" for one in exported)
        try:
            marks.open([one[1:] for one in exported] if able else [])
        except RuntimeError:
            able = False
        return marks if self._all_can(able) else None

    def _find_peers(self) -> Peers | None:
        """Return the other ranks' memory if each rank can open that of each other one."""
        array = from_dlpack(_gpu_bytes(1))
        try:
            peers = Peers(self.rank)
            mine = peers.export(array)
        except ImportError:
            peers, mine = None, b""
        exported = self._told(mine)
        able = (
            peers is not None
            and all(one[:1] != b"\0" for one in exported)
            and peers.opens(exported, torch.cuda.current_device())
        )
        return peers if self._all_can(able) else None

    def _all_can(self, able: bool) -> bool:
        return all(one[:1] == b"y" for one in self._told(b"y" if able else b"n"))

    def _told(self, message: bytes) -> list[bytes]:
        return self.tell(message.ljust(MESSAGE, b"\0")).wait()

    def _timeout(self) -> float:
        """Return the seconds after which the group's operations fail."""
        device = torch.device("cuda" if self._on_gpu else "cpu")
        options = getattr(self._group._get_backend(device), "options", None)
        timeout: timedelta = getattr(options, "_timeout", dist.default_pg_timeout)
        return timeout.total_seconds()

    def follow(self) -> None:
        """Let further work on the stream follow that of all ranks until they told their last."""
        if self._marks is not None and self._board is not None:
            self._marks.follow(self._board.count, self._current())
        elif self._board is not None:
            self._reduce()

    def fence(self) -> None:
        """Let further work on the stream begin after the work of all ranks up to here."""
        if self._marks is None:
            self._reduce()
        else:
            self._told(b"")
            self.follow()

    def _reduce(self) -> None:
        with self.named("the fence"):
            if self._token is None:  # zeros, whose sum stays 0
                where = "cuda" if self._on_gpu else "cpu"
                self._token = torch.zeros(1, dtype=torch.int32, device=where)
            dist.all_reduce(self._token, group=self._group)

    # ---- moving ---------------------------------------------------------------------------------

    def tell(self, message: bytes) -> PendingMessages:
        """Send a message to all ranks."""
        if self._board is not None:
            if self._marks is not None:
                self._marks.mark(self._board.count + 1, self._current())
            return _Posted(self, self._board.tell(message))
        sent = torch.frombuffer(bytearray(message), dtype=torch.uint8)
        if self._on_gpu:
            sent = sent.to(torch.device("cuda", self._device), non_blocking=True)
        received = torch.empty(self.ranks * MESSAGE, dtype=torch.uint8, device=sent.device)
        with self.named(_AGREEMENT):
            if self._on_gpu:
                work = dist.all_gather_into_tensor(received, sent, group=self._group, async_op=True)
            else:
                parts = list(received.view(self.ranks, MESSAGE))
                work = dist.all_gather(parts, sent, group=self._group, async_op=True)
        return _Messages(self, _AGREEMENT, [work], (sent, received))

    def exchange(
        self,
        send: Buffer,
        sent: Sequence[int],
        receive: Buffer,
        received: Sequence[int],
        most: int,
    ) -> _Works:
        """Send bytes to each rank and receive bytes from it."""
        what = "the all-to-all"
        to, of = send.wire[: sum(sent)], receive.wire[: sum(received)]
        with self.named(what):
            work = dist.all_to_all_single(
                of, to, list(received), list(sent), group=self._group, async_op=True
            )
        return _Works(self, what, [work], (send, receive))

    def spread(self, send: Buffer, receive: Buffer, received: Sequence[int]) -> _Works:
        """Send the same bytes to all ranks."""
        what = "the all-gather"
        ends = list(itertools.accumulate(received))
        parts = [receive.wire[end - count : end] for end, count in zip(ends, received, strict=True)]
        own = send.wire[: received[self.rank]]
        with self.named(what):
            if len(set(received)) == 1:
                works = [dist.all_gather(parts, own, group=self._group, async_op=True)]
            else:
                parts[self.rank].copy_(own)
                works = [
                    dist.broadcast(
                        part,
                        dist.get_global_rank(self._group, rank),
                        group=self._group,
                        async_op=True,
                    )
                    for rank, part in enumerate(parts)
                    if part.numel()
                ]
        return _Works(self, what, works, (send, receive))

    def settle(self) -> None:
        """Order the work on PyTorch's current stream before gpumem's next."""
        if self._on_gpu and self._current().cuda_stream:
            self._current().synchronize()

    def barrier(self) -> None:
        """Wait until all ranks are here and their work on the device is done."""
        with self.named("the barrier"):
            dist.barrier(group=self._group)
        if self._on_gpu:
            torch.cuda.synchronize()


def _gpu_bytes(count: int) -> Any:
    return torch.empty(count, dtype=torch.uint8, device="cuda")


def _tensor(array: np.ndarray[Any, Any]) -> Any:
    """Return a tensor over bytes of the host; the engine does not write to those that it sends."""
    if not array.flags.writeable:
        array = np.lib.stride_tricks.as_strided(array)
        with contextlib.suppress(ValueError):
            array.flags.writeable = True
    return torch.from_numpy(array)
