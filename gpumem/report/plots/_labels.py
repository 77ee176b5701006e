"""Labels that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Bbox


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places in rising order, at least a gap apart and close to the wanted ones.

    Parameters
    ----------
    wanted : sequence of float
        In rising order.
    gap : float
        The least distance between neighbours.
    low, high : float
        The range that they stay in, if there is room for all.
    """
    clusters: list[tuple[float, int]] = []  # the middle, and how many stand around it
    for place in wanted:
        middle, count = min(max(place, low), high), 1
        while clusters and clusters[-1][0] + gap * (clusters[-1][1] + count) / 2 > middle:
            before, number = clusters.pop()
            middle = (before * number + middle * count) / (number + count)
            count += number
        clusters.append((middle, count))
    places = [
        middle + gap * (i - (count - 1) / 2) for middle, count in clusters for i in range(count)
    ]
    for i in range(len(places)):
        places[i] = max(places[i], low + gap * i)
    for i in reversed(range(len(places))):
        places[i] = min(places[i], high - gap * (len(places) - 1 - i))
    return places


def _columns(placed: list[Any], apart: float) -> list[list[Any]]:
    """Group points that are less than `apart` from each other in x; order each group by y."""
    columns: list[list[Any]] = []
    for one in placed:
        if columns and one[0] - columns[-1][-1][0] < apart:
            columns[-1].append(one)
        else:
            columns.append([one])
    return [sorted(column, key=lambda one: one[1]) for column in columns]


def _best_place(
    column: list[Any], boxes: list[Bbox], room: Bbox, taken: list[Bbox], unit: float
) -> tuple[float, list[float], list[Bbox]]:
    """Return the left edge of a column of labels, the height of each, and their boxes."""
    from matplotlib.transforms import Bbox

    wide, high = max(box.width for box in boxes), 1.15 * max(box.height for box in boxes)
    tries = []
    for far in (9, 24):
        for right in (True, False):
            edge = max(one[0] for one in column) if right else min(one[0] for one in column)
            left = edge + far * unit if right else edge - far * unit - wide
            # Try lower places step by step: the lines to avoid are above.
            for drop in range(8):
                wanted = [one[1] - drop * high / 2 for one in column]
                places = spread(wanted, high, room.y0 + high, room.y1 - high)
                here = [
                    Bbox.from_bounds(left, place - high / 2, box.width, high)
                    for place, box in zip(places, boxes, strict=True)
                ]
                clashes = sum(box.overlaps(other) for box in here for other in taken)
                outside = sum(box.x0 < room.x0 or box.x1 > room.x1 for box in here)
                score = 100 * outside + 10 * clashes + drop + far / 10
                tries.append((score, left, places, here))
    return min(tries, key=lambda one: one[0])[1:]  # the first of equals


def label_points(
    ax: Axes, points: list[tuple[float, float, str]], lines: Sequence[tuple[float, float]]
) -> None:
    """Write a label beside each point, clear of other labels and of a line.

    Points above each other have their labels in one column, in the same order.
    """
    from matplotlib.transforms import Bbox

    figure = ax.figure
    figure.draw_without_rendering()  # the layout decides where the points are
    renderer = figure._get_renderer()
    unit = figure.dpi / 72  # pixels of a point
    room = ax.get_window_extent(renderer)
    taken = [text.get_window_extent(renderer) for text in ax.texts]
    for x, y in lines:
        px, py = ax.transData.transform((x, y))
        taken.append(Bbox.from_bounds(px - unit, py - unit, 2 * unit, 2 * unit))
    placed = sorted((*ax.transData.transform((x, y)), name, (x, y)) for x, y, name in points)
    marks = [
        Bbox.from_bounds(x - 4 * unit, y - 4 * unit, 8 * unit, 8 * unit) for x, y, *_ in placed
    ]
    for column in _columns(placed, 12 * unit):
        texts = [ax.text(0, 0, one[2], fontsize="small", gid="label") for one in column]
        boxes = [text.get_window_extent(renderer) for text in texts]
        left, places, here = _best_place(column, boxes, room, taken + marks, unit)
        taken += here
        for text, one, place in zip(texts, column, places, strict=True):
            text.set(
                transform=ax.transData,
                position=ax.transData.inverted().transform((left, place)),
                va="center",
            )
            near = left if left > one[0] else left + text.get_window_extent(renderer).width
            if abs(place - one[1]) > 4 * unit or abs(near - one[0]) > 12 * unit:
                ends = ax.transData.inverted().transform(
                    [(one[0], one[1]), (near + (-2 if left > one[0] else 2) * unit, place)]
                )
                ax.plot(*zip(*ends, strict=True), color="0.4", linewidth=0.5, zorder=1, gid="to")


def _beside(ax: Axes, line: Line2D, place: float, left: float, right: float) -> None:
    """Draw a piece of a line with one marker at a height, and a thin line to the line's end.

    Places are in pixels.
    """
    from matplotlib.lines import Line2D

    def artist(points: list[tuple[float, float]], like: Line2D | None = None) -> Line2D:
        made = Line2D([], [])
        if like is not None:
            made.update_from(like)
        inside = ax.transAxes.inverted().transform(points)
        made.set(transform=ax.transAxes, clip_on=False, label="_", data=inside.T)
        ax.add_artist(made)
        return made

    end = line.get_transform().transform((line.get_xdata()[-1], line.get_ydata()[-1]))
    key = artist([(left, place), ((left + right) / 2, place), (right, place)], line)
    key.set(markevery=[1], gid="key")
    gap = (right - left) / 6
    leader = artist([(end[0] + gap, end[1]), (left - gap, place)])
    leader.set(linewidth=0.5, color="0.5", gid="to")


def label_ends(ax: Axes, lines: Sequence[Line2D]) -> None:
    """Write the names of lines at the right of the axes, in the order of the lines' ends.

    A key shows the line's dash and marker, and a thin line leads to its end.
    """
    figure = ax.figure
    style = {"transform": ax.transAxes, "fontsize": "small", "va": "center", "gid": "label"}
    # The layout makes room for texts beside the axes before their heights are known.
    texts = [ax.text(1.14, 0.5, line.get_label(), **style) for line in lines]
    figure.draw_without_rendering()  # the layout decides where the lines end
    renderer = figure._get_renderer()
    room = ax.get_window_extent(renderer)
    unit = figure.dpi / 72  # pixels of a point
    heights = [line.get_transform().transform(line.get_xydata())[:, 1] for line in lines]
    # Lines that end in one place are ordered by their mean heights.
    order = sorted(
        range(len(lines)), key=lambda i: (round(heights[i][-1] / (4 * unit)), heights[i].mean())
    )
    rows = [line.get_label().count("\n") + 1 for line in lines]
    gap = 1.15 * max(
        text.get_window_extent(renderer).height / count
        for text, count in zip(texts, rows, strict=True)
    )
    wanted = sorted(heights[i][-1] for i in order for _ in range(rows[i]))
    places = spread(wanted, gap, room.y0 + gap / 2, room.y1 - gap / 2)
    for i in order:
        own, places = places[: rows[i]], places[rows[i] :]
        place = sum(own) / len(own)
        texts[i].set_position(ax.transAxes.inverted().transform((room.x1 + 42 * unit, place)))
        _beside(ax, lines[i], place, room.x1 + 14 * unit, room.x1 + 36 * unit)
