"""The memory of the other GPUs of a host, written by this rank's kernels.

Each rank exports the allocation that its result is in (CUDA's interprocess handles), tells the
others in the agreement, and opens theirs. Then one kernel per rank permutes a part straight into
the other GPU's result: nothing is packed, and the engine moves nothing but the agreement.
"""

from __future__ import annotations

import ctypes
import math
import platform
import struct
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .._core import DeviceArray, from_dlpack
from .plan import Plan
from .sharing import lengths

_HANDLE = 64  # bytes of a CUipcMemHandle
_FORMAT = f"<B{_HANDLE}sqq"  # 1, the handle, the offset in the allocation, its bytes
MOST_OPEN = 256  # allocations of other ranks; the least recently used are closed


class _Failed(RuntimeError):
    """The driver cannot do it here."""


class _Foreign:
    """Memory at an address, as other libraries describe theirs."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "strides": None,
            "typestr": "|u1",
            "data": (address, False),
        }


def host_name() -> str:
    """Return a name that differs between hosts, and between starts of one."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return f"{platform.node()} {boot.read_text().strip() if boot.exists() else ''}"


class Peers:
    """What this rank has opened of the other ranks' memory."""

    def __init__(self, rank: int) -> None:
        from cuda.bindings import driver

        self._driver = driver
        self._rank = rank
        self._opened: OrderedDict[tuple[int, bytes], int] = OrderedDict()
        self._targets: dict[tuple[int, bytes, str, int], tuple[Plan, DeviceArray]] = {}

    def _do(self, function: str, *args: Any) -> Any:
        error, *results = getattr(self._driver, function)(*args)
        if error != self._driver.CUresult.CUDA_SUCCESS:
            raise _Failed(f"{function}: {error.name}")
        return results[0] if len(results) == 1 else tuple(results)

    def export(self, array: DeviceArray) -> bytes:
        """Return what the other ranks need to open an array; empty if its memory has no handle.

        That of CUDA's pools, of which DeviceArrays are by default, has none.
        """
        if array.nbytes == 0:
            return struct.pack(_FORMAT, 1, b"", 0, 0)
        try:
            pointer = self._driver.CUdeviceptr(array.pointer)
            base, _ = self._do("cuMemGetAddressRange", pointer)
            handle = self._do("cuIpcGetMemHandle", pointer)
        except _Failed:
            return b""
        raw = ctypes.string_at(handle.getPtr(), _HANDLE)
        return struct.pack(_FORMAT, 1, raw, array.pointer - int(base), array.nbytes)

    def open(self, rank: int, exported: bytes, device: int) -> DeviceArray | None:
        """Return the bytes that another rank has exported, for use on a device of this one."""
        known, raw, offset, nbytes = struct.unpack(_FORMAT, exported[: struct.calcsize(_FORMAT)])
        if not known or nbytes == 0:
            return None
        base = self._opened.get((rank, raw))
        if base is None:
            base = self._opened[rank, raw] = self._open(raw)
        self._opened.move_to_end((rank, raw))
        while len(self._opened) > MOST_OPEN:
            self._targets.clear()  # some of them are there
            _, oldest = self._opened.popitem(last=False)
            self._do("cuIpcCloseMemHandle", self._driver.CUdeviceptr(oldest))
        return _core.reach(from_dlpack(_Foreign(base + offset, nbytes)), device)

    def target(self, plan: Plan, rank: int, exported: bytes, like: DeviceArray) -> DeviceArray:
        """Return the part of another rank's result that this rank writes.

        Programs repeat their movements, and allocators return the same memory: it is kept.

        Parameters
        ----------
        plan : Plan
            Something goes from this rank to that one.
        rank, exported
            The other rank, and what it has exported.
        like : DeviceArray
            This rank's own result.
        """
        key = rank, exported, like.dtype.str, id(plan)
        if key not in self._targets:
            flat = self.open(rank, exported, like.device)
            part = plan.part(self._rank, rank)
            assert flat is not None and part is not None
            whole = shaped(flat, lengths(plan.targets[rank]), like.dtype)
            if len(self._targets) >= MOST_OPEN:
                self._targets.clear()
            self._targets[key] = plan, whole[part.target]  # the plan, that its id stays its own
        return self._targets[key][1]

    def _open(self, raw: bytes) -> int:
        handle = self._driver.CUipcMemHandle()
        ctypes.memmove(handle.getPtr(), raw, _HANDLE)
        lazily = self._driver.CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
        return int(self._do("cuIpcOpenMemHandle", handle, int(lazily)))

    def opens(self, all_exported: Sequence[bytes], device: int) -> bool:
        """Return whether this rank can open what each of the others has exported."""
        try:
            for rank, exported in enumerate(all_exported):
                if rank != self._rank and self.open(rank, exported, device) is None:
                    return False
        except (RuntimeError, ValueError):
            return False
        return True


def shaped(flat: DeviceArray, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
    """Return opened bytes as an array."""
    return flat[: math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)
