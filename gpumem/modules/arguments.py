"""Arguments of a launch: checked against the kernel's parameters, and brought to the backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from .parameters import Parameter
from .textures import TextureObject

__all__ = ["Arguments", "bind"]


@dataclass
class Arguments:
    """What a launch gets: the array of each pointer or None, and the bytes of each value."""

    values: list[_core.DeviceArray | bytes | None] = field(default_factory=list)
    written: list[tuple[np.ndarray[Any, Any], _core.DeviceArray]] = field(default_factory=list)

    def as_bytes(self) -> list[bytes]:
        """Return the values with addresses instead of arrays."""
        return [one if isinstance(one, bytes) else _address(one) for one in self.values]

    def copy_back(self) -> None:
        """Copy to the host what the kernel has written there."""
        for host, device in self.written:
            host[...] = device.to_host().reshape(host.shape)


def _address(array: _core.DeviceArray | None) -> bytes:
    return (0 if array is None else array.pointer).to_bytes(8, "little")


def bind(
    kernel: str,
    parameters: Sequence[Parameter],
    args: Sequence[Any],
    backend: str,
    stream: Any = None,
) -> Arguments:
    """Check the arguments of a kernel, and copy host arrays to the backend.

    Arrays of other libraries are used where they are, the GPU's after the work on their stream.

    Raises
    ------
    TypeError
        If there are too many or too few, or one is of another type than its parameter.
    ValueError
        If an integer does not fit, an array is read-only but written, or two arrays of the host
        overlap, one of which the kernel writes.
    """
    if len(args) != len(parameters):
        listed = ", ".join(map(str, parameters))
        raise TypeError(
            f"{kernel} takes {len(parameters)} argument{'s' * (len(parameters) != 1)}"
            f"{f' ({listed})' if listed else ''}, and was given {len(args)}"
        )
    pairs = [
        (parameter, _adopted(kernel, parameter, value, backend, stream))
        for parameter, value in zip(parameters, args, strict=True)
    ]
    for parameter, value in pairs:
        if parameter.is_array:
            _check_array(kernel, parameter, value, backend)
    _check_overlap(kernel, pairs)
    bound = Arguments()
    copies: dict[Any, _core.DeviceArray] = {}
    for parameter, value in pairs:
        if not parameter.is_array:
            number = _number(kernel, parameter, value, backend)
            bound.values.append(parameter.pack(number, kernel))
            continue
        array = value
        if isinstance(value, np.ndarray):
            place = _place(value)
            if place not in copies:
                copies[place] = _core.to_device(value, backend=backend)
            array = copies[place]
            if parameter.written and not any(array is one for _, one in bound.written):
                bound.written.append((value, array))
        bound.values.append(array)
    return bound


def _adopted(kernel: str, parameter: Parameter, value: Any, backend: str, stream: Any) -> Any:
    """Return an array of another library as one of NumPy's or gpumem's."""
    known = np.ndarray | np.generic | _core.DeviceArray | bytes | int | float | None
    if not parameter.is_array or isinstance(value, known):
        return value
    name = f"{kernel}: {parameter}"
    host = _core.view_host(value, name)
    if host is not None:
        return host
    array = _core.adopt(value, name, stream) if backend == "cuda" else None
    return value if array is None else array


def _number(kernel: str, parameter: Parameter, value: Any, backend: str) -> Any:
    """Return the number of a texture or surface object on the backend; other values as they are."""
    wanted = parameter.object
    made = isinstance(value, TextureObject)
    if wanted and (
        isinstance(value, np.ndarray | _core.DeviceArray) or (made and value.kind != wanted)
    ):
        raise parameter.mismatch(kernel, value, f"what gpumem.{wanted}(...) returns")
    return value.on(backend) if made and parameter.takes_objects else value


def _place(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Return what two arrays have in common if they are the same memory in the same order."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def _check_array(kernel: str, parameter: Parameter, value: Any, backend: str) -> None:
    if value is None:
        return
    if not isinstance(value, np.ndarray | _core.DeviceArray):
        wanted = f"{parameter.elements()} (numpy.asarray makes one), or None"
        raise parameter.mismatch(kernel, value, wanted)
    _core.check_unmasked(value, parameter.name or "the array")
    if not parameter.takes(value.dtype):
        raise parameter.mismatch(kernel, value, parameter.elements())
    if isinstance(value, _core.DeviceArray) and value.backend != backend:
        raise TypeError(
            f"{kernel}: {parameter} was given an array of backend {value.backend!r}, and the "
            f"module was loaded for {backend!r}"
        )
    if parameter.written and not _is_writeable(value):
        raise ValueError(
            f"{kernel}: {parameter} was given a read-only array, and the kernel may write to it; "
            "declare it const, or give a copy"
        )


def _is_writeable(array: np.ndarray[Any, Any] | _core.DeviceArray) -> bool:
    return array.writeable if isinstance(array, _core.DeviceArray) else array.flags.writeable


def _check_overlap(kernel: str, pairs: Sequence[tuple[Parameter, Any]]) -> None:
    """Raise if copies of two arrays would not overlap as the arrays do."""
    hosts = [(p, a) for p, a in pairs if p.is_array and isinstance(a, np.ndarray) and a.nbytes]
    for i, (first, a) in enumerate(hosts):
        for second, b in hosts[:i]:
            same = _place(a) == _place(b)
            if (first.written or second.written) and not same and np.shares_memory(a, b):
                raise ValueError(
                    f"{kernel}: {second} and {first} were given arrays that overlap, and host "
                    "arrays are copied one by one; give views of one DeviceArray"
                )
