"""The memory that a rank's part is in: NumPy's, a DeviceArray's or a tensor's of PyTorch.

gpumem's functions see every part as an ndarray or a DeviceArray over the same memory.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .._core import DeviceArray, from_dlpack
from ..base.messages import quoted
from ..families.raw_bytes import opaque

# Tensors are seen as integers of the same size: not all their dtypes have a name in DLPack, and
# NumPy may change a NaN. On a GPU, bits move as they are; a view less is time until data moves.
_INTEGERS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
_KNOWN = frozenset(
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
)


class Memory(Protocol):
    """The memory of one kind of array."""

    @property
    def dtype(self) -> str:
        """The name of the dtype, by which ranks compare theirs."""

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""

    @property
    def on_gpu(self) -> bool:
        """Whether it is on a GPU, and not on the host or the simulator."""

    def view(self, local: Any) -> Any:
        """Return an ndarray or a DeviceArray over the same memory."""

    def numbers(self, local: Any) -> Any:
        """Return the same with its own dtype, to compute with."""

    def new(self, shape: tuple[int, ...]) -> Any:
        """Return an array of this kind, uninitialised."""

    def bytes(self, count: int) -> Any:
        """Return bytes beside such arrays, as an ndarray or a DeviceArray."""


@dataclass(frozen=True)
class HostMemory:
    """That of ndarrays."""

    of: np.dtype[Any]

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return str(self.of)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.of.itemsize

    @property
    def on_gpu(self) -> bool:
        """Return False: it is on the host."""
        return False

    def view(self, local: Any) -> Any:
        """Return the array, its elements as plain bytes."""
        return opaque(local) if self.itemsize else local

    def numbers(self, local: Any) -> Any:
        """Return the array."""
        return local

    def new(self, shape: tuple[int, ...]) -> Any:
        """Return an ndarray."""
        return np.empty(shape, self.of)

    def bytes(self, count: int) -> Any:
        """Return bytes of the host."""
        return np.empty(count, np.uint8)


@dataclass(frozen=True)
class DeviceMemory:
    """That of DeviceArrays."""

    of: np.dtype[Any]
    backend: str
    device: int

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return str(self.of)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.of.itemsize

    @property
    def on_gpu(self) -> bool:
        """Whether it is on a GPU, and not on the simulator."""
        return self.backend == "cuda"

    def view(self, local: Any) -> Any:
        """Return the array."""
        return local

    def numbers(self, local: Any) -> Any:
        """Return the array."""
        return local

    def new(self, shape: tuple[int, ...]) -> Any:
        """Return a DeviceArray."""
        return DeviceArray(shape, self.of, device=self.device, backend=self.backend)

    def bytes(self, count: int) -> Any:
        """Return bytes of the same device."""
        return DeviceArray(count, np.uint8, device=self.device, backend=self.backend)


@dataclass(frozen=True)
class TensorMemory:
    """That of PyTorch's tensors."""

    of: Any
    device: Any

    @cached_property
    def dtype(self) -> str:
        """The name of the dtype."""
        return str(self.of).removeprefix("torch.")

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(self.of.itemsize)

    @cached_property
    def on_gpu(self) -> bool:
        """Whether it is on a GPU."""
        return str(self.device.type) == "cuda"

    def view(self, local: Any) -> Any:
        """Return an array over the tensor."""
        if self.on_gpu and self.dtype in _KNOWN and not local.requires_grad:
            return from_dlpack(local)
        integers = _INTEGERS.get(self.itemsize)
        tensor = local.detach()
        if integers is not None:
            tensor = tensor.view(getattr(sys.modules["torch"], integers))
        return self.numbers(tensor)

    def numbers(self, local: Any) -> Any:
        """Return an array over the tensor, with its own dtype."""
        tensor = local.detach()
        return from_dlpack(tensor) if self.on_gpu else tensor.numpy()

    def new(self, shape: tuple[int, ...]) -> Any:
        """Return a tensor."""
        return sys.modules["torch"].empty(shape, dtype=self.of, device=self.device)

    def bytes(self, count: int) -> Any:
        """Return bytes of the same device."""
        torch = sys.modules["torch"]
        made = torch.empty(count, dtype=torch.uint8, device=self.device)
        return from_dlpack(made) if self.on_gpu else made.numpy()


def memory_of(local: Any, name: str) -> Memory:
    """Return the memory that an array is in; TypeError with its name if gpumem cannot take it."""
    torch = sys.modules.get("torch")
    if isinstance(local, DeviceArray):
        return DeviceMemory(local.dtype, local.backend, local.device)
    if torch is not None and isinstance(local, torch.Tensor):
        if local.layout != torch.strided or local.device.type not in ("cpu", "cuda"):
            raise TypeError(
                f"{name}: a tensor of layout {local.layout} on {local.device} cannot be shared "
                "out, expected a strided one on the host or on a GPU"
            )
        return TensorMemory(local.dtype, local.device)
    if isinstance(local, np.ma.MaskedArray) or not isinstance(local, np.ndarray):
        raise TypeError(
            f"{name} must be an ndarray, a DeviceArray or a tensor of PyTorch, not "
            f"{quoted(type(local).__name__)}"
        )
    if local.dtype.hasobject:
        raise TypeError(f"{name}: elements of dtype {local.dtype} refer to Python objects")
    return HostMemory(local.dtype)


def host_bytes(flat: Any) -> np.ndarray[Any, Any] | None:
    """Return the bytes of a flat contiguous array as an ndarray; None if they are on a GPU."""
    if isinstance(flat, np.ndarray):
        return flat.view(np.uint8)
    if flat.backend == "sim":
        return np.from_dlpack(flat.view("uint8"))
    return None


class Buffer:
    """Bytes that gpumem packs into `array` and the engine moves from `wire`, or the reverse.

    The two are the same memory, or one on the host and one on a GPU (`staged`).
    """

    def __init__(
        self, array: Any, wire: Any, staged: Any = None, *, in_place: bool = False
    ) -> None:
        self.array = array
        self.wire = wire
        self.in_place = in_place  # it is the memory of a user's array
        self._staged = staged

    def part(self, begin: int, shape: tuple[int, ...], like: Any) -> Any:
        """Return some of it as an array of the dtype of another."""
        count = math.prod(shape) * like.dtype.itemsize
        return self.array[begin : begin + count].view(like.dtype).reshape(shape)

    def to_wire(self) -> None:
        """Make what was packed ready for the engine."""
        if self._staged is not None:
            _copy_bytes(self.array, self._staged)

    def from_wire(self) -> None:
        """Make what the engine received ready for gpumem."""
        if self._staged is not None:
            _copy_bytes(self._staged, self.array)


def _copy_bytes(source: Any, target: Any) -> None:
    if isinstance(source, DeviceArray):
        source.to_host(target)
    else:
        target[...] = source


def is_contiguous(view: Any) -> bool:
    """Return whether an ndarray or DeviceArray is C-contiguous."""
    return bool(view.flags.c_contiguous)


def flat_bytes(view: Any) -> Any:
    """Return the bytes of a C-contiguous array, in place."""
    return view.reshape(-1).view(np.uint8) if view.dtype.itemsize else view.reshape(-1)[:0]
