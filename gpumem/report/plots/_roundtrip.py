"""Round trips from ndarray to ndarray, and who makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.wall_clock import BUS
from ._axes import aligned, explain_bars, mark_reference, paint_bars, write_beside
from ._records import listed, nbytes
from ._style import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...base.result import BenchResult

# Who makes a round trip, from the top.
_BY = {"gpumem": "gpumem", "one_piece": "gpumem, in one piece"}

_MEANINGS = {"gpumem": "auto", "one_piece": "gpumem"}

_EXPLAINED = {
    "auto": "gpumem: transfers and kernel overlap",
    "gpumem": "gpumem, in one piece: one after the other",
    "another library": "another library",
}


def _draw_bars(ax: Axes, times: dict[str, float | None], floor: float | None, most: float) -> None:
    """Draw a bar in ms for each that was measured, on one scale in all panels of a job.

    Bars begin at the time of the bus alone: nothing is faster.
    """
    known = [time for time in times.values() if time]
    start = floor or min(known) / 2
    rows = [i for i, time in enumerate(times.values()) if time]
    bars = ax.barh(rows, [time - start for time in known], left=start, height=0.72)
    named = [name for name, time in times.items() if time]
    paint_bars(ax, bars, [_MEANINGS.get(name, "another library") for name in named])
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
        mark_reference(ax, floor)
    cells = iter(aligned(known, 3))
    write_beside(ax, [next(cells) if time else "\N{EN DASH}" for time in times.values()], "ms")
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)


def draw_roundtrip(
    result: BenchResult, variants: Any = None, memory: Any = None, by: Any = None
) -> Figure:
    from matplotlib import pyplot

    timed = [one for one in result.rows if one.family == "roundtrip" and one.median_ms]
    if not timed:
        raise ValueError('the result has no round trips: gpumem.bench("roundtrip") measures them')

    made = [one.parameters for one in timed if one.parameters["by"] != BUS]
    jobs = listed("variants", variants, list(dict.fromkeys(one.variant for one in timed)))
    kinds = listed("memory", memory, list(dict.fromkeys(one["kind"] for one in made)))
    makers = listed("by", by, list(dict.fromkeys(one["by"] for one in made)))
    figure, axes = pyplot.subplots(
        len(jobs),
        len(kinds),
        figsize=(max(4.2 * len(kinds) + 1.6, 7), (0.22 * len(makers) + 0.62) * len(jobs) + 1.4),
        sharex="row",
        squeeze=False,
        layout="constrained",
    )
    for job, row in zip(jobs, axes, strict=True):
        mine = [one for one in timed if one.variant == job]
        largest = max(map(nbytes, mine))
        mine = [one for one in mine if one.bytes == largest]
        floor = next((one.median_ms for one in mine if one.parameters["by"] == BUS), None)
        for kind, ax in zip(kinds, row, strict=True):
            times = {
                one.parameters["by"]: one.median_ms
                for one in mine
                if one.parameters.get("kind") == kind
            }
            most = max(one.median_ms or 0.0 for one in mine)
            there = {one.parameters["by"] for one in mine}
            _draw_bars(ax, {name: times.get(name) for name in makers if name in there}, floor, most)
            ax.set_title(f"{job}, {mine[0].size}, {kind}", fontsize="medium")
    for ax in axes[:, 1:].flat:
        ax.tick_params(axis="y", labelleft=False)  # the names are those at the left
    for ax in axes[-1]:
        ax.set_xlabel("ms, log scale" + ("; dashed: the transfers alone" if floor else ""))
    meanings = [_MEANINGS.get(name, "another library") for name in makers]
    explain_bars(figure, {meaning: _EXPLAINED[meaning] for meaning in meanings})
    title(figure, "round trips from ndarray to ndarray, by the wall clock", result)
    return figure
