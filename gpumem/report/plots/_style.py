"""How pictures look: colours, marks, and the words above them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...base.provenance import origin

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...base.result import BenchResult

DARK, PALE = "#12355b", "#c9dcec"

_DASHES = ["-", (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.4)), (0, (9, 2))]

_COLORS = ["#12355b", "#d2691e", "#6b2f87", "#2a9d78", "#7a1f1f", "#b8860b", "#1f5f5b", "#5b8fd0"]

# Distinct in black and white as well: every marker differs, and neighbours differ in dashes and in
# brightness.
STYLES: list[dict[str, Any]] = [
    {
        "marker": marker,
        "linestyle": _DASHES[i % len(_DASHES)],
        "color": _COLORS[i % len(_COLORS)],
    }
    for i, marker in enumerate("osD^vP*<>phdXH8")
]


# If two lines coincide, the markers of one fit inside those of the other.
INNER: dict[str, Any] = {"markersize": 3.5}
OUTER: dict[str, Any] = {"markersize": 7.5, "fillstyle": "none"}


def line_style(name: str, reference: str, styles: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Return the style of a line; "auto" and the reference lie below the others.

    Both coincide with lines of variants, which have to stay visible on top of them.
    """
    if name == reference:
        look = {"color": "0.35", "linestyle": (0, (6, 2)), "linewidth": 2.4, "zorder": 1.9}
        return look | {"marker": "|", "markersize": 9}
    if name == "auto":
        return {
            "color": "0.82",
            "linewidth": 7,
            "solid_capstyle": "round",
            "zorder": 1.8,
            "marker": "s",
            "markersize": 9,
            "markerfacecolor": "none",
            "markeredgecolor": "black",
            "markeredgewidth": 0.8,
        }
    return {"markersize": 4.5, "linewidth": 1.2, **next(styles)}


def ink(mesh: Any, value: float) -> str:
    """Return the colour that is readable on a cell with this value."""
    red, green, blue, _ = mesh.cmap(mesh.norm(value))
    return "white" if 0.3 * red + 0.6 * green + 0.1 * blue < 0.5 else "black"


def title(figure: Figure, words: str, result: BenchResult) -> None:
    """Write the title: what is shown, and on which device, when, at which commit."""
    figure.suptitle(f"{words}\n{origin(result.provenance)}", fontsize="medium")
