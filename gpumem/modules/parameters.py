"""The parameters of a kernel, and the bytes that an argument becomes."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..base.messages import quoted
from ..cuda_c.machine_type import MachineType

__all__ = ["Parameter"]

_OBJECTS = {"cudaTextureObject_t": "texture", "cudaSurfaceObject_t": "surface"}
_NAMES = {"b": "bool", "i": "an integer", "u": "an integer of at least 0", "f": "a number"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel.

    Attributes
    ----------
    name : str
        As in the source; "" if it has none there.
    type : str
        As in the source, such as "const float *".
    text : str
        Type and name, as in the source, such as "float (*rows)[4]".
    machine : MachineType
        What the compiler made of it.
    """

    name: str
    type: str
    text: str
    machine: MachineType

    def __str__(self) -> str:
        return self.text

    @property
    def is_array(self) -> bool:
        """Whether it takes an array."""
        return self.machine.pointer

    @property
    def written(self) -> bool:
        """Whether the kernel may write to the array."""
        return self.machine.pointer and not self.machine.constant

    @property
    def object(self) -> str | None:
        """Which of CUDA's objects it takes: "texture", "surface" or None."""
        return next((_OBJECTS[one] for one in self.type.split() if one in _OBJECTS), None)

    @property
    def takes_objects(self) -> bool:
        """Whether it can hold a texture or surface object."""
        return (self.machine.kind, self.machine.bytes, self.machine.pointer) == ("u", 8, False)

    def elements(self) -> str:
        """Say what an array for it has to hold."""
        kind, size = self.machine.kind, self.machine.bytes
        if kind == "?":
            return "an array"
        if kind == "V":
            return f"an array of elements of {size} bytes, or of parts of them"
        return f"an array of {np.dtype(f'{kind}{size}')}"

    def takes(self, dtype: np.dtype[Any]) -> bool:
        """Whether it takes an array of this dtype."""
        kind, size = self.machine.kind, self.machine.bytes
        if not dtype.isnative:
            return False
        if kind == "?":
            return True
        if kind == "V":  # a struct, or a vector such as float4
            return dtype.itemsize > 0 and size % dtype.itemsize == 0
        if size == 1:  # char, which is signed or not
            return dtype.itemsize == 1
        return dtype.kind == kind and dtype.itemsize == size

    def pack(self, value: Any, kernel: str) -> bytes:
        """Return the bytes of a value for a parameter that takes no array.

        Raises
        ------
        TypeError
            If the value is of another type.
        ValueError
            If it is an integer that the type cannot hold, or too large for any float.
        """
        kind, size = self.machine.kind, self.machine.bytes
        if kind == "V":
            return self._pack_struct(value, kernel)
        if kind == "b":
            if not isinstance(value, bool | np.bool_):
                raise self.mismatch(kernel, value, "True or False")
            return bytes([bool(value)])
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if isinstance(value, bool | np.bool_):
            raise self.mismatch(kernel, value, _NAMES[kind])
        if kind == "f":
            return self._pack_float(value, kernel)
        try:
            number = operator.index(value)
        except TypeError:
            raise self.mismatch(kernel, value, _NAMES[kind]) from None
        try:
            return number.to_bytes(size, "little", signed=kind == "i")
        except OverflowError:
            limits = np.iinfo(f"{kind}{size}")
            raise ValueError(
                f"{kernel}: {self} cannot be {quoted(number)}; it holds {limits.min} to "
                f"{limits.max}"
            ) from None

    def unpack(self, data: bytes) -> Any:
        """Return the value that `pack` has made these bytes of."""
        if self.machine.kind == "V":
            return data
        return np.frombuffer(data, f"{self.machine.kind}{self.machine.bytes}")[0]

    def _pack_float(self, value: Any, kernel: str) -> bytes:
        if not isinstance(value, int | float | np.integer | np.floating):
            raise self.mismatch(kernel, value, _NAMES["f"])
        try:
            with np.errstate(over="ignore"):
                return np.array(value, f"f{self.machine.bytes}").tobytes()
        except OverflowError:
            raise ValueError(
                f"{kernel}: {self} cannot be {quoted(value)}, which is too large for a float"
            ) from None

    def _pack_struct(self, value: Any, kernel: str) -> bytes:
        size = self.machine.bytes
        if isinstance(value, bytes | bytearray | memoryview):
            data = bytes(value)
        elif isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            _core.check_unmasked(value, self.name or "the value")
            data = value.tobytes()
        else:
            data = None
        if data is None or len(data) != size:
            raise self.mismatch(
                kernel, value, f"a NumPy scalar, an array or bytes, of {size} bytes"
            )
        return data

    def mismatch(self, kernel: str, value: Any, wanted: str) -> TypeError:
        """Return the error for a value of a wrong type."""
        what = f"{quoted(value)} ({type(value).__name__})"
        if isinstance(value, np.ndarray | _core.DeviceArray) and value.ndim:
            what = f"an array of {value.dtype}"
            if self.machine.kind == "V":
                what += f" with {value.nbytes} bytes"
        return TypeError(f"{kernel}: {self} takes {wanted}, not {what}")
