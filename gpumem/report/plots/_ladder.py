"""The ladder: a bar per variant at one size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...families.table import families
from ..records import is_ours
from ._axes import aligned, explain_bars, mark_reference, note, paint_bars, write_beside
from ._records import at_shape, called, in_order, listed, one_family, reference_name, unit_of
from ._style import title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...base.record import Record
    from ...base.result import BenchResult


_MEANINGS = {
    "auto": "auto, gpumem's choice",
    "gpumem": "a variant of gpumem",
    "another library": "another library",
}


def _meaning(name: str, record: Record) -> str:
    if name == "auto":
        return "auto"
    ours = is_ours(record.family, record.variant, record.parameters)
    return "gpumem" if ours else "another library"


def draw_ladder(
    result: BenchResult,
    shape: Any = None,
    variants: Any = None,
    cache: Any = None,
    order: Any = None,
) -> Figure:
    from matplotlib import pyplot

    family, timed = one_family(result, cache, order)
    chosen = at_shape(timed, shape)
    unit = unit_of(chosen)
    reference = reference_name(family, chosen)
    rows = {called(record, family): record for record in chosen}
    names = in_order([name for name in rows if name != reference], family)
    if not names:
        raise ValueError(f"a ladder compares variants: the result has {reference} alone")
    names = listed("variants", variants, names)
    rates = [unit.of(rows[name]) for name in names]
    against = unit.of(rows[reference]) if reference in rows else None
    figure, ax = pyplot.subplots(figsize=(8.4, 0.29 * len(names) + 2.2), layout="constrained")
    bars = ax.barh(names, rates, height=0.72)
    meanings = [_meaning(name, rows[name]) for name in names]
    paint_bars(ax, bars, meanings)
    known = family in families()
    words = {one: _MEANINGS[one] for one in meanings if known or one != "gpumem"}
    if words:
        explain_bars(figure, words)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(0, 1.03 * max([*rates, against or 0]))
    cells, head = aligned(rates), unit.short
    if against:
        mark_reference(ax, against)
        top = ("data", "axes fraction")
        side = "right" if against > 0.6 * ax.get_xlim()[1] else "left"
        note(
            ax,
            f"dashed: {reference}, {against:.4g}",
            (against, 1),
            (0, 3),
            xycoords=top,
            ha=side,
            gid="label",
        )
        shares = [f"{rate / against:.3f}" for rate in rates]
        cells = [f"{cell}   {share}" for cell, share in zip(cells, shares, strict=True)]
        head += f", \N{DIVISION SIGN} {reference}"
    write_beside(ax, cells, head)
    ax.set_xlabel(unit.words)
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    one = chosen[0]
    title(figure, f"{family}, {one.size}, {one.dtype}, {one.conditions}", result)
    return figure
