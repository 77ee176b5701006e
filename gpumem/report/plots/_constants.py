"""A request of constant memory: lanes against the words that they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._lanes import (
    OF_WARP,
    counted,
    draw_passes,
    empty_cells,
    lane_axis,
    points_wide,
    set_request_title,
    write_number,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...count.traffic import Traffic

_COLUMNS = 8  # at least, so that columns are equally wide in all pictures


def passes(sample: dict[str, Any]) -> dict[int, int]:
    """Return the pass, counted from 1, that serves each address, for all lanes that ask for it."""
    return {address: i for i, address in enumerate(dict.fromkeys(sample["addresses"]), 1)}


def draw_constants(ax: Axes, report: Traffic, site: dict[str, Any], sample: dict[str, Any]) -> None:
    """Draw lanes against addresses of constant memory."""
    served = passes(sample)
    places = {address: i for i, address in enumerate(sorted(served))}
    wide = max(_COLUMNS, len(places))
    cells = empty_cells(OF_WARP.lanes, wide)
    for lane, address in zip(sample["lanes"], sample["addresses"], strict=True):
        cells[lane, places[address]] = served[address]
    draw_passes(ax, cells, max(8, len(served)), 0.9, numbers=True)
    points = points_wide(ax, wide)
    for address, place in places.items():
        lanes = sample["addresses"].count(address)
        write_number(ax, place + 0.5, OF_WARP.middle, lanes, points, "lanes")
    lane_axis(ax, sample, OF_WARP, "lanes")
    ax.set_xlim(0, wide)
    shown = list(places)[:: max(1, len(places) // 8)]
    ax.set_xticks([places[address] + 0.5 for address in shown], list(map(str, shown)))
    ax.set_xlabel("byte of constant memory")
    broadcast = ", a broadcast" if len(served) == 1 else ""
    figures = f"{counted(len(served), 'pass')}{broadcast}"
    set_request_title(ax, report, site, figures)
