"""Transfers over the bus."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from ._axes import band, byte_axis
from ._records import RATE, listed, nbytes
from ._style import INNER, OUTER, STYLES, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...base.record import Record
    from ...base.result import BenchResult

_OFF_THE_BUS = {"within", "to_peer"}

_TITLES = {"both": "both ways at once", "within": "within the device"}


def _legend_columns(figure: Figure, entries: int) -> int:
    """Return as many columns as fit under a figure, with rows of equal length."""
    rows = math.ceil(entries / max(1, int(figure.get_figwidth() / 2.2)))
    return math.ceil(entries / rows)


def _asked(record: Record, name: str) -> str:
    return str(record.parameters.get(name, record.variant))


def _draw_lines(ax: Axes, lines: dict[str, dict[int, Record]], drawn: dict[str, Any]) -> None:
    """Draw the rates of one direction against size, for each kind of memory that has any."""
    looks = zip(itertools.cycle(STYLES), itertools.cycle((INNER, OUTER)))
    for (name, line), (style, nested) in zip(lines.items(), looks, strict=False):
        if not line:
            continue
        records = [line[size] for size in sorted(line)]
        (drawn[name],) = ax.plot(
            [nbytes(one) for one in records],
            [one.gbps for one in records],
            label=name,
            linewidth=1.2,
            gid="line",
            **style,
            **nested,
        )
        band(ax, records, RATE, style["color"])
    every = [size for line in lines.values() for size in line]
    if every:
        byte_axis(ax, every)
        ax.set_xticks(ax.get_xticks()[::2])
    ax.grid(color="0.92")


def _chosen(timed: list[Record], memory: Any, direction: Any) -> tuple[list[str], list[str]]:
    """Return the kinds of memory, and the directions, which are the panels."""
    kinds = listed("memory", memory, list(dict.fromkeys(_asked(one, "kind") for one in timed)))
    # Copies within a device or between two do not cross the host's bus: drawn only if asked for.
    panels = list(dict.fromkeys(_asked(one, "direction") for one in timed))
    if direction is None:
        panels = [name for name in panels if name not in _OFF_THE_BUS] or panels
        kinds = [
            k
            for k in kinds
            if any(_asked(o, "direction") in panels for o in timed if _asked(o, "kind") == k)
        ]
    return kinds, listed("direction", direction, panels)


def draw_transfer(result: BenchResult, memory: Any = None, direction: Any = None) -> Figure:
    from matplotlib import pyplot

    timed = [
        one
        for one in result.rows
        if one.family == "transfer" and one.gbps and "kind" in one.parameters
    ]
    if not timed:
        raise ValueError('the result has no transfers: records of family "transfer" with a kind')

    kinds, panels = _chosen(timed, memory, direction)
    figure, axes = pyplot.subplots(
        1,
        len(panels),
        figsize=(4.4 * len(panels) + 1.8, 4.4),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    figure.get_layout_engine().set(wspace=0.05)  # the last tick of one, the first of the next
    drawn: dict[str, Any] = {}
    for panel, ax in zip(panels, axes[0], strict=True):
        lines = {
            name: {
                nbytes(one): one
                for one in timed
                if _asked(one, "kind") == name and _asked(one, "direction") == panel
            }
            for name in kinds
        }
        _draw_lines(ax, lines, drawn)
        ax.set_title(_TITLES.get(panel, panel.replace("_", " ")), fontsize="medium")
        ax.set_xlabel("bytes moved" + (", the sum of both ways" if panel == "both" else ""))
    shown = [RATE.of(one) for one in timed if _asked(one, "direction") in panels]
    axes[0, 0].set_ylim(0, 1.08 * max(shown))  # of all panels: they share it
    bus = _OFF_THE_BUS.isdisjoint(panels)
    axes[0, 0].set_ylabel("GB/s over the bus" if bus else "GB/s")
    figure.legend(
        drawn.values(),
        [name.replace("_", " ") for name in drawn],
        loc="outside lower center",
        ncols=_legend_columns(figure, len(drawn)),
        fontsize="small",
        handlelength=3.2,
    )
    title(
        figure,
        "transfer by kind of host memory: median, band from the 20th to the 80th percentile",
        result,
    )
    return figure
