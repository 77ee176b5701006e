"""The roofline: what variants compute, under the ceilings of the device."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from ..bench_result import size_label
from ._intensity import intensity
from ._labels import label_points
from ._records import at_shape, in_order, listed, timed_records
from ._style import STYLES, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..bench_result import BenchResult


def draw_roofline(
    result: BenchResult, shape: Any = None, variants: Any = None, cache: Any = None
) -> Figure:
    from matplotlib import pyplot

    timed = [one for one in timed_records(result, cache) if one["flops"] and one["tflops"]]
    if not timed:
        raise ValueError("a roofline is of what computes: the result has no TFLOP/s")
    family = timed[0]["family"]
    timed = [one for one in timed if one["family"] == family and one["variant"] != "auto"]
    device = result.provenance.get("device") or {}
    if not device.get("fp32_tflops") or not device.get("bandwidth_gbps"):
        raise ValueError("a roofline needs the device's peaks, which the result does not have")
    rows = {one["variant"]: one for one in at_shape(timed, shape)}
    names = listed("variants", variants, in_order(list(rows), family))
    figure, ax = pyplot.subplots(figsize=(8.4, 5.6), layout="constrained")
    points, opened = [], False
    for name, style in zip(names, itertools.cycle(STYLES)):
        x, simulated = intensity(rows[name], device)
        opened = opened or not simulated
        y = rows[name]["tflops"]
        points.append((x, y, name))
        ax.plot(
            [x],
            [y],
            marker=style["marker"],
            color=style["color"],
            linestyle="none",
            markersize=7,
            fillstyle="full" if simulated else "none",
            gid="point",
        )
    peak, slope = device["fp32_tflops"], device["bandwidth_gbps"] / 1e3  # TB/s
    xs, ys = [x for x, _, _ in points], [y for _, y, _ in points]
    low, high = min([*xs, peak / slope]) / 3, max([*xs, peak / slope]) * 6
    bottom = min([*ys, low * slope]) / 1.6
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlim(low, high)
    ax.set_ylim(bottom, max([*ys, peak]) * 2.2)
    corner = peak / slope
    ax.plot([low, corner], [low * slope, peak], color="black", linewidth=1.6, gid="roof")
    ax.plot([corner, high], [peak, peak], color="black", linewidth=1.6, gid="roof")
    ax.annotate(
        f"FP32 peak, {peak:.3g} TFLOP/s",
        (high, peak),
        (-4, 4),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize="small",
        gid="mark",
    )
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    ax.grid(color="0.92")
    ax.set_xlabel(
        "operations per byte that the requests move, as simulated, without caches"
        + ("\nopen marks: per byte of the arrays" if opened else "")
    )
    ax.set_ylabel("TFLOP/s")
    title(figure, f"{family}, {size_label(rows[names[0]])}", result)
    figure.draw_without_rendering()
    middle = (low * corner) ** 0.5
    start, end = ax.transData.transform([(low, low * slope), (corner, peak)])
    ax.annotate(
        f"memory, {device['bandwidth_gbps']:.4g} GB/s",
        (middle, middle * slope),
        (-5, 5),
        textcoords="offset points",
        rotation=math.degrees(math.atan2(end[1] - start[1], end[0] - start[0])),
        rotation_mode="anchor",
        ha="center",
        va="bottom",
        fontsize="small",
        gid="mark",
    )
    steps = [i / 60 for i in range(61)]
    slanted = [low * (corner / low) ** step for step in steps]
    flat = [corner * (high / corner) ** step for step in steps]
    lines = [(x, x * slope) for x in slanted] + [(x, peak) for x in flat]
    label_points(ax, points, lines)
    return figure
