"""The symbols of a compiled module: where its variables are."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Symbol", "symbols"]

_OBJECT, _THREAD_LOCAL = 1, 6  # types of symbols
_SYMBOLS = 2  # type of the section


@dataclass(frozen=True)
class Symbol:
    """A variable: its name as the compiler gave it, its address in the file's own terms."""

    name: str
    offset: int  # in its section; of a thread-local variable: among them all
    bytes: int
    thread_local: bool
    section: str


def symbols(path: Path) -> list[Symbol]:
    """Return the variables of a shared object for a 64-bit little-endian machine."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path} is not a shared object of a 64-bit little-endian machine")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    # name, type, flags, address, offset, size, link, info, alignment, entry size
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]

    def string(section: int, at: int) -> str:
        begin = sections[section][4] + at
        return data[begin : data.index(b"\0", begin)].decode("utf-8", "surrogateescape")

    found = []
    for section in sections:
        if section[1] != _SYMBOLS:
            continue
        for at in range(section[4], section[4] + section[5], 24):
            name, info, _, index, value, extent = struct.unpack_from("<IBBHQQ", data, at)
            kind = info & 15
            if kind in (_OBJECT, _THREAD_LOCAL) and 0 < index < count and extent:
                begin = 0 if kind == _THREAD_LOCAL else sections[index][3]
                found.append(
                    Symbol(
                        string(section[6], name),
                        value - begin,
                        extent,
                        kind == _THREAD_LOCAL,
                        string(names, sections[index][0]),
                    )
                )
    return found
