"""Pictures of what tools/measure_sweeps.py and tools/measure_host_memory.py have found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...base.provenance import origin
from ._axes import byte_axis
from ._style import STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Found = dict[str, Any]

_MOST_TICKS = 16

_LABELS = {
    "block": "block, threads in x and y",
    "carveout": "carveout, per cent asked for as shared memory",
    "max_blocks": "max_blocks, blocks at most",
    "offset": "offset, elements",
    "threads": "threads per block",
    "strided_threads": "threads per block",
}


def draw_series(
    found: Found,
    sweep: str,
    variants: Iterable[str],
    *,
    relative: bool = False,
    values: Iterable[Any] | None = None,
    ax: Axes | None = None,
    **chosen: Any,
) -> Axes:
    """Draw GB/s of variants by the values of a parameter.

    Parameters
    ----------
    found : dict
        What tools/measure_sweeps.py has found.
    sweep : str
        One of its sweeps.
    variants : iterable of str
        The lines.
    relative : bool
        Whether to draw the rates as shares of that of the first value.
    values : iterable, optional
        Those of the parameter that are drawn; by default all.
    ax : Axes, optional
        Where; by default in a new figure.
    **chosen
        Which series: ``family``, ``dtype``, the first extent (``rows``) or a fixed parameter.
    """
    from matplotlib import pyplot

    if ax is None:
        ax = pyplot.subplots(figsize=(10, 4.4), layout="constrained")[1]
    names = list(variants)
    lines = {one["variant"]: one for one in found["series"] if _is_chosen(one, sweep, chosen)}
    drawn = list(lines[names[0]]["values"] if values is None else values)
    for name, style in zip(names, STYLES, strict=False):
        rates = [lines[name]["gbps"][lines[name]["values"].index(value)] for value in drawn]
        if relative:
            rates = [rate / rates[0] for rate in rates]
        ax.plot(range(len(drawn)), rates, label=name, markersize=4, linewidth=1.1, **style)
    step = 1 if len(drawn) <= _MOST_TICKS else 4
    ticks = range(0, len(drawn), step)
    ax.set_xticks(ticks, [_word(drawn[tick]) for tick in ticks])
    ax.set_xlabel(_LABELS.get(sweep, sweep))
    first = f"{sweep} {_word(drawn[0])}"
    ax.set_ylabel(f"share of the GB/s with {first}" if relative else "GB/s")
    if not relative:
        ax.set_ylim(bottom=0)
    ax.grid(color="0.92")
    told = "".join(f", {key}={value}" for key, value in chosen.items() if key != "family")
    family = lines[names[0]]["family"]
    ax.set_title(f"{family}{told}: {origin(found['provenance'])}", fontsize="medium")
    _legend(ax)
    return ax


def _legend(ax: Axes) -> None:
    """Name the lines beside the axes."""
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize="small")


def _is_chosen(series: Found, sweep: str, chosen: Found) -> bool:
    known = {**series, **series["fixed"], "rows": series["shape"][0]}
    return series["sweep"] == sweep and all(known[key] == value for key, value in chosen.items())


def _word(value: Any) -> str:
    if value is None:
        return "default"
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


def draw_additions(found: Found, ax: Axes | None = None) -> Axes:
    """Draw GB/s of whole additions by the size of an array, a line per kind of memory.

    Parameters
    ----------
    found : dict
        What tools/measure_host_memory.py has found.
    ax : Axes, optional
        Where; by default in a new figure.
    """
    from matplotlib import pyplot

    if ax is None:
        ax = pyplot.subplots(figsize=(10, 4.6), layout="constrained")[1]
    ways = dict.fromkeys(one["way"] for one in found["add"])
    for way, style in zip(ways, STYLES, strict=False):
        rows = [one for one in found["add"] if one["way"] == way]
        sizes, rates = zip(*((one["bytes"], one["gbps"]) for one in rows), strict=True)
        ax.plot(sizes, rates, label=way, markersize=4, linewidth=1.1, **style)
    byte_axis(ax, sorted({one["bytes"] for one in found["add"]}))
    ax.set_ylim(bottom=0)
    ax.set(xlabel="bytes of each array", ylabel="GB/s over the bus, in and out")
    ax.set_title(f"add, whole calls: {origin(found['provenance'])}", fontsize="medium")
    ax.grid(color="0.92")
    _legend(ax)
    return ax
