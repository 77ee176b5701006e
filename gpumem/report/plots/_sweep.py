"""Rates against a parameter that was varied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..records import varied_parameters
from ._axes import mark_peak
from ._labels import label_ends
from ._lines import draw_lines
from ._records import (
    at_shape,
    called,
    in_order,
    listed,
    one_family,
    one_of,
    reference_name,
    timed_records,
    unit_of,
)
from ._style import line_style, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...base.result import BenchResult


def _parameter_axis(ax: Axes, name: str, values: list[Any]) -> None:
    """Label the axis with the values: numbers to scale, words at equal distances."""
    numbers = _are_numbers(values)
    if numbers and values[0] > 0 and values[-1] >= 8 * values[0]:
        ax.set_xscale("log", base=2)
    ticks = list(_places(values).values())
    if numbers and len(ticks) > 8:  # as many as there is room for
        ticks = [v for v in ticks if v == int(v) and int(v) & (int(v) - 1) == 0] or ticks[::2]
    value = {place: value for value, place in _places(values).items()}
    ax.set_xticks(ticks, [f"{value[tick]:g}" if numbers else str(value[tick]) for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(name)


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)


def _places(values: list[Any]) -> dict[Any, float]:
    """Return the place of each value on the axis."""
    return dict(zip(values, values if _are_numbers(values) else range(len(values)), strict=True))


def _draw_without(ax: Axes, rates: dict[str, float], name: str) -> list[Any]:
    """Draw a horizontal line for each variant that lacks the parameter."""
    return [
        ax.axhline(
            rate,
            label=f"{rung}\n(no {name})",
            gid="reference",
            **line_style(rung, rung, iter(())) | {"marker": ""},
        )
        for rung, rate in rates.items()
    ]


def draw_sweep(
    result: BenchResult,
    parameter: Any = None,
    variants: Any = None,
    shape: Any = None,
    cache: Any = None,
    order: Any = None,
) -> Figure:
    from matplotlib import pyplot

    known = varied_parameters(timed_records(result, cache, order))
    if not known:
        raise ValueError("the result has no sweep: gpumem.bench(..., stride=[1, 2, 4]) makes one")
    name = one_of("parameter", known[0] if parameter is None else parameter, known)
    family, timed = one_family(result, cache, order, name)
    chosen = at_shape(timed, shape)
    unit = unit_of(chosen)
    swept = [one for one in chosen if name in one.parameters]
    values = list(dict.fromkeys(one.parameters[name] for one in swept))
    if _are_numbers(values):
        values.sort()
    places = _places(values)
    rungs = in_order(list(dict.fromkeys(one.variant for one in swept)), family)
    rungs = listed("variants", variants, rungs)
    lines = {
        rung: {places[one.parameters[name]]: unit.of(one) for one in swept if one.variant == rung}
        for rung in rungs
    }
    rest: dict[str, list[float]] = {}
    for one in chosen:
        if name not in one.parameters:
            rest.setdefault(called(one, family), []).append(unit.of(one))
    level = {rung: sorted(rates)[len(rates) // 2] for rung, rates in rest.items()}
    peak = (result.provenance.get("device") or {}).get(unit.ceiling) or 0
    top = [rate for line in lines.values() for rate in line.values()]
    height = 1.1 * max(*top, *level.values(), peak)
    figure, ax = pyplot.subplots(figsize=(8.4, 4.6), layout="constrained")
    drawn = [line for _, line in draw_lines(ax, lines, reference_name(family, chosen), height)]
    drawn += _draw_without(ax, level, name)
    _parameter_axis(ax, name, values)
    ax.set_ylim(0, height)
    ax.set_ylabel(unit.words)
    ax.grid(color="0.92")
    one = swept[0]
    words = f"{family} by {name}, {one.size}, {one.dtype}, {one.conditions}"
    title(figure, words, result)
    label_ends(ax, drawn)
    if peak:
        mark_peak(ax, peak, unit.ceiling)
    return figure
