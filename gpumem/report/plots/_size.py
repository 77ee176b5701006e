"""Rates against size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.sizes import format_bytes
from ._axes import band, byte_axis, mark_peak, note_clear
from ._labels import label_ends
from ._lines import draw_lines
from ._records import called, in_order, listed, nbytes, one_family, reference_name, unit_of
from ._style import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...base.record import Record
    from ...base.result import BenchResult

_MOST_LINES = 10


def _mark_cache(ax: Axes, cached: int) -> None:
    """Draw a rule at the size of the L2, and its name where no line crosses it."""
    ax.axvline(cached, color="0.5", linewidth=0.9, linestyle="-.", gid="l2")
    tries = [
        {"xy": (cached, height), "xytext": (far, 0), "ha": side, "va": va}
        for height, va in ((0.01, "bottom"), (0.5, "center"), (0.2, "center"), (0.35, "center"))
        for far, side in ((3, "left"), (-3, "right"))
    ]
    words = f"size of the L2, {format_bytes(cached)}"
    note_clear(ax, words, tries, xycoords=("data", "axes fraction"))


def _lines_by_size(
    result: BenchResult, variants: Any, cache: Any, order: Any
) -> tuple[str, dict[str, list[Record]]]:
    """Return the family, and the records of each line ordered by size."""
    family, timed = one_family(result, cache, order)
    square = [r for r in timed if len(set(r.shape)) <= 1]
    chosen = square if len({r.bytes for r in square}) > 1 else timed
    lines: dict[str, dict[int, Record]] = {}
    for record in chosen:
        lines.setdefault(called(record, family), {})[nbytes(record)] = record
    names = in_order(list(lines), family)
    if variants is not None:
        names = listed("variants", variants, names)
    elif len(names) > _MOST_LINES:
        unit = unit_of(chosen)
        best = {n: max(map(unit.of, lines[n].values())) for n in names}
        kept = ("auto", reference_name(family, chosen))
        ranked = sorted(names, key=lambda n: (n not in kept, -best[n]))
        names = [n for n in names if n in ranked[:_MOST_LINES]]
    if all(len(lines[name]) == 1 for name in names):
        raise ValueError('the result has one size, and no line to draw: plot("ladder") shows it')
    return family, {name: [one for _, one in sorted(lines[name].items())] for name in names}


def draw_size(
    result: BenchResult, variants: Any = None, cache: Any = None, order: Any = None
) -> Figure:
    from matplotlib import pyplot

    family, lines = _lines_by_size(result, variants, cache, order)
    records = [one for line in lines.values() for one in line]
    unit = unit_of(records)
    device = result.provenance.get("device") or {}
    peak = device.get(unit.ceiling) or 0
    height = 1.1 * max(*map(unit.of, records), peak)
    figure, ax = pyplot.subplots(figsize=(8.4, 5.2), layout="constrained")
    drawn = draw_lines(
        ax,
        {name: {nbytes(r): unit.of(r) for r in line} for name, line in lines.items()},
        reference_name(family, records),
        height,
    )
    for name, line in drawn:
        band(ax, lines[name], unit, line.get_color())
    sizes = [nbytes(one) for one in records]
    byte_axis(ax, sizes)
    ax.set_ylim(0, height)
    ax.set_xlabel("bytes read and written")
    ax.set_ylabel(f"{unit.short}: median, band from the 20th to the 80th percentile")
    ax.grid(color="0.92")
    one = records[0]
    title(figure, f"{family} by size, {one.dtype}, {one.conditions}", result)
    label_ends(ax, [line for _, line in drawn])
    cached = device.get("l2_bytes")
    if cached and min(sizes) < cached < max(sizes):
        _mark_cache(ax, cached)
    if peak:
        mark_peak(ax, peak, unit.ceiling)
    return figure
