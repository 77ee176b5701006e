"""The variables of a compiled module, one by one, so that accesses beside them are found."""

from __future__ import annotations

import re
from pathlib import Path

from .elf import Symbol, symbols
from .rewrite import GUARD_BYTES

__all__ = ["extents"]

_HELD = re.compile(r"gm_shared_(\w+?)(?:_\d+)?$")  # in a struct, with its guard
_MANGLED = re.compile(r"^_Z\w*?\d+([A-Za-z_]\w*?)E?$")
_OWN = re.compile(r"gm_guard_\d+|__assert_fail|gm_lane$|^anchor$|__tls_guard|gm_entry_")


def extents(path: Path) -> tuple[list[tuple[int, int, str]], ...]:
    """Return (offset, bytes, name) of the shared, the constant and the device variables."""
    found = [one for one in symbols(path) if not _OWN.search(one.name)]
    shared = [_extent(one) for one in found if one.thread_local]
    constant = [_extent(one) for one in found if one.section == "gm_constant"]
    variables = [_extent(one) for one in found if one.section == "gm_variable"]
    return sorted(shared), sorted(constant), sorted(variables)


def _extent(symbol: Symbol) -> tuple[int, int, str]:
    if match := _HELD.search(symbol.name):
        return symbol.offset, symbol.bytes - GUARD_BYTES, match[1]
    match = _MANGLED.match(symbol.name)
    return symbol.offset, symbol.bytes, match[1] if match else symbol.name
