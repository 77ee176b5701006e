"""The ladder: a bar per variant at one size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..bench_result import size_label
from ..comparison import is_ours
from ._axes import aligned, note, write_beside
from ._records import at_shape, called, in_order, listed, one_family, reference_name, unit_of
from ._style import DARK, PALE, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..bench_result import BenchResult


def draw_ladder(
    result: BenchResult, shape: Any = None, variants: Any = None, cache: Any = None
) -> Figure:
    from matplotlib import pyplot

    family, timed = one_family(result, cache)
    chosen = at_shape(timed, shape)
    key, unit, _ = unit_of(chosen)
    reference = reference_name(family)
    rows = {called(record, family): record for record in chosen}
    names = in_order([name for name in rows if name != reference], family)
    if not names:
        raise ValueError(f"a ladder compares variants: the result has {reference} alone")
    names = listed("variants", variants, names)
    rates = [rows[name][key] for name in names]
    against = rows[reference][key] if reference in rows else None
    figure, ax = pyplot.subplots(figsize=(8.4, 0.29 * len(names) + 1.9), layout="constrained")
    bars = ax.barh(names, rates, color=PALE, edgecolor=DARK, linewidth=0.8, height=0.72)
    for name, bar in zip(names, bars, strict=True):
        if name == "auto":
            bar.set(facecolor=DARK)
        elif not is_ours(rows[name]["family"], rows[name]["variant"]):
            bar.set(facecolor="white", hatch="////")
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(0, 1.03 * max([*rates, against or 0]))
    if against:
        ax.axvline(against, color="black", linewidth=1.6, linestyle="--", gid="reference")
        top = ("data", "axes fraction")
        words = f"{reference}, {against:.4g}"
        note(ax, words, (against, 1), (0, 3), xycoords=top, ha="center", gid="label")
    cells = aligned(rates)
    if against:
        shares = [f"{rate / against:.3f}" for rate in rates]
        cells = [f"{cell}   {share}" for cell, share in zip(cells, shares, strict=True)]
    write_beside(ax, cells)
    ax.set_xlabel(unit + (f"; right: that, and over {reference}" if against else ""))
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    one = chosen[0]
    words = f"{family}, {size_label(one)}, {one['dtype']}, {one['cache']} L2"
    title(figure, words, result)
    return figure
