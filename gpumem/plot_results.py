"""Pictures of benchmarks: by size, as a ladder or a roofline, of a sweep, and over the bus."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .bench_result import origin
from .plot import DARK, PALE, need_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .bench_result import BenchResult
    from .prefetch import Point

# Told apart in black and white as well: no two have marker and dash in common, nor with one dash
# markers that look alike when they are small.
STYLES = [
    {"marker": marker, "linestyle": dash, "color": color}
    for marker, dash, color in zip(
        "osD^vP*<>phdXH8",
        ["-", "--", "-.", ":", "-"] * 3,
        ["#1b4f72", "#b03a2e", "#117a65", "#7d3c98", "#9c640c", "#2e4053"] * 2
        + ["#6e2c00", "#0b5345", "#4a235a"],
        strict=True,
    )
]


def _listed(name: str, wanted: Any, known: list[Any]) -> list[Any]:
    """Those of the known values that an option names; None is all."""
    if wanted is None:
        return known
    several = list(wanted) if isinstance(wanted, list | tuple | range) else [wanted]
    for one in several:
        if one not in known:
            words = ", ".join(map(str, known))
            raise ValueError(f"{name} {one!r} was not measured; there are: {words}")
    return several


def _order(values: Any) -> list[Any]:
    return sorted(dict.fromkeys(values))


def _ladder(found: list[Point]) -> list[str]:
    """The variants that have a distance, in the order of their story."""
    from .variants import variants

    seen = {one.variant for point in found for one in point.tries if one.distance is not None}
    known = [variant.name for variant in variants("prefetch_sum")]
    return [name for name in known if name in seen] + sorted(seen - set(known))


def _tries(point: Point, variant: str, padding: Any) -> dict[int, float]:
    """Speed-up by distance."""
    return {
        one.distance: one.speed_up
        for one in sorted(point.tries, key=lambda one: one.distance or 0)
        if one.variant == variant and one.padding == padding and one.distance is not None
    }


def _draw_distance(
    result: BenchResult, work: Any = None, warps: Any = None, variants: Any = None
) -> Figure:
    from matplotlib import pyplot

    from . import prefetch

    found = prefetch.points(result)
    rows = _listed("work", work, _order(one.work for one in found))
    columns = _listed("warps", warps, _order(one.warps for one in found))
    ladder = _ladder(found)
    kinds = sorted(
        {
            (one.variant, one.padding == 0)
            for point in found
            for one in point.tries
            if one.distance is not None
        },
        key=lambda kind: (ladder.index(kind[0]), kind[1]),
    )
    named = _listed("variants", variants, ladder)
    kinds = [(name, bare) for name, bare in kinds if name in named]
    figure, axes = pyplot.subplots(
        len(rows),
        len(columns),
        figsize=(max(3.0 * len(columns) + 0.8, 4.8), 2.5 * len(rows) + 1.7),
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    lines: dict[str, Any] = {}
    for (name, bare), style in zip(kinds, itertools.cycle(STYLES)):
        label = f"{name}, no padding" if bare else name
        for point in found:
            if point.work not in rows or point.warps not in columns:
                continue
            paddings = [0] if bare else ["auto", None]
            line = next((got for p in paddings if (got := _tries(point, name, p))), {})
            ax = axes[rows.index(point.work)][columns.index(point.warps)]
            (lines[label],) = ax.plot(
                list(line),
                list(line.values()),
                label=label,
                markersize=4.5,
                linewidth=1.1,
                fillstyle="none" if bare else "full",
                **style,
            )
    for i, row in enumerate(axes):
        for j, ax in enumerate(row):
            ax.axhline(1, color="black", linewidth=0.8, gid="baseline")
            ax.set_title(f"work {rows[i]}, {columns[j]:g} warps per SM", fontsize="medium")
            ax.set_xticks([1, 4, 8, 12, 16])
            ax.set_ylim(bottom=0)
            ax.grid(color="0.9")
        row[0].set_ylabel("times as fast as baseline")
    for ax in axes[-1]:
        ax.set_xlabel("distance, steps ahead")
    figure.legend(
        lines.values(),
        lines.keys(),
        loc="outside lower center",
        ncols=max(1, int(figure.get_figwidth() / 2.9)),
        fontsize="small",
    )
    _title(figure, "prefetch_sum", result)
    return figure


def _draw_map(
    result: BenchResult, work: Any = None, variant: Any = None, padding: Any = None
) -> Figure:
    import numpy as np
    from matplotlib import pyplot
    from matplotlib.colors import TwoSlopeNorm

    from . import prefetch

    found = prefetch.points(result)
    panels = _listed("work", work, _order(one.work for one in found))
    warps = _order(one.warps for one in found)
    names = _ladder(found)
    _listed("variant", variant, names)
    distances = _order(t.distance for one in found for t in one.tries if t.distance is not None)
    letters = {name: chr(ord("a") + i) for i, name in enumerate(names)}
    cells = np.full((len(panels), len(warps), len(distances)), np.nan)
    marks = np.full(cells.shape, "", dtype=object)
    for point in found:
        if point.work not in panels:
            continue
        for k, distance in enumerate(distances):
            best = point.find(variant, distance, padding)
            if best is not None:
                place = panels.index(point.work), warps.index(point.warps), k
                cells[place] = best.speed_up
                marks[place] = letters[best.variant]
    if np.isnan(cells).all():
        raise ValueError(f"variant {variant!r} with padding {padding!r} was not measured")
    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    norm = TwoSlopeNorm(1, min(low, 0.9), max(high, 1.1))
    figure, axes = pyplot.subplots(
        len(panels),
        1,
        figsize=(0.62 * len(distances) + 1.9, (0.42 * len(warps) + 0.85) * len(panels) + 1.3),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for panel, ax in zip(range(len(panels)), axes[:, 0], strict=True):
        mesh = ax.pcolormesh(
            np.ma.masked_invalid(cells[panel]),
            cmap="RdBu",
            norm=norm,
            edgecolors="white",
            linewidth=0.6,
        )
        for (i, k), value in np.ndenumerate(cells[panel]):
            if not np.isnan(value):
                red, green, blue, _ = mesh.cmap(norm(value))
                dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
                text = f"{value:.2f}{'' if variant else ' ' + marks[panel, i, k]}"
                ax.text(
                    k + 0.5,
                    i + 0.5,
                    text,
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    color="white" if dark else "black",
                )
        ax.set_yticks([i + 0.5 for i in range(len(warps))], [f"{count:g}" for count in warps])
        ax.set_xticks([k + 0.5 for k in range(len(distances))], list(map(str, distances)))
        ax.tick_params(length=0)
        ax.set_ylabel("warps per SM")
        ax.set_title(f"work {panels[panel]}", fontsize="medium")
    axes[-1, 0].set_xlabel("distance, steps ahead")
    what = f"{variant}" if variant else "the best variant"
    if variant and padding is not None:
        what += f", padding {padding}"
    _title(figure, f"prefetch_sum: times as fast as baseline, {what}", result)
    if not variant:
        used = [f"{letters[name]} {name}" for name in names if (marks == letters[name]).any()]
        key = textwrap.fill("   ".join(used), int(16 * figure.get_figwidth()))
        figure.supxlabel(key, fontsize="small")
    return figure


# ---- labels that keep clear of each other --------------------------------------------------


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places in rising order, a gap apart at least, near to those wanted.

    Parameters
    ----------
    wanted : sequence of float
        In rising order.
    gap : float
        The least distance of neighbours.
    low, high : float
        Between which they should lie, if there is room for all.
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


def _label_points(
    ax: Axes, points: list[tuple[float, float, str]], lines: Sequence[tuple[float, float]]
) -> None:
    """Write a label beside each point, clear of the other labels and of a line, if need be far.

    Points that stand above each other have their labels in one column, in the same order.
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
    columns: list[list[Any]] = []
    for one in placed:
        if columns and one[0] - columns[-1][-1][0] < 12 * unit:
            columns[-1].append(one)
        else:
            columns.append([one])
    for column in columns:
        column.sort(key=lambda one: one[1])
        texts = [ax.text(0, 0, one[2], fontsize="small", gid="label") for one in column]
        boxes = [text.get_window_extent(renderer) for text in texts]
        wide, high = max(box.width for box in boxes), 1.15 * max(box.height for box in boxes)
        best: tuple[float, float, list[float], list[Any]] | None = None
        for far in (9, 24):
            for right in (True, False):
                edge = max(one[0] for one in column) if right else min(one[0] for one in column)
                left = edge + far * unit if right else edge - far * unit - wide
                # Lower by and by, as roofs are above.
                for drop in range(8):
                    wanted = [one[1] - drop * high / 2 for one in column]
                    places = spread(wanted, high, room.y0 + high, room.y1 - high)
                    here = [
                        Bbox.from_bounds(left, place - high / 2, box.width, high)
                        for place, box in zip(places, boxes, strict=True)
                    ]
                    clashes = sum(box.overlaps(other) for box in here for other in taken + marks)
                    outside = sum(box.x0 < room.x0 or box.x1 > room.x1 for box in here)
                    score = 100 * outside + 10 * clashes + drop + far / 10
                    if best is None or score < best[0]:
                        best = score, left, places, here
        assert best is not None
        _, left, places, here = best
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


def _title(figure: Figure, words: str, result: BenchResult) -> None:
    """What is shown, and the banner: which device, when, which commit."""
    figure.suptitle(f"{words}\n{origin(result.provenance)}", fontsize="medium")


def byte_axis(ax: Axes, sizes: list[int]) -> None:
    """Powers of two, told in KiB and MiB, as many as there is room for."""
    from .sizes import format_bytes

    low, high = (math.log2(edge(sizes)) for edge in (min, max))
    first, last = math.floor(low), math.ceil(high)
    step = max(1, math.ceil((last - first + 1) / 9))
    powers = range(first, last + 1, step)
    ax.set_xscale("log", base=2)
    ax.set_xlim(2 ** (low - 0.4), 2 ** (high + 0.4))
    ax.set_xticks([2**power for power in powers], [format_bytes(2**power) for power in powers])
    ax.minorticks_off()
    ax.tick_params(axis="x", labelsize="small")


# ---- bandwidth against size, and the ladder ------------------------------------------------

_MOST_LINES = 10


def _timed(result: BenchResult, cache: str | None) -> list[dict[str, Any]]:
    """Records with a time, of one state of the cache."""
    timed = [record for record in result.records if record["median_ms"]]
    if not timed:
        raise ValueError("the result has no times to draw")
    caches = list(dict.fromkeys(record["cache"] for record in timed))
    (cache,) = _listed("cache", caches[0] if cache is None else cache, caches)
    return [record for record in timed if record["cache"] == cache]


def _varied(records: list[dict[str, Any]]) -> list[str]:
    """The parameters that have several values."""
    seen: dict[str, set[str]] = {}
    for record in records:
        for name, value in (record["parameters"] or {}).items():
            seen.setdefault(name, set()).add(repr(value))
    return [name for name, values in seen.items() if len(values) > 1]


def _one_family(
    result: BenchResult, cache: str | None, swept: str | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """The family that was benchmarked, and its records with those of its reference beside."""
    from . import oracle

    timed = _timed(result, cache)
    found = list(dict.fromkeys(record["family"] for record in timed))
    named = [one["family"] for one in result.records if one["variant"] == "auto"]
    family = named[0] if named else found[0]
    others = [name for name in found if name not in (family, oracle.reference(family)[0])]
    if others:
        raise ValueError(
            f"the result is of several families, {', '.join([family, *others])}: "
            "result.filter(family=...) chooses one"
        )
    varied = [name for name in _varied(timed) if name != swept]
    varied += ["dtype"] if len({record["dtype"] for record in timed}) > 1 else []
    if varied:
        raise ValueError(
            f"the result has several values of {', '.join(varied)}: result.filter(...) chooses one"
        )
    return family, timed


def _called(record: dict[str, Any], family: str) -> str:
    return record["variant"] if record["family"] == family else _full(record)


def _reference(family: str) -> str:
    from . import oracle

    kin, name = oracle.reference(family)
    return name if kin == family else f"{kin}-{name}"


def _full(record: dict[str, Any]) -> str:
    return f"{record['family']}-{record['variant']}"


def _in_order(names: list[str], family: str) -> list[str]:
    """As the table tells the ladder; then "auto", then what is from elsewhere."""
    from .variants import variants

    known = [variant.name for variant in variants(family)]
    return sorted(names, key=lambda n: known.index(n) if n in known else 99 + (n != "auto"))


def _unit(records: list[dict[str, Any]]) -> tuple[str, str, str]:
    """The figure that all records have, its name, and the device's peak of it."""
    if all(record["tflops"] is not None for record in records):
        return "tflops", "TFLOP/s", "fp32_tflops"
    return "gbps", "GB/s, bytes read and written", "bandwidth_gbps"


def _style(name: str, reference: str, styles: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """How the line of a contender looks; "auto" and the reference stand out."""
    if name == reference:
        return {"color": "0.35", "linestyle": (0, (6, 2)), "linewidth": 2.2, "zorder": 1.9}
    style = {"markersize": 4.5, "linewidth": 1.1, **next(styles)}
    if name == "auto":  # on top of what it chose
        style |= {"linewidth": 1.8, "color": "black", "fillstyle": "none", "zorder": 3}
    return style


def _mark_peak(ax: Axes, peak: float, ceiling: str) -> None:
    """A rule at the device's peak, and its name where no line runs through it."""
    words = "theoretical peak" if ceiling == "bandwidth_gbps" else "peak of the FP32 units"
    ax.axhline(peak, color="black", linewidth=0.9, linestyle=":", gid="peak")
    mark = ax.annotate(
        f"{words}, {peak:.4g} {'GB/s' if ceiling == 'bandwidth_gbps' else 'TFLOP/s'}",
        (0.01, peak),
        (0, 2),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="bottom",
        fontsize="small",
        gid="mark",
    )
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


# Times of one kind of thing do not lie further apart.
_WIDEST_BAND = 3


def _band(ax: Axes, records: list[dict[str, Any]], key: str, color: str) -> None:
    """From the 20th to the 80th percentile of the times; none where these are of two kinds."""
    if all(one["p20_ms"] and one["p80_ms"] for one in records):
        low, high = (
            [one[key] * one["median_ms"] / one[edge] for one in records]
            for edge in ("p80_ms", "p20_ms")
        )
        sizes = [one["bytes"] for one in records]
        narrow = [b < _WIDEST_BAND * a for a, b in zip(low, high, strict=True)]
        ax.fill_between(sizes, low, high, narrow, color=color, alpha=0.2, linewidth=0)


def _draw_size(result: BenchResult, variants: Any = None, cache: Any = None) -> Figure:
    from matplotlib import pyplot

    from .sizes import format_bytes

    family, timed = _one_family(result, cache)
    square = [r for r in timed if len(set(r["shape"])) <= 1]
    chosen = square if len({r["bytes"] for r in square}) > 1 else timed
    key, unit, ceiling = _unit(chosen)
    lines: dict[str, dict[int, dict[str, Any]]] = {}
    for record in chosen:
        lines.setdefault(_called(record, family), {})[record["bytes"]] = record
    reference = _reference(family)
    names = _in_order(list(lines), family)
    if variants is not None:
        names = _listed("variants", variants, names)
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
        style = _style(name, reference, styles)
        rates = [one[key] for one in records]
        ax.plot([one["bytes"] for one in records], rates, label=name, gid="line", **style)
        _band(ax, records, key, style["color"])
    every = [size for name in names for size in lines[name]]
    byte_axis(ax, every)
    peak = (result.provenance.get("device") or {}).get(ceiling) or 0
    top = max(record[key] for name in names for record in lines[name].values())
    ax.set_ylim(0, 1.1 * max(top, peak))
    cached = (result.provenance.get("device") or {}).get("l2_bytes")
    if cached and min(every) < cached < max(every):
        ax.axvline(cached, color="0.5", linewidth=0.9, linestyle="-.", gid="l2")
        ax.annotate(
            f"L2, {format_bytes(cached)}",
            (cached, 0.01),
            (3, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            fontsize="small",
            gid="mark",
        )
    ax.set_xlabel("bytes read and written")
    ax.set_ylabel(unit)
    ax.grid(color="0.92")
    figure.legend(loc="outside right upper", fontsize="small", handlelength=3.2)
    one = chosen[0]
    _title(figure, f"{family}, {one['dtype']}, {one['cache']} L2", result)
    if peak:
        _mark_peak(ax, peak, ceiling)
    return figure


def _draw_sweep(
    result: BenchResult,
    parameter: Any = None,
    variants: Any = None,
    shape: Any = None,
    cache: Any = None,
) -> Figure:
    from matplotlib import pyplot

    from .bench_result import size_label

    known = _varied(_timed(result, cache))
    if not known:
        raise ValueError("the result has no sweep: gpumem.bench(..., stride=[1, 2, 4]) makes one")
    (name,) = _listed("parameter", known[0] if parameter is None else parameter, known)
    family, timed = _one_family(result, cache, name)
    chosen = _at_shape(timed, shape)
    key, unit, ceiling = _unit(chosen)
    swept = [one for one in chosen if name in (one["parameters"] or {})]
    rest = [one for one in chosen if name not in (one["parameters"] or {})]
    values = list(dict.fromkeys(one["parameters"][name] for one in swept))
    numbers = all(isinstance(value, int | float) for value in values)
    if numbers:
        values.sort()
    positive = numbers and values[0] > 0
    places = dict(zip(values, values if numbers else range(len(values)), strict=True))
    rungs = _in_order(list(dict.fromkeys(one["variant"] for one in swept)), family)
    rungs = _listed("variants", variants, rungs)
    figure, ax = pyplot.subplots(figsize=(8.4, 4.6), layout="constrained")
    styles = itertools.cycle(STYLES)
    for rung in rungs:
        line = {one["parameters"][name]: one[key] for one in swept if one["variant"] == rung}
        there = [value for value in values if value in line]
        style = _style(rung, _reference(family), styles)
        places_there = [places[value] for value in there]
        ax.plot(places_there, [line[v] for v in there], label=rung, gid="line", **style)
    top = [one[key] for one in swept if one["variant"] in rungs]
    for rung in dict.fromkeys(_called(one, family) for one in rest):
        rates = sorted(one[key] for one in rest if _called(one, family) == rung)
        middle = rates[len(rates) // 2]
        style = _style(rung, rung, styles)
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
    _title(figure, words, result)
    if peak:
        _mark_peak(ax, peak, ceiling)
    return figure


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["bytes"] == other["bytes"] and sorted(one["shape"]) == sorted(other["shape"])


def _at_shape(records: list[dict[str, Any]], shape: Any) -> list[dict[str, Any]]:
    """Those of one shape: by default where most have a time, the largest of these.

    And beside them who did as much with axes in another order, and has no time in this one.
    """
    shapes: dict[tuple[int, ...], list[dict[str, Any]]] = {}
    for record in records:
        shapes.setdefault(tuple(record["shape"]), []).append(record)
    if shape is None:
        chosen = max(shapes.values(), key=lambda found: (len(found), found[0]["bytes"]))
        here = {_full(one) for one in chosen}
        turned = [found for found in shapes.values() if _alike(found[0], chosen[0])]
        return [*chosen, *(one for found in turned for one in found if _full(one) not in here)]
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    (wanted,) = _listed("shape", [wanted], list(shapes))
    return shapes[wanted]


def _column(values: Sequence[float], digits: int = 2) -> list[str]:
    """Figures with the same decimals, so many digits of the least, one below the other."""
    least = min(abs(value) for value in values)
    decimals = min(4, max(0, digits - 1 - math.floor(math.log10(least)))) if least else 0
    cells = [f"{value:.{decimals}f}" for value in values]
    return [cell.rjust(max(map(len, cells)), "\N{FIGURE SPACE}") for cell in cells]


def _beside(ax: Axes, cells: list[str]) -> None:
    """Figures of bars in a column of their own, where no bar and no line can run through them."""
    beside = ax.twinx()
    beside.set_ylim(ax.get_ylim())
    beside.set_yticks(range(len(cells)), cells)
    for axis in (ax, beside):
        axis.tick_params(axis="y", length=0, labelsize="small")


def _draw_ladder(
    result: BenchResult, shape: Any = None, variants: Any = None, cache: Any = None
) -> Figure:
    from matplotlib import pyplot

    from .bench_result import size_label
    from .comparison import is_ours

    family, timed = _one_family(result, cache)
    chosen = _at_shape(timed, shape)
    key, unit, _ = _unit(chosen)
    reference = _reference(family)
    rows = {_called(record, family): record for record in chosen}
    names = _in_order([name for name in rows if name != reference], family)
    names = _listed("variants", variants, names)
    rates = [rows[name][key] for name in names]
    against = rows[reference][key] if reference in rows else None
    figure, ax = pyplot.subplots(figsize=(8.4, 0.29 * len(names) + 1.9), layout="constrained")
    bars = ax.barh(names, rates, color=PALE, edgecolor=DARK, linewidth=0.8, height=0.72)
    for name, bar in zip(names, bars, strict=True):
        if name == "auto":
            bar.set(facecolor=DARK)
        elif not is_ours(rows[name]["family"], rows[name]["variant"]):
            bar.set(facecolor="white", hatch="////")
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(0, 1.03 * max([*rates, against or 0]))
    if against:
        ax.axvline(against, color="black", linewidth=1.6, linestyle="--", gid="reference")
        ax.annotate(
            f"{reference}, {against:.4g}",
            (against, 1),
            (0, 3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            fontsize="small",
            gid="label",
        )
    cells = _column(rates)
    if against:
        shares = [f"{rate / against:.3f}" for rate in rates]
        cells = [f"{cell}   {share}" for cell, share in zip(cells, shares, strict=True)]
    _beside(ax, cells)
    ax.set_xlabel(unit + (f"; right: that, and over {reference}" if against else ""))
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    one = chosen[0]
    words = f"{family}, {size_label(one)}, {one['dtype']}, {one['cache']} L2"
    _title(figure, words, result)
    return figure


# ---- the roofline --------------------------------------------------------------------------


_SIDE, _TILE = 512, 128  # of a product that is simulated, at most and at least
_DEPTHS = (32, 64)
_DEEPEST = 1024


def _like(side: int, most: int) -> int:
    """A side of at most so many elements that falls on vectors as the other does."""
    return side if side <= most else most - (-side) % 4


def _moved_by_product(record: dict[str, Any], device: dict[str, Any]) -> float:
    """Bytes that the requests of a product of matrices move, per operation.

    A small product with as many tiles for each multiprocessor is simulated. What its tiles move
    grows with the depth by so much per step, and what is left is the result. Where blocks share the
    depth of a tile their number depends on it, and their sums are written and read: such a
    product is as deep as it was, within reason. Factors that are written out first grow with the
    sides, not with the tiles.
    """
    from . import _core
    from .traffic import SECTOR, Traffic, traffic

    def simulate(*shape: int) -> Traffic:
        name = record["variant"]
        return traffic(record["family"], variant=name, shape=shape, dtype=record["dtype"])

    def packing(report: Traffic) -> int:
        sites = [one for one in report.sites if str(one["file"]).endswith("/pack.cu")]
        return sum(one["sectors"] for one in sites) * SECTOR

    rows, columns, depth = record["shape"]
    here = _core.backend_info("sim")["devices"][0]["multiprocessors"]
    scale = math.sqrt(here / (device.get("multiprocessors") or here))
    steps = [_like(depth, most) for most in _DEPTHS]
    alone = simulate(min(rows, _TILE), min(columns, _TILE), min(depth, 4 * steps[-1]))
    shares = any("share" in one["name"] for one in alone.helpers())
    sides = []
    for side in (rows, columns):
        tiles = max(1, round(scale * side / _TILE))
        sides.append(_like(side, min(_SIDE if shares else _SIDE // 2, _TILE * tiles)))
    if shares and math.prod(simulate(*sides, steps[0]).grid) < here:
        steps[1] = min(depth, _DEEPEST)
        steps[0] = steps[1]
    few, more = (simulate(*sides, one) for one in steps)
    own = [report.bytes_moved - packing(report) for report in (few, more)]
    packed = packing(more) / (sum(sides) * steps[1]) * (rows + columns) * depth
    if steps[0] == steps[1]:
        moved = own[1] / (math.prod(sides) * steps[1])
    else:
        each = (own[1] - own[0]) / (steps[1] - steps[0])
        moved = (own[0] + each * (depth - steps[0])) / (math.prod(sides) * depth)
    return (moved + packed / (rows * columns * depth)) / 2


def _intensity(record: dict[str, Any], device: dict[str, Any]) -> tuple[float, bool]:
    """Operations per byte that requests move, from the simulator; else per byte of the arrays.

    A block of a large job does what a block of a small one does, so a small one is simulated.
    """
    from . import _core, oracle
    from .traffic import traffic

    family, name = record["family"], record["variant"]
    try:
        if family == "sgemm":
            return 1 / _moved_by_product(record, device), True
        most = 256 if len(record["shape"]) > 1 else 2**20
        shape = tuple(min(side, most) for side in record["shape"])
        report = traffic(family, variant=name, shape=shape, dtype=record["dtype"])
        _, flops = oracle.work(family, shape, record["dtype"])
        if report.bytes_moved and flops:
            return flops / report.bytes_moved, True
    except (_core.UnavailableError, ValueError, TypeError, ZeroDivisionError):
        pass
    return record["flops"] / record["bytes"], False


def _draw_roofline(
    result: BenchResult, shape: Any = None, variants: Any = None, cache: Any = None
) -> Figure:
    from matplotlib import pyplot

    from .bench_result import size_label

    timed = [one for one in _timed(result, cache) if one["flops"] and one["tflops"]]
    if not timed:
        raise ValueError("a roofline is of what computes: the result has no TFLOP/s")
    family = timed[0]["family"]
    timed = [one for one in timed if one["family"] == family and one["variant"] != "auto"]
    device = result.provenance.get("device") or {}
    if not device.get("fp32_tflops") or not device.get("bandwidth_gbps"):
        raise ValueError("a roofline needs the device's peaks, which the result does not have")
    rows = {one["variant"]: one for one in _at_shape(timed, shape)}
    names = _listed("variants", variants, _in_order(list(rows), family))
    figure, ax = pyplot.subplots(figsize=(8.4, 5.6), layout="constrained")
    points, opened = [], False
    for name, style in zip(names, itertools.cycle(STYLES)):
        x, simulated = _intensity(rows[name], device)
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
    _title(figure, f"{family}, {size_label(rows[names[0]])}", result)
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
    _label_points(ax, points, lines)
    return figure


# ---- transfers over the bus ----------------------------------------------------------------


_OFF_THE_BUS = {"within", "to_peer"}


def _draw_transfer(result: BenchResult, memory: Any = None, direction: Any = None) -> Figure:
    from matplotlib import pyplot

    timed = [
        one
        for one in result.records
        if one["family"] == "transfer"
        and one["median_ms"]
        and one["gbps"]
        and "kind" in (one["parameters"] or {})
    ]
    if not timed:
        raise ValueError('the result has no transfers: records of family "transfer" with a kind')

    def asked(record: dict[str, Any], name: str) -> str:
        return str(record["parameters"].get(name, record["variant"]))

    kinds = _listed("memory", memory, list(dict.fromkeys(asked(one, "kind") for one in timed)))
    # Within the device, or between two, nothing crosses the host's bus: drawn where asked for.
    panels = list(dict.fromkeys(asked(one, "direction") for one in timed))
    if direction is None:
        panels = [name for name in panels if name not in _OFF_THE_BUS] or panels
        kinds = [
            k
            for k in kinds
            if any(asked(o, "direction") in panels for o in timed if asked(o, "kind") == k)
        ]
    panels = _listed("direction", direction, panels)
    figure, axes = pyplot.subplots(
        1,
        len(panels),
        figsize=(4.4 * len(panels) + 1.8, 4.4),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    figure.get_layout_engine().set(wspace=0.05)  # the last tick of one, the first of the next
    drawn: dict[str, Any] = {}
    for panel, ax in zip(panels, axes[0], strict=True):
        every: list[int] = []
        for name, style in zip(kinds, itertools.cycle(STYLES)):
            line = {
                one["bytes"]: one
                for one in timed
                if asked(one, "kind") == name and asked(one, "direction") == panel
            }
            if not line:
                continue
            records = [line[size] for size in sorted(line)]
            every += line
            (drawn[name],) = ax.plot(
                [one["bytes"] for one in records],
                [one["gbps"] for one in records],
                label=name,
                markersize=4.5,
                linewidth=1.2,
                gid="line",
                **style,
            )
            _band(ax, records, "gbps", style["color"])
        if every:
            byte_axis(ax, every)
            ax.set_xticks(ax.get_xticks()[::2])
        ax.set_title(panel.replace("_", " "), fontsize="medium")
        ax.set_xlabel("bytes moved" + (", both ways together" if panel == "both" else ""))
        ax.grid(color="0.92")
    shown = [one["gbps"] for one in timed if asked(one, "direction") in panels]
    axes[0, 0].set_ylim(0, 1.08 * max(shown))  # of all panels: they share it
    bus = _OFF_THE_BUS.isdisjoint(panels)
    axes[0, 0].set_ylabel("GB/s over the bus" if bus else "GB/s")
    figure.legend(
        drawn.values(),
        [name.replace("_", " ") for name in drawn],
        loc="outside lower center",
        ncols=_legend_columns(figure, len(drawn)),
        fontsize="small",
        handlelength=3.2,
    )
    _title(figure, "transfer, by kind of host memory", result)
    return figure


def _legend_columns(figure: Figure, entries: int) -> int:
    """As many as fit under a figure, with rows alike."""
    rows = math.ceil(entries / max(1, int(figure.get_figwidth() / 2.2)))
    return math.ceil(entries / rows)


# Whom a round trip is done by, from the top.
_BY = {"gpumem": "gpumem", "one_piece": "gpumem, in one piece"}


def _draw_roundtrip(
    result: BenchResult, variants: Any = None, memory: Any = None, by: Any = None
) -> Figure:
    from matplotlib import pyplot

    from .bench_result import size_label

    timed = [one for one in result.records if one["family"] == "roundtrip" and one["median_ms"]]
    if not timed:
        raise ValueError('the result has no round trips: gpumem.bench("roundtrip") measures them')

    def known(name: str) -> list[Any]:
        found = dict.fromkeys(one["parameters"][name] for one in timed)
        return [value for value in found if value != "bus"]

    jobs = _listed("variants", variants, list(dict.fromkeys(one["variant"] for one in timed)))
    kinds = _listed(
        "memory",
        memory,
        list(
            dict.fromkeys(
                one["parameters"]["kind"] for one in timed if one["parameters"]["by"] != "bus"
            )
        ),
    )
    whom = _listed("by", by, known("by"))
    figure, axes = pyplot.subplots(
        len(jobs),
        len(kinds),
        figsize=(4.6 * len(kinds) + 1.2, (0.22 * len(whom) + 0.62) * len(jobs) + 1),
        sharex="row",
        squeeze=False,
        layout="constrained",
    )
    for job, row in zip(jobs, axes, strict=True):
        mine = [one for one in timed if one["variant"] == job]
        largest = max(one["bytes"] for one in mine)
        mine = [one for one in mine if one["bytes"] == largest]
        floor = next((one["median_ms"] for one in mine if one["parameters"]["by"] == "bus"), None)
        for kind, ax in zip(kinds, row, strict=True):
            asked = {"kind": kind}
            times = {
                one["parameters"]["by"]: one["median_ms"]
                for one in mine
                if asked.items() <= one["parameters"].items()
            }
            names = [name for name in whom if name in times]
            labels = [_BY.get(name, name) for name in names]
            # From the bus on, in times of it: nothing is faster.
            found = [times[name] for name in names]
            start = floor or min(found) / 2
            lengths = [time - start for time in found]
            bars = ax.barh(range(len(names)), lengths, left=start, height=0.72)
            for name, bar in zip(names, bars, strict=True):
                own = name in _BY
                bar.set(edgecolor=DARK, linewidth=0.8, facecolor=PALE if own else "white")
                bar.set_hatch(None if own else "////")
                if name == "gpumem":
                    bar.set_facecolor(DARK)
            ax.set_ylim(len(names) - 0.4, -0.6)
            ax.set_yticks(range(len(names)), labels)
            ax.set_xscale("log")
            ax.set_xlim(0.75 * start, 1.3 * max(one["median_ms"] for one in mine))
            decades = range(-4, 6)
            steps = [n * 10.0**p for p in decades for n in (1, 2, 5)]
            low, high = ax.get_xlim()
            ticks = [x for x in steps if low <= x <= high]
            ax.set_xticks(ticks if len(ticks) < 8 else ticks[::3])
            ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
            ax.minorticks_off()
            ax.tick_params(axis="x", labelsize="small")
            if floor:
                ax.axvline(floor, color="black", linewidth=1.4, linestyle="--", gid="reference")
            _beside(ax, _column(found, 3))
            ax.set_title(f"{job}, {size_label(mine[0])}, {kind}", fontsize="medium")
            ax.grid(axis="x", color="0.92")
            ax.set_axisbelow(True)
    for ax in axes[-1]:
        ax.set_xlabel("ms" + (", from those of the bus alone (dashed)" if floor else ""))
    _title(figure, "round trips from ndarray to ndarray, by the host's clock", result)
    return figure


KINDS = {
    "size": _draw_size,
    "ladder": _draw_ladder,
    "roofline": _draw_roofline,
    "sweep": _draw_sweep,
    "transfer": _draw_transfer,
    "roundtrip": _draw_roundtrip,
    "distance": _draw_distance,
    "map": _draw_map,
}


def draw_result(result: BenchResult, kind: str, **options: Any) -> Figure:
    """Draw a result: what :meth:`gpumem.BenchResult.plot` does."""
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}, expected one of: {', '.join(KINDS)}")
    function = KINDS[kind]
    known = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    for name in options:
        if name not in known:
            raise TypeError(f"{kind} has no option {name!r}; its options: {', '.join(known)}")
    need_matplotlib()
    return function(result, **options)
