"""A request of global memory: lanes against sectors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...count.access import SECTOR
from ._lanes import (
    OF_ENGINE,
    OF_WARP,
    counted,
    lane_axis,
    points_wide,
    set_request_title,
    wrapped,
    write_number,
)
from ._sites import by_engine
from ._style import DARK, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...count.traffic import Traffic

LINE = 128  # bytes
MOST_SECTORS = 64  # drawn of one request
GAP = 0.4  # of a column, between sectors that are not neighbours


class Piece(NamedTuple):
    """Bytes that a lane asks for in one sector."""

    lane: int
    sector: int
    begin: int  # byte in the sector
    nbytes: int


def pieces(sample: dict[str, Any]) -> Iterator[Piece]:
    """Yield what each lane of a request asks for, split at the borders of sectors."""
    for lane, address, count in zip(
        sample["lanes"], sample["addresses"], sample["bytes"], strict=True
    ):
        at = address
        while at < address + count:
            end = min(address + count, (at // SECTOR + 1) * SECTOR)
            yield Piece(lane, at // SECTOR, at % SECTOR, end - at)
            at = end


def columns(sectors: list[int]) -> dict[int, float]:
    """Return where the column of each sector begins; neighbours touch, others leave a gap."""
    places: dict[int, float] = {}
    at = 0.0
    for i, sector in enumerate(sectors):
        if i and sector != sectors[i - 1] + 1:
            at += GAP
        places[sector] = at
        at += 1
    return places


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g} %"


def _line_labels(ax: Axes, places: dict[int, float], width: float) -> None:
    """Label lines with their byte offsets, as many as there is room for."""
    starts: dict[int, tuple[float, int]] = {}
    for sector, place in places.items():
        starts.setdefault(sector * SECTOR // LINE, (place, sector * SECTOR))
    ticks = list(starts.values())
    points = points_wide(ax, width)
    letters = 6.5 * (len(str(ticks[-1][1])) + 2)  # points
    shown = [ticks[0]]
    for place, offset in ticks[1:]:
        if (place - shown[-1][0]) * points >= letters:
            shown.append((place, offset))
    ax.set_xticks([place for place, _ in shown], [str(offset) for _, offset in shown])


def _draw_bytes(ax: Axes, asked: list[Piece], places: dict[int, float], engine: bool) -> None:
    """Draw the sectors that lanes touch, pale, and the bytes that they ask for, dark."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    touched, wanted = set(), set()
    for piece in asked:
        if piece.sector in places:
            place, row = places[piece.sector], 0 if engine else piece.lane
            touched.add((place, row))
            wanted.add((place + piece.begin / SECTOR, row, piece.nbytes / SECTOR))
    pale = [Rectangle((x, y), 1, 1) for x, y in sorted(touched)]
    dark = [Rectangle((x, y + 0.08), wide, 0.84) for x, y, wide in sorted(wanted)]
    ax.add_collection(PatchCollection(pale, facecolor=PALE, linewidth=0, gid="sectors"))
    ax.add_collection(PatchCollection(dark, facecolor=DARK, linewidth=0, zorder=3, gid="bytes"))


def _draw_borders(ax: Axes, places: dict[int, float]) -> None:
    """Draw the borders of sectors and of lines, and the gaps between what is not adjacent."""
    for before, sector in itertools.pairwise(places):
        at = places[sector]
        if sector != before + 1:
            style = {"facecolor": "white", "edgecolor": "0.75", "hatch": "//////"}
            ax.axvspan(at - GAP, at, linewidth=0, zorder=1.5, gid="gap", **style)
            at -= GAP / 2
        if sector * SECTOR // LINE != before * SECTOR // LINE:
            ax.axvline(at, color="black", linewidth=0.9, zorder=2, gid="line")
        elif sector == before + 1:
            ax.axvline(at, color="0.6", linewidth=0.4, zorder=2, gid="sector")


def draw_sectors(ax: Axes, report: Traffic, site: dict[str, Any], sample: dict[str, Any]) -> None:
    """Draw lanes against sectors."""
    engine = by_engine(site)
    rows = OF_ENGINE if engine else OF_WARP
    asked = list(pieces(sample))
    used: dict[int, set[int]] = {}  # bytes of each sector
    for piece in asked:
        used.setdefault(piece.sector, set()).update(range(piece.begin, piece.begin + piece.nbytes))
    sectors = sorted(used)
    lines = {sector * SECTOR // LINE for sector in sectors}
    places = columns(sectors[:MOST_SECTORS])
    width = max(places.values()) + 1
    _draw_bytes(ax, asked, places, engine)
    _draw_borders(ax, places)
    points = points_wide(ax, width)
    for sector, place in places.items():
        write_number(ax, place + 0.5, rows.middle, len(used[sector]), points, "used")
    lane_axis(ax, sample, rows, "bytes used")
    ax.set_xlim(0, width)
    _line_labels(ax, places, width)
    parts = ["sectors of 32 bytes, by array offset"]
    if len(places) < len(sectors):
        parts[0] += f"; the first {len(places)} of {len(sectors)} sectors"
    parts.append("dark: asked for; pale: also moved; black rules: lines of 128 bytes")
    ax.set_xlabel(wrapped(ax, parts))
    figures = (
        f"{counted(len(sectors), 'sector')}, {counted(len(lines), 'line')}, "
        f"{_percent(sum(map(len, used.values())), len(sectors) * SECTOR)} used"
    )
    set_request_title(ax, report, site, figures)
