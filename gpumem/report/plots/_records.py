"""Which records of a result a picture shows, and what it calls them."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base.messages import quoted
from ...base.record import Record
from ...families.keywords import integer
from ...families.table import families, ladder_names
from ..records import reference_of, varied_parameters

if TYPE_CHECKING:
    from ...base.result import BenchResult

_FEW_BYTES = 1024  # any memory moves these in less time than a launch takes


class Unit(NamedTuple):
    """The figure that a picture shows of each record."""

    field: str
    words: str
    ceiling: str  # the key of its peak in a provenance's device; "" if there is none

    @property
    def short(self) -> str:
        """The unit alone."""
        return self.words.split(",")[0]

    def of(self, record: Record) -> float:
        """Return the figure of a record."""
        return getattr(record, self.field) or 0.0


TIME = Unit("median_ms", "ms, shorter is better", "")
COMPUTING = Unit("tflops", "TFLOP/s", "fp32_tflops")
RATE = Unit("gbps", "GB/s, bytes read and written", "bandwidth_gbps")


def unit_of(records: list[Record]) -> Unit:
    """Return the figure that all records have."""
    if all(nbytes(record) <= _FEW_BYTES for record in records):
        return TIME
    return COMPUTING if all(record.tflops is not None for record in records) else RATE


def nbytes(record: Record) -> int:
    """Return the bytes read and written."""
    return record.bytes or 0


def listed(name: str, wanted: Any, known: list[Any]) -> list[Any]:
    """Return those of the known values that an option names; None names all."""
    if wanted is None:
        return known
    if not isinstance(wanted, list | tuple | range):
        return [one_of(name, wanted, known)]
    if not wanted:
        raise ValueError(f"{name} is empty; {_there_are(known)}")
    return list(dict.fromkeys(one_of(name, one, known) for one in wanted))


def one_of(name: str, wanted: Any, known: list[Any]) -> Any:
    """Return the known value that an option names."""
    # Others compare with anything, such as arrays; and True is not 1.
    if isinstance(wanted, str | Number | tuple) and not isinstance(wanted, bool):
        for one in known:
            if one == wanted:
                return one
    raise ValueError(f"{name} {quoted(wanted)} was not measured; {_there_are(known)}")


def _there_are(known: list[Any]) -> str:
    return f"there are: {', '.join(map(str, known))}"


def timed_records(result: BenchResult, cache: str | None, order: str | None) -> list[Record]:
    """Return the records with a time, of one state of the cache and one order."""
    timed = [record for record in result.rows if record.median_ms]
    if not timed:
        raise ValueError("the result has no times to draw")
    for field, wanted in (("cache", cache), ("order", order)):
        known = list(dict.fromkeys(getattr(record, field) for record in timed))
        chosen = one_of(field, known[0] if wanted is None else wanted, known)
        timed = [record for record in timed if getattr(record, field) == chosen]
    return timed


def one_family(
    result: BenchResult, cache: str | None, order: str | None, swept: str | None = None
) -> tuple[str, list[Record]]:
    """Return the benchmarked family, and its records with those of its reference."""
    timed = timed_records(result, cache, order)
    found = list(dict.fromkeys(record.family for record in timed))
    named = [one.family for one in result.rows if one.variant == "auto"]
    family = named[0] if named else found[0]
    kin = reference_of(family) or (family,)
    others = [name for name in found if name not in (family, kin[0])]
    if others:
        raise ValueError(
            f"the result has several families, {', '.join([family, *others])}: "
            "result.filter(family=...) chooses one"
        )
    varied = [name for name in varied_parameters(timed) if name != swept]
    varied += ["dtype"] if len({record.dtype for record in timed}) > 1 else []
    if varied:
        raise ValueError(
            f"the result has several values of {', '.join(varied)}: result.filter(...) chooses one"
        )
    return family, timed


def called(record: Record, family: str) -> str:
    """Return what a record is called in a picture of a family."""
    return record.variant if record.family == family else record.name


def reference_name(family: str, records: Iterable[Record]) -> str:
    """Return what the reference is called in a picture of a family; "" if there is none.

    A user's kernel has what it was measured against, which is as fast as itself.
    """
    found = reference_of(family)
    if found is not None:
        kin, name = found
        return name if kin == family else f"{kin}-{name}"
    as_fast: dict[str, bool] = {}
    for record in records:
        as_fast[record.variant] = record.fraction_of_reference == 1
    names = [name for name, is_one in as_fast.items() if is_one]
    return names[0] if len(names) == 1 < len(as_fast) else ""


def in_order(names: list[str], family: str) -> list[str]:
    """Order names as the table does; then "auto", then other libraries."""
    known = ladder_names(family) if family in families() else []
    return sorted(names, key=lambda n: known.index(n) if n in known else 99 + (n != "auto"))


def _is_permuted(one: Record, other: Record) -> bool:
    return one.bytes == other.bytes and sorted(one.shape) == sorted(other.shape)


def at_shape(records: list[Record], shape: Any) -> list[Record]:
    """Return the records of one shape; by default of the one with most times, or the largest.

    A variant without a time at this shape is there with one whose axes are in another order.
    """
    shapes: dict[tuple[int, ...], list[Record]] = {}
    for record in records:
        shapes.setdefault(record.shape, []).append(record)
    if shape is None:
        chosen = max(shapes.values(), key=lambda found: (len(found), nbytes(found[0])))
        here = {one.name for one in chosen}
        permuted = [found for found in shapes.values() if _is_permuted(found[0], chosen[0])]
        return [*chosen, *(one for found in permuted for one in found if one.name not in here)]
    lengths = shape if isinstance(shape, list | tuple) else (shape,)
    wanted = tuple(integer("shape", one) for one in lengths)
    found: list[Record] = shapes[one_of("shape", wanted, list(shapes))]
    return found
