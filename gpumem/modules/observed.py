"""Runs on the simulator under observation, also of what was loaded for a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..families.copy import copy
from .arguments import bind
from .parameters import Parameter
from .side import Side, take_values
from .textures import TextureObject

if TYPE_CHECKING:
    from .launch import Launch

__all__ = ["observe"]


def observe(launch: Launch, args: Sequence[Any], all_findings: bool) -> dict[str, Any]:
    """Run a launch on the simulator; return what was counted, and what is wrong."""
    module, name = launch.kernel.module, launch.kernel.name
    if module.backend == "sim":
        bound = bind(name, launch.kernel.parameters, args, "sim")
        counted = module.side.simulated().observe(launch, bound, all_findings)
        bound.copy_back()
        return counted
    # The GPU's rules first: they name the arguments as they were given.
    given = bind(name, launch.kernel.parameters, args, module.backend)
    hosts, written = _on_host(name, launch.kernel.parameters, given.values, args)
    for parameter, value in zip(launch.kernel.parameters, hosts, strict=True):
        _check_addresses(name, parameter, value, module.side)
    twin = module.simulated()
    take_values(twin.side, module.side)
    simulated = twin[name].launch(
        launch.grid,
        launch.block,
        shared_bytes=launch.shared_bytes,
        cooperative=launch.cooperative,
        cluster=launch.cluster,
    )
    counted = observe(simulated, hosts, all_findings)
    take_values(module.side, twin.side)
    for host, array in written:
        copy(_core.to_device(host, backend=module.backend), out=array)
    given.copy_back()
    return counted


def _on_host(
    kernel: str, parameters: Sequence[Parameter], values: Sequence[Any], args: Sequence[Any]
) -> tuple[list[Any], list[tuple[np.ndarray[Any, Any], _core.DeviceArray]]]:
    """Return the arguments with arrays on the host, and which of them the kernel writes."""
    copies: dict[Any, np.ndarray[Any, Any]] = {}
    hosts: list[Any] = []
    written = []
    for parameter, value, arg in zip(parameters, values, args, strict=True):
        if isinstance(arg, TextureObject):
            hosts.append(arg.simulated())
            continue
        if isinstance(value, bytes):
            hosts.append(parameter.unpack(value))
            continue
        if value is None:
            hosts.append(None)
            continue
        if not value.contiguous:
            raise ValueError(
                f"{kernel}: {parameter} was given an array that is not contiguous, which the "
                "simulator cannot get a copy of; gpumem.copy makes a contiguous one"
            )
        place = (value.pointer, value.nbytes, value.dtype.str)
        if place not in copies:
            _check_apart(kernel, parameter, place, copies)
            copies[place] = value.to_host()
        if parameter.written:
            written.append((copies[place], value))
        hosts.append(copies[place])
    return hosts, written


def _check_addresses(kernel: str, parameter: Parameter, value: Any, side: Side) -> None:
    """Raise if a struct holds addresses, or an array does in its first element."""
    kind, size = parameter.machine.kind, parameter.machine.bytes
    data = b""
    if isinstance(value, np.ndarray) and value.size and (kind == "V" or (kind, size) == ("u", 8)):
        data = value.reshape(-1)[: size // value.itemsize].tobytes()
    elif isinstance(value, bytes):
        data = value
    words = np.frombuffer(data[: len(data) // 8 * 8], "u8")
    for word in map(int, words):
        if word and side.is_address(word):
            raise ValueError(
                f"{kernel}: {parameter} was given the address {word:#x} inside of it, which the "
                "simulator cannot follow: to observe the kernel, load the module with "
                'backend="sim" and give addresses of arrays there'
            )


def _check_apart(kernel: str, parameter: Parameter, place: Any, others: Any) -> None:
    begin, nbytes = place[:2]
    if any(begin < at + size and at < begin + nbytes for at, size, _ in others):
        raise ValueError(
            f"{kernel}: {parameter} was given an array that overlaps another, and the simulator "
            "gets copies one by one"
        )
