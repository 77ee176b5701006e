"""Symbols of compiled modules: shared objects of the host, and machine code of a GPU."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ElfFile", "Symbol", "symbols"]

_OBJECT, _FUNCTION, _THREAD_LOCAL = 1, 2, 6  # types of symbols
_SYMBOLS, _RELA, _REL = 2, 4, 9  # types of sections


@dataclass(frozen=True)
class Symbol:
    """A variable or a function: its name as the compiler gave it, and where it is."""

    name: str
    offset: int  # in its section; of a thread-local variable: among them all
    bytes: int
    thread_local: bool
    section: str
    function: bool = False


@dataclass(frozen=True)
class _Section:
    name: str
    type: int
    address: int
    offset: int  # in the file
    bytes: int
    link: int
    info: int
    entry: int


class ElfFile:
    """A file for a 64-bit little-endian machine."""

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        if self._data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is not a file of a 64-bit little-endian machine")
        (table,) = struct.unpack_from("<Q", self._data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self._data, 0x3A)
        # name, type, flags, address, offset, size, link, info, alignment, entry size
        rows = [
            struct.unpack_from("<IIQQQQIIQQ", self._data, table + i * size) for i in range(count)
        ]
        self._sections = [
            _Section(self._string(rows[names][4] + r[0]), r[1], r[3], r[4], r[5], r[6], r[7], r[9])
            for r in rows
        ]
        self._tables = {  # section of symbols: all of them, in order
            i: self._read_symbols(s) for i, s in enumerate(self._sections) if s.type == _SYMBOLS
        }

    def symbols(self) -> list[Symbol]:
        """Return the variables and functions that are defined here."""
        return [one for table in self._tables.values() for one in table if one]

    def contents(self, symbol: Symbol) -> bytes:
        """Return the bytes that a variable has at first."""
        section = next(s for s in self._sections if s.name == symbol.section)
        begin = section.offset + symbol.offset
        return self._data[begin : begin + symbol.bytes]

    def pointees(self, symbol: Symbol) -> dict[int, str]:
        """Return what the pointers in a variable point to: names by the pointers' offsets."""
        found = {}
        for section in self._sections:
            if section.type not in (_RELA, _REL):
                continue
            if self._sections[section.info].name != symbol.section:
                continue
            table = self._tables[section.link]
            for at in range(section.offset, section.offset + section.bytes, section.entry):
                offset, info = struct.unpack_from("<QQ", self._data, at)
                to = table[info >> 32]
                if to and symbol.offset <= offset < symbol.offset + symbol.bytes:
                    found[offset - symbol.offset] = to.name
        return found

    def _string(self, begin: int) -> str:
        end = self._data.index(b"\0", begin)
        return self._data[begin:end].decode("utf-8", "surrogateescape")

    def _read_symbols(self, table: _Section) -> list[Symbol | None]:
        return [
            self._read_symbol(at, self._sections[table.link].offset)
            for at in range(table.offset, table.offset + table.bytes, 24)
        ]

    def _read_symbol(self, at: int, names: int) -> Symbol | None:
        name, info, _, index, value, extent = struct.unpack_from("<IBBHQQ", self._data, at)
        kind = info & 15
        known = kind in (_OBJECT, _FUNCTION, _THREAD_LOCAL)
        if not known or not 0 < index < len(self._sections) or not extent:
            return None
        section = self._sections[index]
        return Symbol(
            self._string(names + name),
            value - (0 if kind == _THREAD_LOCAL else section.address),
            extent,
            kind == _THREAD_LOCAL,
            section.name,
            kind == _FUNCTION,
        )


def symbols(path: Path) -> list[Symbol]:
    """Return the variables of a shared object."""
    return [one for one in ElfFile(path).symbols() if not one.function]
