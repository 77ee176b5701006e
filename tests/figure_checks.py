"""Finds visible faults of a figure, such as overlapping text; returns a sentence for each.

Tests of plots use it. In the tests of notebooks the kernel runs it on each figure.
"""

from __future__ import annotations

import itertools

import numpy as np

IN_CELLS = {"cell", "pass", "words", "used"}  # group ids of text inside the cells of a drawing

# Two lines look like one if they are nowhere further apart than this share of the axes' height.
_APART = 0.015


def _legends(figure):
    inside = [ax.get_legend() for ax in figure.axes]
    return [*figure.legends, *(legend for legend in inside if legend is not None)]


def texts(figure):
    """Return the visible texts of a figure, except those inside cells."""
    found = [*figure.texts, figure._suptitle, figure._supxlabel, figure._supylabel]
    found += [text for legend in _legends(figure) for text in legend.get_texts()]
    for ax in figure.axes:
        found += [text for text in ax.texts if text.get_gid() not in IN_CELLS]
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            if axis.get_visible():
                found += [axis.label, *(one for t in ticks for one in (t.label1, t.label2))]
        found.append(ax.title)
    shown = [one for one in found if one is not None and one.get_visible() and one.get_text()]
    return list(dict.fromkeys(shown))


def boxes(figure):
    """Return (text, box) of every text."""
    renderer = figure._get_renderer()
    return [(one.get_text(), one.get_window_extent(renderer)) for one in texts(figure)]


def covered(figure):
    """Texts that overlap other texts."""
    return [
        f"{one!r} and {other!r} overlap"
        for (one, box), (other, beside) in itertools.combinations(boxes(figure), 2)
        if box.expanded(0.98, 0.85).overlaps(beside)  # adjacent lines of text may touch
    ]


def cut(figure):
    """Texts that extend beyond the edge of the figure."""
    edge = figure.bbox.padded(1)
    return [
        f"{text!r} is cut off"
        for text, box in boxes(figure)
        if not (edge.x0 <= box.x0 and box.x1 <= edge.x1)
        or not (edge.y0 <= box.y0 and box.y1 <= edge.y1)
    ]


def crossed(figure):
    """Annotations inside axes that a line crosses."""
    renderer = figure._get_renderer()
    return [
        f"{text.get_text()!r} is crossed by the line {line.get_label()!r}"
        for ax in figure.axes
        for text in ax.texts
        if text.get_gid() not in IN_CELLS and text.get_text() and not text.get_rotation()
        for line in ax.lines
        if line.get_gid() not in ("key", "to", "group")
        and line.get_linestyle() != "None"
        and line.get_path()
        .transformed(line.get_transform())
        .intersects_bbox(text.get_window_extent(renderer).expanded(0.98, 0.7), filled=False)
    ]


def named_lines(ax):
    """Return the lines of axes that are data series: those with a label."""
    return [line for line in ax.lines if not line.get_label().startswith("_")]


def _look(line):
    """What distinguishes a line in black and white: marker, dashes and width."""
    marker = (line.get_marker(), line.get_fillstyle(), line.get_markersize())
    return marker, str(line._unscaled_dash_pattern), round(line.get_linewidth())


def alike(figure):
    """Pairs of lines of the same axes that differ only in colour."""
    return [
        f"{one.get_label()!r} and {other.get_label()!r} look alike"
        for ax in figure.axes
        for one, other in itertools.combinations(named_lines(ax), 2)
        if _look(one) == _look(other)
    ]


def _lie_on_each_other(one, other):
    """Whether two lines of the same width and marker size coincide along their whole length."""
    points = [line.get_transform().transform(line.get_xydata()) for line in (one, other)]
    return (
        points[0].shape == points[1].shape
        and np.abs(points[0] - points[1]).max() <= _APART * one.axes.bbox.height
        and abs(one.get_linewidth() - other.get_linewidth()) < 1
        and abs(one.get_markersize() - other.get_markersize()) < 2
    )


def hidden(figure):
    """Pairs of lines that coincide in all axes that have both: one hides the other everywhere.

    "auto" and the reference are drawn wider, so that a line on top of them leaves them visible.
    """
    found = {}
    for ax in figure.axes:
        for one, other in itertools.combinations(named_lines(ax), 2):
            names = one.get_label(), other.get_label()
            found.setdefault(names, []).append(_lie_on_each_other(one, other))
    return [
        f"{one!r} and {other!r} lie on each other" for (one, other), on in found.items() if all(on)
    ]


def complaints(figure):
    """Return all faults of a figure; its layout must be done."""
    return [*covered(figure), *cut(figure), *crossed(figure), *alike(figure), *hidden(figure)]
