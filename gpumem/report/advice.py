"""Where prefetching in software pays, how much, and why, from a sweep of prefetch_sum."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..base.result import BenchResult
from ..base.tables import format_table
from .prefetch_points import Point, points

__all__ = ["prefetch_advice", "prefetch_table"]

_PAYS = 0.05  # smaller gains are not worth writing a kernel for
_SATURATED = 0.75  # of the peak bandwidth
_SCALES = 1.5  # times as fast with twice the warps: the loop waits for memory
_LONG = 10  # times the distance: then filling the ring does not matter


def prefetch_table(result: BenchResult) -> str:
    """Return a table of the fastest variant at each point, and how much it gains.

    Parameters
    ----------
    result : BenchResult
        Of ``gpumem.bench("prefetch_sum", ...)``.

    Returns
    -------
    str
        Per point: work, blocks and warps per multiprocessor, GB/s of the baseline, the fastest
        variant with its distance and speed-up, and the slowest, which may be slower than the
        baseline.

    Examples
    --------
    >>> import gpumem as gm
    >>> print(gm.prefetch_table(gm.results.load("prefetch_sum-h200")))  # doctest: +ELLIPSIS
    work  blocks/SM  warps/SM  GB/s  best ...
    """
    rows = []
    for point in points(result):
        best, worst = point.tries[0], point.tries[-1]
        rows.append(
            [
                str(point.work),
                f"{point.blocks:g}",
                f"{point.warps:g}",
                f"{point.gbps:.0f}",
                f"{best.speed_up:.2f}",
                str(best),
                f"{worst.speed_up:.2f}",
                str(worst),
            ]
        )
    head = ["work", "blocks/SM", "warps/SM", "GB/s", "best", "by", "worst", "by"]
    return format_table(head, rows, keys=3)


# ---- words ----------------------------------------------------------------------------------


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _where(point: Point) -> str:
    barrier = ", a barrier in the loop" if point.parameters["sync"] else ""
    return f"work {point.work}, {point.warps:g} warps per multiprocessor{barrier}"


def _with_more_warps(point: Point, all_points: Sequence[Point]) -> Point | None:
    """Return the point that differs in having the next larger number of warps."""
    more = [
        one
        for one in all_points
        if (one.parameters, one.cache, one.order) == (point.parameters, point.cache, point.order)
        and one.warps > point.warps
    ]
    return min(more, key=lambda one: one.warps, default=None)


def _bandwidth(point: Point) -> str:
    if point.fraction is None:
        return f"the baseline moves {point.gbps:.0f} GB/s; the device's peak is not known"
    share = f"the baseline moves {point.gbps:.0f} GB/s, {_percent(point.fraction)} of the peak"
    after = point.fraction * max(1.0, point.best.speed_up)
    if point.fraction >= _SATURATED:
        return f"bandwidth is saturated: {share}, so loads cannot arrive any sooner"
    return f"bandwidth is not saturated: {share}, with prefetching {_percent(after)}"


def _warps(point: Point, all_points: Sequence[Point]) -> str:
    more = _with_more_warps(point, all_points)
    if more is None:
        return f"no point with more warps than {point.warps:g} was measured to compare with"
    factor, times = more.gbps / point.gbps, more.warps / point.warps
    text = (
        f"{times:g} times as many warps ({more.warps:g}) make the baseline {factor:.2f} times "
        "as fast"
    )
    doubled = factor ** (1 / math.log2(times))  # the gain from twice as many
    if doubled >= _SCALES:
        return f"few warps: {text}, so the warps spend most of their time waiting for loads"
    return f"enough warps: {text}, so other warps already hide the loads"


def _length(point: Point) -> str:
    barrier = (
        "a barrier in every step makes all warps wait for the slowest"
        if point.parameters["sync"]
        else "its steps do not depend on each other"
    )
    distance = point.best.distance or 1
    ratio = point.steps / distance
    steps = f"{point.steps} steps per thread, {ratio:.3g} times the distance"
    if ratio >= _LONG:
        return f"a long loop: {steps}; {barrier}"
    return f"a short loop: {steps}, and the first {distance} are not prefetched; {barrier}"


def _conditions(point: Point, all_points: Sequence[Point]) -> Iterator[str]:
    """Yield which of the conditions for prefetching hold at a point."""
    yield f"- {_bandwidth(point)};"
    yield f"- {_warps(point, all_points)};"
    yield f"- {_length(point)}."


def _gains(found: Sequence[Point]) -> Iterator[str]:
    """Say where prefetching pays most, where it does not, and where it pays least."""
    most = max(found, key=lambda one: one.best.speed_up)
    pays = [one for one in found if one.best.speed_up >= 1 + _PAYS]
    if pays:
        yield (
            f"Most at {_where(most)}: {most.best} is {most.best.speed_up:.2f} times as fast as "
            "the plain loop. There,"
        )
        yield from _conditions(most, found)
    for point in found:
        if point not in pays:
            yield (
                f"Not at {_where(point)}: the best, {point.best}, is "
                f"{point.best.speed_up:.2f} times as fast. There,"
            )
            yield from _conditions(point, found)
    if pays:
        least = min(pays, key=lambda one: one.best.speed_up)
        if least is not most:
            yield (
                f"The gain shrinks to {least.best.speed_up:.2f} times at {_where(least)} "
                f"({least.best}): {_bandwidth(least)}; {_warps(least, found)}."
            )


def _losses(found: Sequence[Point]) -> Iterator[str]:
    """Say where a variant is slowest against the baseline, if it is slower."""
    worst = min(found, key=lambda one: one.tries[-1].speed_up)
    lost = worst.tries[-1]
    if lost.speed_up < 1 - _PAYS:
        yield (
            f"It loses most at {_where(worst)}: {lost} is only {lost.speed_up:.2f} times as fast "
            "as the plain loop."
        )


def _conflicts(found: Sequence[Point]) -> Iterator[str]:
    """Say where leaving out the padding costs most."""
    worst: tuple[float, str] | None = None
    for point in found:
        for bare in point.tries:
            padded = point.find(bare.variant, bare.distance, "auto")
            if bare.padding == 0 and padded is not None:
                lost = bare.median_ms / padded.median_ms - 1
                text = (
                    f"Padding: {bare.variant} at distance {bare.distance} takes {_percent(lost)} "
                    f"longer without it ({_where(point)}), because lanes meet in the same banks."
                )
                if lost > _PAYS and (worst is None or lost > worst[0]):
                    worst = (lost, text)
    if worst is not None:
        yield worst[1]


def prefetch_advice(result: BenchResult) -> str:
    """Say in words where prefetching in software pays on the device that was measured, and why.

    Parameters
    ----------
    result : BenchResult
        Of ``gpumem.bench("prefetch_sum", ...)``, with the baseline and other variants, at one or
        more amounts of work and numbers of rows.

    Returns
    -------
    str
        Where it pays most and by how much; which of the conditions for it hold there: bandwidth
        that is not saturated, few warps, a long loop of independent steps; where it does not pay,
        and where a variant is slower than the baseline.

    Raises
    ------
    ValueError
        If the result has no times of ``prefetch_sum`` and its baseline.

    Notes
    -----
    A gain of less than 5 % does not count. Bandwidth counts as saturated from 75 % of the peak,
    warps as few if twice as many make the baseline at least 1.5 times as fast, and a loop as long
    from ten times the distance.

    Examples
    --------
    >>> import gpumem as gm
    >>> print(gm.prefetch_advice(gm.results.load("prefetch_sum-h200")))  # doctest: +ELLIPSIS
    NVIDIA H200: prefetching pays at ...
    """
    found = points(result)
    device = (result.provenance.get("device") or {}).get("name", "an unknown device")
    pays = sum(one.best.speed_up >= 1 + _PAYS for one in found)
    first = f"{device}: prefetching pays at {pays} of {len(found)} points measured."
    return "\n".join([first, *_gains(found), *_losses(found), *_conflicts(found)])
