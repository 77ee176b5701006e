"""What several pictures have in common: a byte axis, bands, notes, and figures beside bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...base.sizes import format_bytes
from ._records import Unit
from ._style import DARK, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

    from ...base.record import Record


def byte_axis(ax: Axes, sizes: list[int]) -> None:
    """Label an axis with powers of two in KiB and MiB, as many as there is room for."""
    low, high = (math.log2(edge(sizes)) for edge in (min, max))
    first, last = math.floor(low), math.ceil(high)
    step = max(1, math.ceil((last - first + 1) / 9))
    powers = range(first, last + 1, step)
    ax.set_xscale("log", base=2)
    ax.set_xlim(2 ** (low - 0.4), 2 ** (high + 0.4))
    ax.set_xticks([2**power for power in powers], [format_bytes(2**power) for power in powers])
    ax.minorticks_off()
    ax.tick_params(axis="x", labelsize="small")


# Times that are further apart come from two modes, such as two clocks, and not from noise.
_WIDEST_BAND = 3


def band(ax: Axes, records: list[Record], unit: Unit, color: str) -> None:
    """Shade from the 20th to the 80th percentile of the times, unless these are of two kinds."""
    if all(one.p20_ms and one.p80_ms for one in records):
        middle = [unit.of(one) * (one.median_ms or 0) for one in records]
        low = [rate / (one.p80_ms or 1) for rate, one in zip(middle, records, strict=True)]
        high = [rate / (one.p20_ms or 1) for rate, one in zip(middle, records, strict=True)]
        sizes = [one.bytes for one in records]
        narrow = [b < _WIDEST_BAND * a for a, b in zip(low, high, strict=True)]
        ax.fill_between(sizes, low, high, narrow, color=color, alpha=0.2, linewidth=0)


def note(ax: Axes, words: str, at: Any, offset: tuple[float, float], **style: Any) -> Annotation:
    """Write a small note, with an offset in points from a place."""
    style = {"gid": "mark"} | style
    return ax.annotate(words, at, offset, textcoords="offset points", fontsize="small", **style)


def note_clear(ax: Axes, words: str, tries: Sequence[dict[str, Any]], **style: Any) -> Annotation:
    """Write a small note at the first of several places that no line crosses.

    Each place is a dict of ``xy``, ``xytext`` in points from there, ``ha`` and ``va``.
    """
    figure = ax.figure
    mark = note(ax, words, tries[0]["xy"], tries[0]["xytext"], **style)
    figure.draw_without_rendering()  # the layout decides where the lines are
    lines = [
        line.get_path().transformed(line.get_transform())
        for line in ax.lines
        if line.get_gid() in ("line", "reference", "to")
    ]
    for place in tries:
        mark.xy, mark.xyann = place["xy"], place["xytext"]
        mark.set(ha=place["ha"], va=place["va"])
        box = mark.get_window_extent(figure._get_renderer()).padded(1)
        if not any(path.intersects_bbox(box, filled=False) for path in lines):
            break
    return mark


def mark_peak(ax: Axes, peak: float, ceiling: str) -> None:
    """Draw a rule at the device's peak, and its name where no line crosses it."""
    words = "theoretical peak" if ceiling == "bandwidth_gbps" else "peak of the FP32 units"
    ax.axhline(peak, color="black", linewidth=0.9, linestyle=":", gid="peak")
    words += f", {peak:.4g} {'GB/s' if ceiling == 'bandwidth_gbps' else 'TFLOP/s'}"
    tries = [
        {"xy": (place, peak), "xytext": (0, above), "ha": side, "va": va}
        for above, va in ((2, "bottom"), (-3, "top"))
        for place, side in ((0.01, "left"), (0.99, "right"), (0.5, "center"))
    ]
    note_clear(ax, words, tries, xycoords=("axes fraction", "data"))


def aligned(values: Sequence[float], digits: int = 2) -> list[str]:
    """Return figures of one width with the same decimals: `digits` digits of the smallest."""
    least = min(abs(value) for value in values)
    decimals = min(4, max(0, digits - 1 - math.floor(math.log10(least)))) if least else 0
    cells = [f"{value:.{decimals}f}" for value in values]
    return [cell.rjust(max(map(len, cells)), "\N{FIGURE SPACE}") for cell in cells]


def write_beside(ax: Axes, cells: list[str], head: str) -> None:
    """Write the figures of bars into a column at the right, clear of bars and lines."""
    beside = ax.twinx()
    beside.set_ylim(ax.get_ylim())
    beside.set_yticks(range(len(cells)), cells)
    for axis in (ax, beside):
        axis.tick_params(axis="y", length=0, labelsize="small")
    top = ("axes fraction", "axes fraction")
    note(ax, head, (1, 1), (4, 3), xycoords=top, ha="left", va="bottom")


def mark_reference(ax: Axes, place: float) -> None:
    """Draw a dashed vertical line that is visible on dark and on white bars."""
    from matplotlib.patheffects import withStroke

    stroke = [withStroke(linewidth=3.2, foreground="white")]
    style = {"color": "black", "linewidth": 1.6, "linestyle": "--", "gid": "reference"}
    ax.axvline(place, path_effects=stroke, **style)


# What bars mean, in the order of the legend.
_LOOKS = {
    "auto": {"facecolor": DARK},
    "gpumem": {"facecolor": PALE},
    "another library": {"facecolor": "white", "hatch": "////"},
}


def paint_bars(ax: Axes, bars: Iterable[Any], meanings: Sequence[str]) -> None:
    """Give each bar the look of its meaning."""
    for bar, meaning in zip(bars, meanings, strict=True):
        bar.set(edgecolor=DARK, linewidth=0.8, **_LOOKS[meaning])


def explain_bars(figure: Figure, words: dict[str, str]) -> None:
    """Add a legend of what bars mean."""
    from matplotlib.patches import Patch

    patches = [
        Patch(edgecolor=DARK, linewidth=0.8, label=words[meaning], **look)
        for meaning, look in _LOOKS.items()
        if meaning in words
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches), fontsize="small")
