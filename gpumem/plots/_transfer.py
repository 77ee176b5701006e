"""Transfers over the bus."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from ._axes import band, byte_axis
from ._records import listed
from ._style import STYLES, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..bench_result import BenchResult

_OFF_THE_BUS = {"within", "to_peer"}


def _legend_columns(figure: Figure, entries: int) -> int:
    """As many as fit under a figure, with rows alike."""
    rows = math.ceil(entries / max(1, int(figure.get_figwidth() / 2.2)))
    return math.ceil(entries / rows)


def draw_transfer(result: BenchResult, memory: Any = None, direction: Any = None) -> Figure:
    from matplotlib import pyplot

    timed = [
        one
        for one in result.records
        if one["family"] == "transfer"
        and one["median_ms"]
        and one["gbps"]
        and "kind" in (one["parameters"] or {})
    ]
    if not timed:
        raise ValueError('the result has no transfers: records of family "transfer" with a kind')

    def asked(record: dict[str, Any], name: str) -> str:
        return str(record["parameters"].get(name, record["variant"]))

    kinds = listed("memory", memory, list(dict.fromkeys(asked(one, "kind") for one in timed)))
    # Within the device, or between two, nothing crosses the host's bus: drawn where asked for.
    panels = list(dict.fromkeys(asked(one, "direction") for one in timed))
    if direction is None:
        panels = [name for name in panels if name not in _OFF_THE_BUS] or panels
        kinds = [
            k
            for k in kinds
            if any(asked(o, "direction") in panels for o in timed if asked(o, "kind") == k)
        ]
    panels = listed("direction", direction, panels)
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
        every: list[int] = []
        for name, style in zip(kinds, itertools.cycle(STYLES)):
            line = {
                one["bytes"]: one
                for one in timed
                if asked(one, "kind") == name and asked(one, "direction") == panel
            }
            if not line:
                continue
            records = [line[size] for size in sorted(line)]
            every += line
            (drawn[name],) = ax.plot(
                [one["bytes"] for one in records],
                [one["gbps"] for one in records],
                label=name,
                markersize=4.5,
                linewidth=1.2,
                gid="line",
                **style,
            )
            band(ax, records, "gbps", style["color"])
        if every:
            byte_axis(ax, every)
            ax.set_xticks(ax.get_xticks()[::2])
        ax.set_title(panel.replace("_", " "), fontsize="medium")
        ax.set_xlabel("bytes moved" + (", both ways together" if panel == "both" else ""))
        ax.grid(color="0.92")
    shown = [one["gbps"] for one in timed if asked(one, "direction") in panels]
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
    title(figure, "transfer, by kind of host memory", result)
    return figure
