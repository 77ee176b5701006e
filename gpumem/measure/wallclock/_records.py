"""What records of these families stand for, and how they are told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...base.messages import quoted
from ._known import KNOWN

if TYPE_CHECKING:
    from ._family import Record


def is_ours(family: str, parameters: dict[str, Any]) -> bool:
    """Return whether gpumem's code does what a record is of, and not the driver or a library."""
    return KNOWN[family].is_ours(parameters)


def peers(family: str) -> tuple[str, ...]:
    """Return the names of the libraries that do the same beside, for a benchmark to measure."""
    return tuple(KNOWN[family].peers)


# What records are told apart by, besides what all have.
_TOLD: dict[str, dict[str, type]] = {
    "transfer": {"kind": str, "pieces": int},
    "roundtrip": {"kind": str, "by": str},
}


def check(family: str, parameters: dict[str, Any]) -> None:
    """Raise ValueError, which names the parameter, if they do not say what a record is of."""
    for name, kind in _TOLD[family].items():
        if not isinstance(parameters.get(name), kind):
            raise ValueError(f"{name} of {family} is {quoted(parameters.get(name))}")


def strain(family: str, parameters: dict[str, Any]) -> str:
    """Return what the host has to do, in a word: times of one are noisy alike."""
    return KNOWN[family].strain(parameters)


def label(record: Record) -> str:
    """Return who a reason is about."""
    values = record["parameters"]
    return f"{record['family']}-{record['variant']} {values.get('by', values.get('kind'))}"


def tables(records: list[Record]) -> Iterator[str]:
    """Yield the lines of a table for each direction, or each job."""
    first = True
    for family, variant in dict.fromkeys((one["family"], one["variant"]) for one in records):
        members = [one for one in records if (one["family"], one["variant"]) == (family, variant)]
        # A file may be of a gpumem that had other families.
        if family in KNOWN and any(one["median_ms"] is not None for one in members):
            if not first:
                yield ""
            first = False
            yield from KNOWN[family].table(variant, members)
