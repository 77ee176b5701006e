"""What pictures of requests have in common: lanes from the top, sums below, numbers in cells."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...count.access import source_line
from ._sites import by_engine
from ._style import ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...count.traffic import Traffic

WARP = 32
_LETTER = 6  # points: the width of a letter in titles and labels
IDLE = "0.93"  # lanes that ask for nothing


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 'es' if noun.endswith('s') else 's'}"


def set_request_title(ax: Axes, report: Traffic, site: dict[str, Any], figures: str) -> None:
    """Say which request of which kernel this is, in lines no wider than the picture."""
    what = f"{site['space']} {site['kind']}"
    what += " by the copy engine" if by_engine(site) else f", {site['width']} bits"
    wide = 1.2 * points_wide(ax, 1) / _LETTER
    place = source_line(site)
    name = report.name.removesuffix(f" of {place.rpartition(':')[0]}")  # the file is named once
    rows = [(f"{name},", place), (f"{what}:", figures)]
    words = "\n".join((" " if len(" ".join(row)) <= wide else "\n").join(row) for row in rows)
    fits = max(map(len, words.split("\n"))) <= wide
    ax.set_title(words, fontsize="medium" if fits else "small")


def points_wide(ax: Axes, units: float) -> float:
    """Return about how many points wide one unit of the x axis is."""
    width: float = ax.figure.get_figwidth() * ax.get_position().width
    return 72 * width / units


def wrapped(ax: Axes, parts: list[str]) -> str:
    """Return a label, each part wrapped to the width of the picture."""
    width = max(20, int(points_wide(ax, 1) / _LETTER))
    return "\n".join(textwrap.fill(part, width) for part in parts)


def _fitting(number: int, points: float) -> float:
    """Return the font size at which a number is no wider than `points` points."""
    return min(8, 0.8 * points / (0.6 * len(str(number))))


class Rows(NamedTuple):
    """Heights of the rows: lanes, a little space, sums."""

    lanes: int
    space: float
    height: float

    @property
    def sums(self) -> float:
        """The top of the sums."""
        return self.lanes + self.space

    @property
    def middle(self) -> float:
        """The middle of the sums."""
        return self.sums + self.height / 2


OF_WARP, OF_ENGINE = Rows(WARP, 0.5, 1.2), Rows(1, 0.1, 0.6)


def lane_axis(ax: Axes, sample: dict[str, Any], rows: Rows, sums: str) -> None:
    """Label the axis of lanes, 0 on top, with one more row for sums at the bottom."""
    warp = rows.lanes > 1
    lanes = [0, 8, 16, 24, 31] if warp else list(sample["lanes"])
    ax.set_ylim(rows.sums + rows.height, 0)
    ax.set_yticks([*(lane + 0.5 if warp else 0.5 for lane in lanes), rows.middle])
    ax.set_yticklabels([*map(str, lanes), sums])
    ax.tick_params(axis="y", length=0)
    x, y, z = sample["block"]
    ax.set_ylabel(f"lane of warp {sample['warp']}, block ({x}, {y}, {z})" if warp else "lane")
    ax.axhspan(rows.lanes, rows.sums, facecolor="white", edgecolor="black", linewidth=0.8, zorder=4)
    if warp:
        for lane in sorted(set(range(WARP)) - set(sample["lanes"])):
            ax.axhspan(lane, lane + 1, color=IDLE, linewidth=0, zorder=0, gid="idle")


def empty_cells(rows: int, columns: int) -> np.ma.MaskedArray[Any, Any]:
    """Return cells that all are masked."""
    return np.ma.MaskedArray(np.zeros((rows, columns), int), mask=True)


def draw_passes(ax: Axes, cells: Any, most: int, share: float, numbers: bool) -> None:
    """Draw lanes against what they ask for; the later the pass, the darker the cell.

    Numbers are written into cells of `share` times their width in points.
    """
    rows, wide = cells.shape
    mesh = ax.pcolormesh(
        np.arange(wide + 1),
        np.arange(rows + 1),
        cells,
        cmap="YlGnBu",
        vmin=-0.4 * most,  # the first pass is not white
        vmax=most,
        edgecolors="0.85",
        linewidth=0.4,
        gid="passes",
    )
    points = share * points_wide(ax, wide)
    for (lane, place), number in np.ndenumerate(cells) if numbers else ():
        if not np.ma.getmaskarray(cells)[lane, place]:
            write_number(ax, place + 0.5, lane + 0.5, number, points, "pass", ink(mesh, number))


def write_number(
    ax: Axes, x: float, y: float, number: int, points: float, gid: str, color: str = "black"
) -> None:
    """Write a number into a cell of this width in points, unless it would be too small to read."""
    size = _fitting(number, points)
    if size >= 3.5:
        ax.text(
            x,
            y,
            str(number),
            fontsize=size,
            color=color,
            ha="center",
            va="center_baseline",
            gid=gid,
        )
