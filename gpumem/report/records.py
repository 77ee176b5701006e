"""What tables, pictures and comparisons ask about the records of a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..base import wall_clock
from ..base.record import Record
from ..base.result import BenchResult
from ..families import oracle, peers
from ..families.table import find

__all__ = ["is_ours", "is_reference", "provenance_of", "reference_of", "varied_parameters"]


def varied_parameters(rows: Iterable[Record]) -> list[str]:
    """Return the parameters that have several values."""
    seen: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.parameters.items():
            seen.setdefault(name, set()).add(repr(value))
    return [name for name, values in seen.items() if len(values) > 1]


def reference_of(family: str) -> tuple[str, str] | None:
    """Return family and variant of the reference; None for a family of another gpumem version."""
    try:
        return oracle.reference(family)
    except ValueError:
        return None


def is_reference(family: str, variant: str) -> bool:
    """Return whether the other records of a run are measured against this variant."""
    return reference_of(family) == (family, variant)


def is_ours(family: str, variant: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether a variant is gpumem's code, and not the driver's or another library's."""
    if family in wall_clock.FAMILIES:
        return wall_clock.is_ours(family, parameters)
    if variant in peers.names():
        return False
    try:
        row = find(family, variant)
    except ValueError:
        return True
    is_driver = row.source.endswith(".c") and is_reference(family, variant)
    return not (is_driver or "cuBLAS" in row.requires)


def provenance_of(result: BenchResult, row: Record) -> dict[str, Any]:
    """Return the provenance of a record: of the result that it was merged from, if it was."""
    sources = result.provenance.get("sources") or {}
    found: dict[str, Any] = sources.get(row.source, result.provenance)
    return found
