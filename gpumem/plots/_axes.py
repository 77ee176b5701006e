"""What axes of several pictures have: bytes along them, bands around lines, notes, figures beside
bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..sizes import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation


def byte_axis(ax: Axes, sizes: list[int]) -> None:
    """Powers of two, told in KiB and MiB, as many as there is room for."""
    low, high = (math.log2(edge(sizes)) for edge in (min, max))
    first, last = math.floor(low), math.ceil(high)
    step = max(1, math.ceil((last - first + 1) / 9))
    powers = range(first, last + 1, step)
    ax.set_xscale("log", base=2)
    ax.set_xlim(2 ** (low - 0.4), 2 ** (high + 0.4))
    ax.set_xticks([2**power for power in powers], [format_bytes(2**power) for power in powers])
    ax.minorticks_off()
    ax.tick_params(axis="x", labelsize="small")


# Times of one kind of thing do not lie further apart.
_WIDEST_BAND = 3


def band(ax: Axes, records: list[dict[str, Any]], key: str, color: str) -> None:
    """From the 20th to the 80th percentile of the times; none where these are of two kinds."""
    if all(one["p20_ms"] and one["p80_ms"] for one in records):
        low, high = (
            [one[key] * one["median_ms"] / one[edge] for one in records]
            for edge in ("p80_ms", "p20_ms")
        )
        sizes = [one["bytes"] for one in records]
        narrow = [b < _WIDEST_BAND * a for a, b in zip(low, high, strict=True)]
        ax.fill_between(sizes, low, high, narrow, color=color, alpha=0.2, linewidth=0)


def note(ax: Axes, words: str, at: Any, offset: tuple[float, float], **style: Any) -> Annotation:
    """Small words, so many points from a place."""
    style = {"gid": "mark"} | style
    return ax.annotate(words, at, offset, textcoords="offset points", fontsize="small", **style)


def aligned(values: Sequence[float], digits: int = 2) -> list[str]:
    """Figures with the same decimals, so many digits of the least, one below the other."""
    least = min(abs(value) for value in values)
    decimals = min(4, max(0, digits - 1 - math.floor(math.log10(least)))) if least else 0
    cells = [f"{value:.{decimals}f}" for value in values]
    return [cell.rjust(max(map(len, cells)), "\N{FIGURE SPACE}") for cell in cells]


def write_beside(ax: Axes, cells: list[str]) -> None:
    """Figures of bars in a column of their own, where no bar and no line can run through them."""
    beside = ax.twinx()
    beside.set_ylim(ax.get_ylim())
    beside.set_yticks(range(len(cells)), cells)
    for axis in (ax, beside):
        axis.tick_params(axis="y", length=0, labelsize="small")
