"""Round trips from ndarray to ndarray, and who makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..bench_result import size_label
from ._axes import aligned, write_beside
from ._records import listed
from ._style import DARK, PALE, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..bench_result import BenchResult

# Whom a round trip is done by, from the top.
_BY = {"gpumem": "gpumem", "one_piece": "gpumem, in one piece"}


def _draw_bars(ax: Axes, times: dict[str, float], floor: float | None, most: float) -> None:
    """A bar for each, in ms, to the same end in all panels of a job.

    From what the bus takes alone: nothing is faster.
    """
    start = floor or min(times.values()) / 2
    lengths = [time - start for time in times.values()]
    bars = ax.barh(range(len(times)), lengths, left=start, height=0.72)
    for name, bar in zip(times, bars, strict=True):
        own = name in _BY
        bar.set(edgecolor=DARK, linewidth=0.8, facecolor=PALE if own else "white")
        bar.set_hatch(None if own else "////")
        if name == "gpumem":
            bar.set_facecolor(DARK)
    ax.set_ylim(len(times) - 0.4, -0.6)
    ax.set_yticks(range(len(times)), [_BY.get(name, name) for name in times])
    ax.set_xscale("log")
    ax.set_xlim(0.75 * start, 1.3 * most)
    low, high = ax.get_xlim()
    ticks = [n * 10.0**p for p in range(-4, 6) for n in (1, 2, 5) if low <= n * 10.0**p <= high]
    ax.set_xticks(ticks if len(ticks) < 8 else ticks[::3])
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.minorticks_off()
    ax.tick_params(axis="x", labelsize="small")
    if floor:
        ax.axvline(floor, color="black", linewidth=1.4, linestyle="--", gid="reference")
    write_beside(ax, aligned(list(times.values()), 3))
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)


def draw_roundtrip(
    result: BenchResult, variants: Any = None, memory: Any = None, by: Any = None
) -> Figure:
    from matplotlib import pyplot

    timed = [one for one in result.records if one["family"] == "roundtrip" and one["median_ms"]]
    if not timed:
        raise ValueError('the result has no round trips: gpumem.bench("roundtrip") measures them')

    made = [one["parameters"] for one in timed if one["parameters"]["by"] != "bus"]
    jobs = listed("variants", variants, list(dict.fromkeys(one["variant"] for one in timed)))
    kinds = listed("memory", memory, list(dict.fromkeys(one["kind"] for one in made)))
    whom = listed("by", by, list(dict.fromkeys(one["by"] for one in made)))
    figure, axes = pyplot.subplots(
        len(jobs),
        len(kinds),
        figsize=(4.6 * len(kinds) + 1.2, (0.22 * len(whom) + 0.62) * len(jobs) + 1),
        sharex="row",
        squeeze=False,
        layout="constrained",
    )
    for job, row in zip(jobs, axes, strict=True):
        mine = [one for one in timed if one["variant"] == job]
        largest = max(one["bytes"] for one in mine)
        mine = [one for one in mine if one["bytes"] == largest]
        floor = next((one["median_ms"] for one in mine if one["parameters"]["by"] == "bus"), None)
        for kind, ax in zip(kinds, row, strict=True):
            times = {
                one["parameters"]["by"]: one["median_ms"]
                for one in mine
                if one["parameters"].get("kind") == kind
            }
            most = max(one["median_ms"] for one in mine)
            _draw_bars(ax, {name: times[name] for name in whom if name in times}, floor, most)
            ax.set_title(f"{job}, {size_label(mine[0])}, {kind}", fontsize="medium")
    for ax in axes[-1]:
        ax.set_xlabel("ms" + (", from those of the bus alone (dashed)" if floor else ""))
    title(figure, "round trips from ndarray to ndarray, by the host's clock", result)
    return figure
