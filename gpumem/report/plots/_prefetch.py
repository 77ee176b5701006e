"""Where prefetching pays: lines against the distance, and the map."""

from __future__ import annotations

import itertools
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.record import order_words
from ..prefetch_points import FAMILY, Point, points
from ._lines import coincident
from ._records import in_order, listed, one_of
from ._style import INNER, OUTER, STYLES, ink, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...base.result import BenchResult


_WORK = "work: rounds of arithmetic per element"


def _rising(values: Any) -> list[Any]:
    return sorted(dict.fromkeys(values))


def _points(result: BenchResult) -> list[Point]:
    """Return the points of a result, which have to be of one state of the L2 and one order."""
    found = points(result)
    for field in ("cache", "order"):
        if len({getattr(point, field) for point in found}) > 1:
            raise ValueError(
                f"the result has several values of {field}: result.filter({field}=...) chooses one"
            )
    return found


def _variants_in_order(found: list[Point]) -> list[str]:
    """Return the variants that have a distance, in the order of the table."""
    seen = {one.variant for point in found for one in point.tries if one.distance is not None}
    return in_order(sorted(seen), FAMILY)


def _paddings(found: list[Point]) -> list[Any]:
    tried = (one.padding for point in found for one in point.tries)
    return list(dict.fromkeys(one for one in tried if one is not None))


def _line(point: Point, variant: str, bare: bool) -> dict[int, float]:
    """Return the speed-up by distance, without padding if bare, else with the default one."""
    for padding in [0] if bare else ["auto", None]:
        found = {
            one.distance: one.speed_up
            for one in sorted(point.tries, key=lambda one: one.distance or 0)
            if one.variant == variant and one.padding == padding and one.distance is not None
        }
        if found:
            return found
    return {}


# A variant's two lines have its colour and marker.
_PADDED = INNER | {"linestyle": "-"}
_BARE = OUTER | {"linestyle": (0, (1, 1.4))}


def _finish_panels(axes: Any, rows: list[int], columns: list[float]) -> Any:
    """Set titles and axes of all panels, draw the baseline in each, and return one of them."""
    for i, row in enumerate(axes):
        for j, ax in enumerate(row):
            baseline = ax.axhline(1, color="0.55", linewidth=2.2, zorder=1.8, gid="baseline")
            ax.set_title(f"work {rows[i]}, {columns[j]:g} warps per SM", fontsize="medium")
            ax.set_xticks([1, 4, 8, 12, 16])
            ax.set_ylim(bottom=0)
            ax.grid(color="0.9")
        row[0].set_ylabel("times as fast as baseline")
    for ax in axes[-1]:
        ax.set_xlabel("distance, steps ahead")
    return baseline


def _label(variant: str, bare: bool) -> str:
    return f"{variant}, no padding" if bare else variant


def _coincident(kinds: list[tuple[str, bool]], shown: list[Point]) -> list[list[tuple[str, bool]]]:
    """Group the lines that coincide in all panels, but not those with padding and without."""
    top: dict[int, float] = {}  # of a row of panels, which share their axis
    for point in shown:
        top[point.work] = max([top.get(point.work, 0), *(one.speed_up for one in point.tries)])
    lines = {
        kind: {
            (point.work, point.warps, distance): rate / top[point.work]
            for point in shown
            for distance, rate in _line(point, *kind).items()
        }
        for kind in kinds
    }
    groups = [
        group
        for bare in (False, True)
        for group in coincident({k: line for k, line in lines.items() if k[1] == bare}, 1)
    ]
    return sorted(groups, key=lambda group: kinds.index(group[0]))


def draw_distance(
    result: BenchResult, work: Any = None, warps: Any = None, variants: Any = None
) -> Figure:
    from matplotlib import pyplot

    found = _points(result)
    rows = listed("work", work, _rising(one.work for one in found))
    columns = listed("warps", warps, _rising(one.warps for one in found))
    ladder = _variants_in_order(found)
    kinds = sorted(
        {
            (one.variant, one.padding == 0)
            for point in found
            for one in point.tries
            if one.distance is not None
        },
        key=lambda kind: (ladder.index(kind[0]), kind[1]),
    )
    named = listed("variants", variants, ladder)
    kinds = [(name, bare) for name, bare in kinds if name in named]
    figure, axes = pyplot.subplots(
        len(rows),
        len(columns),
        figsize=(max(3.0 * len(columns) + 0.8, 4.8), 2.8 * len(rows) + 1.9),
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    shown = [one for one in found if one.work in rows and one.warps in columns]
    lines: dict[str, Any] = {}
    styles = dict(zip(dict.fromkeys(name for name, _ in kinds), itertools.cycle(STYLES)))
    for together in _coincident(kinds, shown):
        name, bare = together[0]
        label = "\n".join(_label(*kind) for kind in together)
        style = {**styles[name], **(_BARE if bare else _PADDED)}
        for point in shown:
            line = _line(point, name, bare)
            ax = axes[rows.index(point.work)][columns.index(point.warps)]
            (lines[label],) = ax.plot(
                list(line),
                list(line.values()),
                label=label,
                linewidth=1.1,
                gid="line",
                **style,
            )
    lines["baseline, the plain loop"] = _finish_panels(axes, rows, columns)
    figure.legend(
        lines.values(),
        lines.keys(),
        loc="outside lower center",
        ncols=max(1, int(figure.get_figwidth() / 2.9)),
        fontsize="small",
        handlelength=3.2,
    )
    title(figure, f"prefetch_sum by distance{order_words(found[0].order)}; {_WORK}", result)
    return figure


def _write_cells(ax: Axes, mesh: Any, cells: Any, marks: Any) -> None:
    """Write the value of each cell, and its mark if there are marks."""
    for place, value in np.ndenumerate(cells):
        if not np.isnan(value):
            ax.text(
                place[1] + 0.5,
                place[0] + 0.5,
                f"{value:.2f}" + ("" if marks is None else f" {marks[place]}"),
                ha="center",
                va="center",
                fontsize=8,
                gid="cell",
                color=ink(mesh, value),
            )


def _draw_cells(ax: Axes, cells: Any, marks: Any, norm: Any) -> None:
    """Draw a coloured cell for each point that was measured, with a frame if it is a loss."""
    style = {"cmap": "RdBu", "norm": norm}
    known = np.ma.masked_invalid(cells)
    mesh = ax.pcolormesh(known, edgecolors="white", linewidth=0.6, **style)
    losses = np.ma.masked_where(~(cells < 1), cells)
    ax.pcolor(losses, edgecolor="black", linewidth=1.6, gid="losses", **style)
    _write_cells(ax, mesh, cells, marks)


def draw_map(
    result: BenchResult, work: Any = None, variant: Any = None, padding: Any = None
) -> Figure:
    from matplotlib import pyplot
    from matplotlib.colors import TwoSlopeNorm

    found = _points(result)
    panels = listed("work", work, _rising(one.work for one in found))
    warps = _rising(one.warps for one in found)
    names = _variants_in_order(found)
    variant = None if variant is None else one_of("variant", variant, names)
    padding = None if padding is None else one_of("padding", padding, _paddings(found))
    distances = _rising(t.distance for one in found for t in one.tries if t.distance is not None)
    letters = {name: chr(ord("a") + i) for i, name in enumerate(names)}
    cells = np.full((len(panels), len(warps), len(distances)), np.nan)
    marks = np.full(cells.shape, "", dtype=object)
    for point in found:
        if point.work not in panels:
            continue
        for k, distance in enumerate(distances):
            best = point.find(variant, distance, padding)
            if best is not None:
                place = panels.index(point.work), warps.index(point.warps), k
                cells[place] = best.speed_up
                marks[place] = letters[best.variant]
    if np.isnan(cells).all():
        raise ValueError(f"variant {variant!r} with padding {padding!r} was not measured")
    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    norm = TwoSlopeNorm(1, min(low, 0.9), max(high, 1.1))
    figure, axes = pyplot.subplots(
        len(panels),
        1,
        figsize=(
            max(0.62 * len(distances) + 1.9, 6.4),
            (0.38 * len(warps) + 0.85) * len(panels) + 1.3,
        ),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for panel, ax in enumerate(axes[:, 0]):
        _draw_cells(ax, cells[panel], None if variant else marks[panel], norm)
        ax.set_yticks([i + 0.5 for i in range(len(warps))], [f"{count:g}" for count in warps])
        ax.set_xticks([k + 0.5 for k in range(len(distances))], list(map(str, distances)))
        ax.tick_params(length=0)
        ax.set_ylabel("warps per SM")
        ax.set_title(f"work {panels[panel]}", fontsize="medium")
    framed = "; framed: slower than baseline" if low < 1 else ""
    axes[-1, 0].set_xlabel(f"distance, steps ahead{framed}")
    what = variant or "the best variant (its letter)"
    if variant and padding is not None:
        what += f", padding {padding}"
    what += order_words(found[0].order)
    title(figure, f"prefetch_sum: times as fast as baseline, {what}\n{_WORK}", result)
    if not variant:
        used = [f"{letters[name]} {name}" for name in names if (marks == letters[name]).any()]
        key = textwrap.fill("   ".join(used), int(16 * figure.get_figwidth()))
        figure.supxlabel(key, fontsize="small")
    return figure
