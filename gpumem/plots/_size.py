"""Rates against what was varied: the size, or a parameter."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ..bench_result import size_label
from ..sizes import format_bytes
from ._axes import band, byte_axis, note
from ._records import (
    at_shape,
    called,
    in_order,
    listed,
    one_family,
    reference_name,
    timed_records,
    unit_of,
    varied_parameters,
)
from ._style import STYLES, line_style, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..bench_result import BenchResult

_MOST_LINES = 10


def _mark_peak(ax: Axes, peak: float, ceiling: str) -> None:
    """A rule at the device's peak, and its name where no line runs through it."""
    words = "theoretical peak" if ceiling == "bandwidth_gbps" else "peak of the FP32 units"
    ax.axhline(peak, color="black", linewidth=0.9, linestyle=":", gid="peak")
    words += f", {peak:.4g} {'GB/s' if ceiling == 'bandwidth_gbps' else 'TFLOP/s'}"
    beside = ("axes fraction", "data")
    mark = note(ax, words, (0.01, peak), (0, 2), xycoords=beside, va="bottom")
    figure = ax.figure
    figure.draw_without_rendering()  # the layout decides where the lines are
    lines = [line for line in ax.lines if line.get_gid() == "line"]
    for place, side in ((0.01, "left"), (0.99, "right"), (0.5, "center")):
        mark.xy = (place, peak)
        mark.set_ha(side)
        box = mark.get_window_extent(figure._get_renderer())
        if not any(
            line.get_path().transformed(ax.transData).intersects_bbox(box, filled=False)
            for line in lines
        ):
            break


def draw_size(result: BenchResult, variants: Any = None, cache: Any = None) -> Figure:
    from matplotlib import pyplot

    family, timed = one_family(result, cache)
    square = [r for r in timed if len(set(r["shape"])) <= 1]
    chosen = square if len({r["bytes"] for r in square}) > 1 else timed
    key, unit, ceiling = unit_of(chosen)
    lines: dict[str, dict[int, dict[str, Any]]] = {}
    for record in chosen:
        lines.setdefault(called(record, family), {})[record["bytes"]] = record
    reference = reference_name(family)
    names = in_order(list(lines), family)
    if variants is not None:
        names = listed("variants", variants, names)
    elif len(names) > _MOST_LINES:
        best = {n: max(r[key] for r in lines[n].values()) for n in names}
        ranked = sorted(names, key=lambda n: (n not in ("auto", reference), -best[n]))
        names = [n for n in names if n in ranked[:_MOST_LINES]]
    if all(len(lines[name]) == 1 for name in names):
        raise ValueError('the result has one size, and no line to draw: plot("ladder") shows it')
    figure, ax = pyplot.subplots(figsize=(8.4, 5.2), layout="constrained")
    styles = itertools.cycle(STYLES)
    for name in names:
        records = [lines[name][size] for size in sorted(lines[name])]
        style = line_style(name, reference, styles)
        rates = [one[key] for one in records]
        ax.plot([one["bytes"] for one in records], rates, label=name, gid="line", **style)
        band(ax, records, key, style["color"])
    every = [size for name in names for size in lines[name]]
    byte_axis(ax, every)
    peak = (result.provenance.get("device") or {}).get(ceiling) or 0
    top = max(record[key] for name in names for record in lines[name].values())
    ax.set_ylim(0, 1.1 * max(top, peak))
    cached = (result.provenance.get("device") or {}).get("l2_bytes")
    if cached and min(every) < cached < max(every):
        ax.axvline(cached, color="0.5", linewidth=0.9, linestyle="-.", gid="l2")
        low = ("data", "axes fraction")
        note(ax, f"L2, {format_bytes(cached)}", (cached, 0.01), (3, 0), xycoords=low)
    ax.set_xlabel("bytes read and written")
    ax.set_ylabel(unit)
    ax.grid(color="0.92")
    figure.legend(loc="outside right upper", fontsize="small", handlelength=3.2)
    one = chosen[0]
    title(figure, f"{family}, {one['dtype']}, {one['cache']} L2", result)
    if peak:
        _mark_peak(ax, peak, ceiling)
    return figure


def draw_sweep(
    result: BenchResult,
    parameter: Any = None,
    variants: Any = None,
    shape: Any = None,
    cache: Any = None,
) -> Figure:
    from matplotlib import pyplot

    known = varied_parameters(timed_records(result, cache))
    if not known:
        raise ValueError("the result has no sweep: gpumem.bench(..., stride=[1, 2, 4]) makes one")
    (name,) = listed("parameter", known[0] if parameter is None else parameter, known)
    family, timed = one_family(result, cache, name)
    chosen = at_shape(timed, shape)
    key, unit, ceiling = unit_of(chosen)
    swept = [one for one in chosen if name in (one["parameters"] or {})]
    rest = [one for one in chosen if name not in (one["parameters"] or {})]
    values = list(dict.fromkeys(one["parameters"][name] for one in swept))
    numbers = all(isinstance(value, int | float) for value in values)
    if numbers:
        values.sort()
    positive = numbers and values[0] > 0
    places = dict(zip(values, values if numbers else range(len(values)), strict=True))
    rungs = in_order(list(dict.fromkeys(one["variant"] for one in swept)), family)
    rungs = listed("variants", variants, rungs)
    figure, ax = pyplot.subplots(figsize=(8.4, 4.6), layout="constrained")
    styles = itertools.cycle(STYLES)
    for rung in rungs:
        line = {one["parameters"][name]: one[key] for one in swept if one["variant"] == rung}
        there = [value for value in values if value in line]
        style = line_style(rung, reference_name(family), styles)
        places_there = [places[value] for value in there]
        ax.plot(places_there, [line[v] for v in there], label=rung, gid="line", **style)
    top = [one[key] for one in swept if one["variant"] in rungs]
    for rung in dict.fromkeys(called(one, family) for one in rest):
        rates = sorted(one[key] for one in rest if called(one, family) == rung)
        middle = rates[len(rates) // 2]
        style = line_style(rung, rung, styles)
        ax.axhline(middle, label=f"{rung}, without {name}", gid="reference", **style)
        top.append(middle)
    peak = (result.provenance.get("device") or {}).get(ceiling) or 0
    if positive and values[-1] >= 8 * values[0]:
        ax.set_xscale("log", base=2)
    ticks = list(places.values())
    if numbers and len(ticks) > 8:  # as many as there is room for
        ticks = [v for v in ticks if v == int(v) and int(v) & (int(v) - 1) == 0] or ticks[::2]
    told = {place: value for value, place in places.items()}
    ax.set_xticks(ticks, [f"{told[tick]:g}" if numbers else str(told[tick]) for tick in ticks])
    ax.minorticks_off()
    ax.set_ylim(0, 1.1 * max(*top, peak))
    ax.set_xlabel(name)
    ax.set_ylabel(unit)
    ax.grid(color="0.92")
    figure.legend(loc="outside right upper", fontsize="small", handlelength=3.2)
    one = swept[0]
    words = f"{family} by {name}, {size_label(one)}, {one['dtype']}, {one['cache']} L2"
    title(figure, words, result)
    if peak:
        _mark_peak(ax, peak, ceiling)
    return figure
