"""A picture of what warps wait for: a bar per kernel, a part per reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ...base.provenance import origin
from ..stalls import measured, waits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_REASONS = 5
_OTHERS = "others"
# The brightness differs as well as the hue.
_COLORS = ("#12355b", "#d2691e", "#5b8fd0", "#7a1f1f", "#e3b565", "0.85")


def draw_stalls(found: dict[str, Any], family: str, ax: Axes | None = None) -> Axes:
    """Draw the cycles per instruction that warps wait, a bar per kernel of a family.

    Parameters
    ----------
    found : dict
        What tools/measure_stalls.py has found.
    family : str
        Such as "copy".
    ax : Axes, optional
        Where; by default in a new figure.
    """
    from matplotlib import pyplot

    rows = measured(found, family)
    if ax is None:
        height = 1.5 + 0.3 * max(2, len(rows))
        ax = pyplot.subplots(figsize=(10, height), layout="constrained")[1]
    parts = {one["variant"]: dict(waits(one["stalls"])) for one in rows}
    shares: Counter[str] = Counter()
    for part in parts.values():
        whole = sum(part.values()) or 1.0
        shares.update({reason: cycles / whole for reason, cycles in part.items()})
    named = [reason for reason, _ in shares.most_common(_MOST_REASONS)]
    begin = [0.0] * len(parts)
    for reason, color in zip([*named, _OTHERS], _COLORS, strict=False):
        widths = [
            sum(cycles for name, cycles in part.items() if name not in named)
            if reason == _OTHERS
            else part.get(reason, 0.0)
            for part in parts.values()
        ]
        if any(widths):
            style: dict[str, Any] = {"color": color, "edgecolor": "white", "linewidth": 0.5}
            ax.barh(range(len(parts)), widths, left=begin, label=reason, height=0.72, **style)
            begin = [a + b for a, b in zip(begin, widths, strict=True)]
    ax.set_yticks(range(len(parts)), list(parts), fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel("cycles per instruction that a warp waits, by the reason")
    ax.set_title(f"{family}: {origin(found['provenance'])}", fontsize="medium")
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize="small")
    return ax
