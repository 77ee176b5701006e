"""How pictures look: colours, marks, and the words above them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..bench_result import origin

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..bench_result import BenchResult

DARK, PALE = "#12355b", "#c9dcec"

# Told apart in black and white as well: no two have marker and dash in common, nor with one dash
# markers that look alike when they are small.
STYLES = [
    {"marker": marker, "linestyle": dash, "color": color}
    for marker, dash, color in zip(
        "osD^vP*<>phdXH8",
        ["-", "--", "-.", ":", "-"] * 3,
        ["#1b4f72", "#b03a2e", "#117a65", "#7d3c98", "#9c640c", "#2e4053"] * 2
        + ["#6e2c00", "#0b5345", "#4a235a"],
        strict=True,
    )
]


def line_style(name: str, reference: str, styles: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """How the line of a contender looks; "auto" and the reference stand out."""
    if name == reference:
        return {"color": "0.35", "linestyle": (0, (6, 2)), "linewidth": 2.2, "zorder": 1.9}
    style = {"markersize": 4.5, "linewidth": 1.1, **next(styles)}
    if name == "auto":  # on top of what it chose
        style |= {"linewidth": 1.8, "color": "black", "fillstyle": "none", "zorder": 3}
    return style


def title(figure: Figure, words: str, result: BenchResult) -> None:
    """What is shown, and the banner: which device, when, which commit."""
    figure.suptitle(f"{words}\n{origin(result.provenance)}", fontsize="medium")
