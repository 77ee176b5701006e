"""Arguments of a launch: checked against the kernel's parameters, and brought to the backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from .parameters import Parameter

__all__ = ["Arguments", "bind"]


@dataclass
class Arguments:
    """What a launch gets: the bytes of each argument, and the arrays behind the pointers."""

    values: list[bytes] = field(default_factory=list)
    arrays: list[_core.DeviceArray] = field(default_factory=list)  # kept alive
    written: list[tuple[np.ndarray[Any, Any], _core.DeviceArray]] = field(default_factory=list)

    def copy_back(self) -> None:
        """Copy to the host what the kernel has written there."""
        for host, device in self.written:
            host[...] = device.to_host().reshape(host.shape)


def bind(
    kernel: str, parameters: Sequence[Parameter], args: Sequence[Any], backend: str
) -> Arguments:
    """Check the arguments of a kernel, and copy host arrays to the backend.

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
    pairs = list(zip(parameters, args, strict=True))
    for parameter, value in pairs:
        if parameter.is_array:
            _check_array(kernel, parameter, value, backend)
    _check_overlap(kernel, pairs)
    bound = Arguments()
    copies: dict[Any, _core.DeviceArray] = {}
    for parameter, value in pairs:
        if not parameter.is_array:
            bound.values.append(parameter.pack(value, kernel))
        elif value is None:
            bound.values.append(bytes(8))
        else:
            array = value
            if isinstance(value, np.ndarray):
                place = _place(value)
                if place not in copies:
                    copies[place] = _core.to_device(value, backend=backend)
                array = copies[place]
                if parameter.written and not any(array is one for _, one in bound.written):
                    bound.written.append((value, array))
            bound.arrays.append(array)
            bound.values.append(array.pointer.to_bytes(8, "little"))
    return bound


def _place(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Return what two arrays have in common if they are the same memory in the same order."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def _check_array(kernel: str, parameter: Parameter, value: Any, backend: str) -> None:
    if value is None:
        return
    if not isinstance(value, np.ndarray | _core.DeviceArray):
        raise parameter.mismatch(kernel, value, f"{parameter.elements()}, or None")
    if not parameter.takes(value.dtype, value.nbytes):
        raise parameter.mismatch(kernel, value, parameter.elements())
    if isinstance(value, _core.DeviceArray) and value.backend != backend:
        raise TypeError(
            f"{kernel}: {parameter} was given an array of backend {value.backend!r}, and the "
            f"module was loaded for {backend!r}"
        )
    if isinstance(value, np.ndarray) and parameter.written and not value.flags.writeable:
        raise ValueError(
            f"{kernel}: {parameter} was given a read-only array, and the kernel may write to it; "
            "declare it const, or give a copy"
        )


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
