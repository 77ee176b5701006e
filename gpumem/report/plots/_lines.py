"""Distinct lines: those that coincide are drawn once, others have markers at different points."""

from __future__ import annotations

import itertools
import textwrap
from typing import TYPE_CHECKING, Any, TypeVar

from ._style import STYLES, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Line = dict[Any, float]
Name = TypeVar("Name")

_CLOSE = 0.015  # of the height of the axis: such lines look like one


def coincident(
    lines: dict[Name, Line], height: float, alone: tuple[Name, ...] = ()
) -> list[list[Name]]:
    """Return the names of the lines in order, grouped where they differ nowhere visibly.

    Parameters
    ----------
    lines : dict
        Name: values by place.
    height : float
        Of the axis, in units of the values.
    alone : tuple
        Names of lines that look so different that they share their place with others.
    """
    groups: list[list[Name]] = []
    for name, line in lines.items():
        for group in groups:
            first = lines[group[0]]
            if (
                not {name, group[0]} & set(alone)
                and first.keys() == line.keys()
                and all(abs(first[x] - y) <= _CLOSE * height for x, y in line.items())
            ):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def marked(number: int, points: int) -> tuple[int, int]:
    """Return which points of a line get a marker; neighbouring lines mark different points."""
    step = min(3, max(1, points // 6))
    return number % step, step


def draw_lines(
    ax: Axes, lines: dict[str, Line], reference: str, height: float
) -> list[tuple[str, Any]]:
    """Draw each line; those that coincide become one with all of their names.

    Returns the name of each line's values, and the line.
    """
    styles = itertools.cycle(STYLES)
    drawn = []
    for number, group in enumerate(coincident(lines, height, ("auto", reference))):
        line = lines[group[0]]
        style = line_style(group[0], reference, styles)
        if group[0] not in ("auto", reference):
            style |= {"markevery": marked(number, len(line))}
        label = textwrap.fill(", ".join(group), 28, break_long_words=False)
        places = sorted(line)
        (artist,) = ax.plot(places, [line[x] for x in places], label=label, gid="line", **style)
        drawn.append((group[0], artist))
    return drawn
