"""The text of a printed result: tables of figures, and what to know before trusting them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..base import wall_clock
from ..base.record import NO_TIMES, Record
from ..base.result import BenchResult
from ..base.tables import format_table
from .records import provenance_of, reference_of, varied_parameters

__all__ = ["text"]

_MOST_ROWS = 32  # of one table, in a result merged from several

_Label = tuple[str, ...]


@dataclass
class _Table:
    """Cells by column and row label, under a heading."""

    title: str
    keys: list[str]  # the names of the columns that label a row
    rows: Iterable[_Label]
    columns: dict[str, dict[_Label, str]] = field(default_factory=dict)

    def put(self, column: str, row: _Label, cell: str) -> None:
        self.columns.setdefault(column, {})[row] = cell

    def move_to_end(self, column: str) -> None:
        if column in self.columns:
            self.columns[column] = self.columns.pop(column)

    def lines(self) -> list[str]:
        cells = [
            [*row, *(column.get(row, "-") for column in self.columns.values())] for row in self.rows
        ]
        head = [*self.keys, *self.columns]
        return [self.title, format_table(head, cells, keys=len(self.keys))]


def text(result: BenchResult) -> str:
    """Return a result as text, which is what ``print`` shows."""
    device = result.provenance.get("device") or {}
    version, date = result.provenance.get("gpumem"), result.provenance.get("date")
    rows = result.rows
    return "\n".join(
        [
            f"{device.get('name', 'no device')}, gpumem {version}, {date}",
            *_tables(result, rows),
            *_cautions(result, rows),
            *_reasons(rows),
        ]
    )


def _tables(result: BenchResult, rows: list[Record]) -> Iterator[str]:
    """Yield the lines of all tables, each after an empty line."""
    # One long sweep of a merged result must not hide the others.
    most = _MOST_ROWS if "sources" in result.provenance else None
    for cache in dict.fromkeys(row.cache for row in rows):
        for group in _by_family([row for row in rows if row.cache == cache]):
            if all(row.median_ms is None for row in group):
                continue
            tables = [_kernel_table(cache, group, most)] if cache else _wall_clock_tables(group)
            for lines in tables:
                yield ""
                yield from lines


def _by_family(rows: list[Record]) -> list[list[Record]]:
    """Group consecutive records by family; a reference of another family joins its group."""
    groups: list[list[Record]] = []
    for row in rows:
        main = groups[-1][0].family if groups else None
        if main is not None and (
            row.family == main or (row.family, row.variant) == reference_of(main)
        ):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


# ---- kernels, by events of the device -----------------------------------------------------


def _labelled(rows: list[Record], by_order: bool) -> dict[_Label, list[Record]]:
    """Group records by size, by order if asked for, and by the parameters that vary.

    A variant that ignores a parameter was measured once, and is in the rows of all its values.
    """
    varied = varied_parameters(rows)

    def label(row: Record) -> tuple[str | None, ...]:
        values = row.parameters
        first = (row.size, row.order) if by_order else (row.size,)
        return (*first, *(str(values[n]) if n in values else None for n in varied))

    labels = [label(row) for row in rows]
    full = [one for one in dict.fromkeys(labels) if None not in one] or list(dict.fromkeys(labels))
    found: dict[_Label, list[Record]] = {tuple(map(str, one)): [] for one in full}
    for row, mine in zip(rows, labels, strict=True):
        for one in full:
            if all(value in (None, other) for value, other in zip(mine, one, strict=True)):
                found[tuple(map(str, one))].append(row)
    return found


def _figure(row: Record, key: str) -> str | None:
    if key == "us":
        return None if row.median_ms is None else f"{1e3 * row.median_ms:.4g}"
    value = row.tflops if key == "tflops" else row.gbps
    return None if value is None else f"{value:.4g}"


def _kernel_table(cache: str, rows: list[Record], most: int | None) -> list[str]:
    """Rates, or the time of a launch, against size: a column per variant."""
    key, unit = "gbps", "GB/s, bytes read and written"
    if any(row.tflops is not None for row in rows):
        key, unit = "tflops", "TFLOP/s"
    if all(row.is_launch or (row.gbps is None and row.tflops is None) for row in rows):
        key, unit = "us", "us per launch"
    main = rows[0].family  # the reference, which may be of another family, comes last
    by_order = len({row.order for row in rows}) > 1
    labelled = _labelled(rows, by_order)
    left_out = len(labelled) - most if most else 0
    shown = dict(list(labelled.items())[:most])
    conditions = f"{cache} L2" if by_order else rows[0].conditions
    keys = ["size", *(["order"] if by_order else []), *varied_parameters(rows)]
    table = _Table(f"{main}, {conditions}, {unit}", keys, shown)
    ratios: dict[_Label, str] = {}
    for label, members in shown.items():
        for row in members:
            figure = _figure(row, key)
            if figure is not None:
                table.put(row.variant if row.family == main else row.name, label, figure)
            if row.variant == "auto" and row.fraction_of_reference is not None:
                ratios[label] = f"{row.fraction_of_reference:.3f}"
    if ratios:
        table.columns["ratio"] = ratios
        table.title += f"; ratio: auto over {'-'.join(reference_of(main) or ())}"
    lines = table.lines()
    return [*lines, "", f"and {left_out} more rows, in the records"] if left_out > 0 else lines


# ---- transfers and round trips, by the wall clock -----------------------------------------


def _wall_clock_tables(rows: list[Record]) -> Iterator[list[str]]:
    """Yield the lines of a table for each direction of transfers, and each job of round trips."""
    if rows[0].family == "distributed":
        yield _distributed_table(rows)
    for family, variant in dict.fromkeys((row.family, row.variant) for row in rows):
        members = [row for row in rows if (row.family, row.variant) == (family, variant)]
        if any(row.median_ms is not None for row in members):
            if family == "transfer":
                yield _transfer_table(variant, members)
            elif family == "roundtrip":
                yield _roundtrip_table(variant, members)


def _transfer_table(variant: str, rows: list[Record]) -> list[str]:
    note = wall_clock.FAMILIES["transfer"].counted_twice.get(variant)
    several = len({row.parameters["pieces"] for row in rows}) > 1

    def label(row: Record) -> _Label:
        return (row.size, str(row.parameters["pieces"])) if several else (row.size,)

    title = f"transfer {variant}, wall clock, GB/s{f', {note}' if note else ''}"
    keys = ["size", "pieces"] if several else ["size"]
    table = _Table(title, keys, dict.fromkeys(map(label, rows)))
    for row in rows:
        if row.gbps is not None:
            table.put(row.parameters["kind"], label(row), f"{row.gbps:.4g}")
    return table.lines()


def _distributed_table(rows: list[Record]) -> list[str]:
    def label(row: Record) -> _Label:
        return (row.size, str(row.parameters.get("ranks")), str(row.parameters.get("engine")))

    title = "distributed, on all ranks, wall clock, ms"
    table = _Table(title, ["size", "ranks", "engine"], dict.fromkeys(map(label, rows)))
    for row in rows:
        if row.median_ms is not None:
            table.put(row.variant, label(row), f"{row.median_ms:.4g}")
    return table.lines()


def _roundtrip_table(variant: str, rows: list[Record]) -> list[str]:
    title = f"{variant}: round trip, wall clock, ms from ndarray to ndarray; ratio: bus over gpumem"
    labels = dict.fromkeys(
        (row.size, row.parameters["kind"]) for row in rows if row.parameters["by"] != wall_clock.BUS
    )
    table = _Table(title, ["size", "kind"], labels)
    ratios: dict[_Label, str] = {}
    for row in rows:
        by, kind = row.parameters["by"], row.parameters["kind"]
        for label in labels:
            # The lower bound is the same for memory of every kind.
            is_here = label[0] == row.size and (by == wall_clock.BUS or label[1] == kind)
            if is_here and row.median_ms is not None:
                table.put(by, label, f"{row.median_ms:.4g}")
                if by == "gpumem" and row.fraction_of_reference is not None:
                    ratios[label] = f"{row.fraction_of_reference:.3f}"
    table.move_to_end(wall_clock.BUS)
    if ratios:
        table.columns["ratio"] = ratios
    return table.lines()


# ---- words --------------------------------------------------------------------------------


def _cautions(result: BenchResult, rows: list[Record]) -> list[str]:
    """Say what to know before trusting the figures: noise, throttled clocks, an interruption."""
    timed = [row for row in rows if row.median_ms is not None]
    lines = [*_noise(result, timed)]
    slowed = [row for row in timed if row.throttled]
    if slowed:
        why = ", ".join(dict.fromkeys(word for row in slowed for word in row.throttled or ()))
        clocks = [row.clock_mhz for row in slowed if row.clock_mhz]
        at = f", down to {min(clocks)} MHz" if clocks else ""
        lines.append(f"The clocks were held down in {len(slowed)} of {len(timed)}{at}: {why}.")
    if result.provenance.get("interrupted"):
        lines.append("The benchmark was interrupted; the rest was not measured.")
    return ["", *lines] if lines else []


def _noise(result: BenchResult, timed: list[Record]) -> Iterator[str]:
    limits = []
    for row in timed:
        within = (provenance_of(result, row).get("settings") or {}).get("within")
        limits.append(math.inf if within is None else within)
    noisy = [row for row, limit in zip(timed, limits, strict=True) if (row.spread or 0) > limit]
    if noisy:
        bounds = " or ".join(f"{one:.1%}" for one in sorted({*limits} - {math.inf}))
        worst = max(noisy, key=lambda row: row.spread or 0)
        yield (
            f"{len(noisy)} of {len(timed)} did not settle within {bounds}; the noisiest is "
            f"{worst.name} with {worst.spread or 0:.1%}."
        )


def _reasons(rows: list[Record]) -> Iterator[str]:
    """Say why times are missing, and at which sizes if not at all of them."""
    sizes: dict[str, set[str]] = {}
    missing: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        sizes.setdefault(row.label, set()).add(row.size)
        if row.reason:
            missing.setdefault((row.label, row.reason), {})[row.size] = None
    if not missing:
        return
    yield ""
    if any(reason == NO_TIMES for _, reason in missing):
        yield f"No times: {NO_TIMES}."
    for (label, reason), where in missing.items():
        if reason != NO_TIMES:
            at = "" if set(where) == sizes[label] else f" at {', '.join(where)}"
            yield f"{label}{at}: {reason}"
