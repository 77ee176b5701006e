"""The roofline: what variants compute, under the ceilings of the device."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base.record import order_words
from ...count.intensity import intensity
from ._axes import note
from ._labels import label_points
from ._records import at_shape, in_order, listed, timed_records
from ._style import STYLES, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...base.result import BenchResult


class _Roofs(NamedTuple):
    """The two ceilings of a device, as far as the axis goes, in operations per byte."""

    peak: float  # TFLOP/s
    slope: float  # TB/s
    low: float
    high: float

    @property
    def corner(self) -> float:
        return self.peak / self.slope

    def draw(self, ax: Axes) -> None:
        peak, slope, low, high = self
        corner = self.corner
        ax.plot([low, corner], [low * slope, peak], color="black", linewidth=1.6, gid="roof")
        ax.plot([corner, high], [peak, peak], color="black", linewidth=1.6, gid="roof")
        words = f"FP32 peak, {peak:.3g} TFLOP/s"
        note(ax, words, (high, peak), (-4, 4), ha="right", va="bottom")

    def name_slope(self, ax: Axes, words: str, points: list[tuple[float, float]]) -> None:
        """Write along the slope, whose angle depends on the layout, where no point is near."""
        peak, slope, low, _ = self
        ax.figure.draw_without_rendering()
        start, end = ax.transData.transform([(low, low * slope), (self.corner, peak)])
        mark = note(
            ax,
            words,
            (low, low * slope),
            (-5, 5),
            rotation=math.degrees(math.atan2(end[1] - start[1], end[0] - start[0])),
            rotation_mode="anchor",
            ha="center",
            va="bottom",
        )
        marks = ax.transData.transform(points)
        for share in (0.5, 0.65, 0.35, 0.8, 0.2):
            x = low * (self.corner / low) ** share
            mark.xy = x, x * slope
            box = mark.get_window_extent(ax.figure._get_renderer()).padded(6)
            if not any(box.contains(*at) for at in marks):
                break

    def points(self) -> list[tuple[float, float]]:
        """Return points so close together that no label fits between two."""
        peak, slope, low, high = self
        steps = [i / 60 for i in range(61)]
        slanted = [low * (self.corner / low) ** step for step in steps]
        flat = [self.corner * (high / self.corner) ** step for step in steps]
        return [(x, x * slope) for x in slanted] + [(x, peak) for x in flat]


def draw_roofline(
    result: BenchResult,
    shape: Any = None,
    variants: Any = None,
    cache: Any = None,
    order: Any = None,
) -> Figure:
    from matplotlib import pyplot

    timed = [one for one in timed_records(result, cache, order) if one.flops and one.tflops]
    if not timed:
        raise ValueError("a roofline shows arithmetic: the result has no TFLOP/s")
    family = timed[0].family
    timed = [one for one in timed if one.family == family and one.variant != "auto"]
    device = result.provenance.get("device") or {}
    if not device.get("fp32_tflops") or not device.get("bandwidth_gbps"):
        raise ValueError("a roofline needs the device's peaks, which the result does not have")
    rows = {one.variant: one for one in at_shape(timed, shape)}
    names = listed("variants", variants, in_order(list(rows), family))
    figure, ax = pyplot.subplots(figsize=(8.4, 5.6), layout="constrained")
    points, opened = [], False
    for name, style in zip(names, itertools.cycle(STYLES)):
        x, simulated = intensity(rows[name], device.get("multiprocessors"))
        opened = opened or not simulated
        y = rows[name].tflops or 0.0
        points.append((x, y, name))
        ax.plot(
            [x],
            [y],
            marker=style["marker"],
            color=style["color"],
            linestyle="none",
            markersize=7,
            markeredgecolor="white" if simulated else style["color"],
            markeredgewidth=0.6,
            fillstyle="full" if simulated else "none",
            gid="point",
        )
    peak, slope = device["fp32_tflops"], device["bandwidth_gbps"] / 1e3
    xs, ys = [x for x, _, _ in points], [y for _, y, _ in points]
    low, high = min([*xs, peak / slope]) / 3, max([*xs, peak / slope]) * 6
    roofs = _Roofs(peak, slope, low, high)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlim(low, high)
    ax.set_ylim(min([*ys, low * slope]) / 1.6, max([*ys, peak]) * 2.2)
    roofs.draw(ax)
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    ax.grid(color="0.92")
    ax.set_xlabel(
        "operations per byte that requests move, counted by the simulator, without caches"
        + ("\nopen marks: not simulated, operations per byte of the arrays" if opened else "")
    )
    ax.set_ylabel("TFLOP/s")
    title(figure, f"{family}, {rows[names[0]].size}{order_words(timed[0].order)}: roofline", result)
    marks = list(zip(xs, ys, strict=True))
    roofs.name_slope(ax, f"memory, {device['bandwidth_gbps']:.4g} GB/s", marks)
    label_points(ax, points, roofs.points())
    return figure
