"""What a compiler of device code knows of a source's kernels and variables.

A text behind the source has the compiler write it down: for each kernel its name as a symbol and
the types of its parameters, for each device variable its symbol, the type of its elements and its
shape, all as constants that are read from the machine code.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .elf import ElfFile
from .errors import CompileError
from .machine_type import MachineType
from .overloads import pointers
from .own_sources import csrc

__all__ = ["DeviceCode", "DeviceVariable", "describing", "read_code"]

_TYPE = struct.Struct("<ccc1xI")  # gm_module_parameter
_HEAD = """
#line 1 "gpumem"
struct gm_module_parameter { char kind, pointer, constant; unsigned bytes; };
"""
_TEMPLATES = """
template <typename function> struct gm_signature;
template <typename... types> struct gm_signature<void(types...)> {
    struct list { gm_module_parameter all[sizeof...(types) + 1]; };
    static constexpr list value = {{gm_describe<types>::parameter..., {}}};
};
template <typename type, unsigned long long... sides> struct gm_variable_type {
    struct record { gm_module_parameter element; unsigned long long shape[sizeof...(sides) + 1]; };
    static constexpr record value = {gm_describe<type>::parameter, {sides..., 0}};
};
template <typename type, unsigned long long side, unsigned long long... sides>
struct gm_variable_type<type[side], sides...> : gm_variable_type<type, sides..., side> {};
template <typename type> struct gm_variable_type<type &> : gm_variable_type<type> {};
template <int number, auto *kernel> __device__ char gm_name = 1;
"""
_NAME = re.compile(r"_Z(N\w*?)?7gm_nameILi(\d+)EXadL_Z(\w+)$")
_PLAIN = re.compile(r"(\d+)(\w+)")


@dataclass(frozen=True)
class DeviceVariable:
    """A variable on a GPU: its symbol, its elements and its shape."""

    symbol: str
    managed: bool
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class DeviceCode:
    """What is in a file of machine code, by the names in the source."""

    symbols: dict[str, str]  # of kernels
    kernels: dict[str, list[MachineType]]
    variables: dict[str, DeviceVariable]


def _globally(name: str) -> str:
    return f"::{name.removeprefix('::')}"


def describing(kernels: Sequence[str], variables: Mapping[str, bool]) -> str:
    """Return the text that goes behind a source; of variables it says whether one is managed."""
    declared, found = pointers(kernels)
    lines = [declared]
    for i, (address, type_) in enumerate(found.values()):
        lines += [
            f"template __device__ char gm_name<{i}, {address}>;",
            f'extern "C" __device__ const gm_signature<{type_}>::list gm_kernel_{i} ='
            f" gm_signature<{type_}>::value;",
        ]
    for i, name in enumerate(map(_globally, variables)):
        of = f"gm_variable_type<decltype(({name}))>"
        lines.append(f'extern "C" __device__ const {of}::record gm_variable_{i} = {of}::value;')
    if variables:
        addresses = ", ".join(
            "nullptr" if managed else f"(const void *)&{_globally(name)}"  # no constant
            for name, managed in variables.items()
        )
        lines.append(f'extern "C" __device__ const void *const gm_addresses[] = {{{addresses}}};')
    describe = (csrc() / "module" / "describe.h").read_text()
    return "\n".join([_HEAD, describe, _TEMPLATES, *lines, ""])


def read_code(path: Path, kernels: Sequence[str], variables: Sequence[str]) -> DeviceCode:
    """Read a file of machine code that was compiled with `describing` the same names."""
    elf = ElfFile(path)
    found = {one.name: one for one in elf.symbols()}
    functions = [one.name for one in found.values() if one.function]
    tagged = {int(m[2]): m for m in map(_NAME.match, found) if m}
    symbols = {name: _function(tagged[i], functions, name) for i, name in enumerate(kernels)}
    types = {}
    for i, name in enumerate(kernels):
        records = [*_TYPE.iter_unpack(elf.contents(found[f"gm_kernel_{i}"]))][:-1]
        types[name] = [_machine_type(*record) for record in records]
    addresses = elf.pointees(found["gm_addresses"]) if variables else {}
    described = {}
    for i, name in enumerate(variables):
        data = elf.contents(found[f"gm_variable_{i}"])
        element = _machine_type(*_TYPE.unpack_from(data))
        shape = [side for (side,) in struct.iter_unpack("<Q", data[_TYPE.size :])][:-1]
        kind = "u8" if element.pointer else f"{element.kind}{element.bytes}"
        symbol = addresses.get(8 * i)
        described[name] = DeviceVariable(
            symbol or _mangled(name), symbol is None, np.dtype(kind), tuple(shape)
        )
    return DeviceCode(symbols, types, described)


def _machine_type(kind: bytes, pointer: bytes, constant: bytes, size: int) -> MachineType:
    return MachineType(kind.decode(), size, pointer != b"\0", constant != b"\0")


def _mangled(variable: str) -> str:
    parts = variable.split("::")
    nested = "".join(f"{len(part)}{part}" for part in parts)
    return variable if len(parts) == 1 else f"_ZN{nested}E"


def _function(match: re.Match[str], functions: Sequence[str], name: str) -> str:
    """Return the function whose name is part of the name of a tag.

    There it counts its repetitions from another number, and extern "C" has no effect.
    """
    inside = match[3][: -4 if match[1] else -3]  # closes the argument, the list, and the nesting
    wanted = _without_numbers("_Z" + inside)
    same = [one for one in functions if _without_numbers(one) == wanted]
    if plain := _PLAIN.match(inside):
        same += [one for one in functions if one == plain[2][: int(plain[1])]]
    if not same:
        raise CompileError(f"kernel {name} is not in the compiled code")
    return same[0]


def _without_numbers(symbol: str) -> str:
    return re.sub(r"S[0-9A-Z]*_", "S_", symbol)
