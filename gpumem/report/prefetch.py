"""What a sweep of prefetch_sum says: where prefetching in software pays, how much, and why.

A point is one amount of work and one number of threads per multiprocessor. At each point every
variant, at every distance and padding, stands against the loop as it stands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.sizes import format_table

if TYPE_CHECKING:
    from ..measure.bench import BenchResult

__all__ = ["Point", "points", "prefetch_advice", "prefetch_table"]

FAMILY, BASELINE = "prefetch_sum", "baseline"
DEFAULTS: dict[str, Any] = {"work": 2, "threads": 128, "sync": False}
PAYS = 0.05  # a gain below this is nothing to write a kernel for
SATURATED = 0.75  # of the peak bandwidth
SCALES = 1.5  # times as fast with twice the warps: the loop waits for memory
LONG = 10  # rows of so many times the distance: filling the ring does not matter


class Try(NamedTuple):
    """A variant at a distance and a padding; None where it knows none."""

    variant: str
    distance: int | None
    padding: int | str | None
    median_ms: float
    speed_up: float

    def __str__(self) -> str:
        told = [] if self.distance is None else [f"distance {self.distance}"]
        if self.padding not in (None, "auto"):
            told.append(f"padding {self.padding}")
        return " ".join([self.variant, *(["at", ", ".join(told)] if told else [])])


class Point(NamedTuple):
    """All that was measured at one amount of work and one number of threads.

    Attributes
    ----------
    shape : tuple of int
        Of the array: rows and elements per row.
    cache : str
        "cold" or "warm".
    parameters : dict
        ``work threads sync``.
    blocks, warps : float
        Per multiprocessor; more than fit at once take turns.
    steps : int
        Of the loop, per thread.
    baseline_ms : float
        Median time of the loop as it stands.
    gbps, fraction : float or None
        Bytes per second of the baseline, and as a share of the device's peak.
    tries : tuple of Try
        All others, the fastest first.
    """

    shape: tuple[int, ...]
    cache: str
    parameters: dict[str, Any]
    blocks: float
    warps: float
    steps: int
    baseline_ms: float
    gbps: float
    fraction: float | None
    tries: tuple[Try, ...]

    @property
    def best(self) -> Try:
        return self.tries[0]

    @property
    def work(self) -> int:
        return self.parameters["work"]

    @property
    def threads(self) -> float:
        """Per multiprocessor."""
        return 32 * self.warps

    def find(
        self, variant: str | None = None, distance: int | None = None, padding: Any = None
    ) -> Try | None:
        """Return the fastest try that is so; None does not matter, and matches all."""
        for one in self.tries:
            if variant in (None, one.variant) and distance in (None, one.distance):
                if padding in (None, one.padding):
                    return one
        return None


def points(result: BenchResult) -> list[Point]:
    """Return the points of a result, by work and by threads per multiprocessor.

    Raises
    ------
    ValueError
        If the result has no times of ``prefetch_sum`` and its baseline.
    """
    device = result.provenance.get("device") or {}
    multiprocessors = device.get("multiprocessors") or 1
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in result.records:
        if record["family"] == FAMILY and record["median_ms"]:
            given = DEFAULTS | (record.get("parameters") or {})
            where = (tuple(record["shape"]), record["cache"], *(given[name] for name in DEFAULTS))
            groups.setdefault(where, []).append(record)
    found = []
    for (shape, cache, *values), records in groups.items():
        base = next((one for one in records if one["variant"] == BASELINE), None)
        others = [one for one in records if one["variant"] not in (BASELINE, "auto")]
        if base is None or not others:
            continue
        tries = [
            Try(
                one["variant"],
                (one.get("parameters") or {}).get("distance"),
                (one.get("parameters") or {}).get("padding"),
                one["median_ms"],
                base["median_ms"] / one["median_ms"],
            )
            for one in others
        ]
        parameters = dict(zip(DEFAULTS, values, strict=True))
        blocks = shape[0] / multiprocessors
        found.append(
            Point(
                shape,
                cache,
                parameters,
                blocks,
                blocks * parameters["threads"] / 32,
                math.ceil(shape[1] / parameters["threads"]),
                base["median_ms"],
                base["gbps"],
                base["fraction_of_peak"],
                tuple(sorted(tries, key=lambda one: one.median_ms)),
            )
        )
    if not found:
        raise ValueError(
            f"the result has no times of {FAMILY} together with its {BASELINE}: "
            f'gpumem.bench("{FAMILY}", distance=range(1, 17), ...) makes one, on a GPU'
        )
    return sorted(
        found, key=lambda one: (one.cache, *map(float, one.parameters.values()), one.warps)
    )


def prefetch_table(result: BenchResult) -> str:
    """Return a table: at each point the fastest variant, and how much it gains.

    Parameters
    ----------
    result : BenchResult
        Of ``gpumem.bench("prefetch_sum", ...)``.

    Returns
    -------
    str
        Per point: work, blocks and warps per multiprocessor, GB/s of the baseline, the fastest
        variant with its distance and speed-up, and the slowest, which may lose.
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


def _scaling(point: Point, all_points: Sequence[Point]) -> tuple[Point, float] | None:
    """The point with more warps that is nearest, and how much faster an element is there."""
    more = [
        one
        for one in all_points
        if one.parameters == point.parameters
        and one.cache == point.cache
        and one.warps > point.warps
    ]
    if not more:
        return None
    near = min(more, key=lambda one: one.warps)
    return near, near.gbps / point.gbps


def _bandwidth(point: Point) -> str:
    if point.fraction is None:
        return f"the baseline moves {point.gbps:.0f} GB/s; the device's peak is not known"
    share = f"the baseline moves {point.gbps:.0f} GB/s, {_percent(point.fraction)} of the peak"
    after = point.fraction * max(1.0, point.best.speed_up)
    if point.fraction >= SATURATED:
        return f"bandwidth is saturated: {share}, and what has no room cannot come sooner"
    return f"bandwidth is not saturated: {share}, with prefetching {_percent(after)}"


def _warps(point: Point, all_points: Sequence[Point]) -> str:
    scaling = _scaling(point, all_points)
    if scaling is None:
        return f"no point with more warps than {point.warps:g} was measured to compare with"
    more, factor = scaling
    times = more.warps / point.warps
    share = (
        f"{times:g} times as many warps ({more.warps:g}) make the baseline {factor:.2f} times "
        "as fast"
    )
    # Of a doubling; other steps are brought to one.
    doubled = factor ** (1 / math.log2(times))
    if doubled >= SCALES:
        return f"few warps: {share}, so they wait for loads more than for each other"
    return f"warps enough: {share}, so loads were hidden behind other warps already"


def _length(point: Point) -> str:
    barrier = (
        "a barrier in every step has the warps wait for the slowest"
        if point.parameters["sync"]
        else "its steps do not depend on each other"
    )
    distance = point.best.distance or 1
    ratio = point.steps / distance
    steps = f"{point.steps} steps per thread, {ratio:.3g} times the distance"
    if ratio >= LONG:
        return f"a long loop: {steps}; {barrier}"
    return f"a short loop: {steps}, of which the first {distance} are ahead of nothing; {barrier}"


def _conflicts(found: Sequence[Point]) -> Iterator[str]:
    """What leaving the padding out costs most."""
    worst: tuple[float, str] | None = None
    for point in found:
        for bare in point.tries:
            padded = point.find(bare.variant, bare.distance, "auto")
            if bare.padding == 0 and padded is not None:
                lost = bare.median_ms / padded.median_ms - 1
                text = (
                    f"Padding: {bare.variant} at distance {bare.distance} takes {_percent(lost)} "
                    f"longer without it ({_where(point)}): its lanes meet in the same banks."
                )
                if lost > PAYS and (worst is None or lost > worst[0]):
                    worst = (lost, text)
    if worst is not None:
        yield worst[1]


def prefetch_advice(result: BenchResult) -> str:
    """Say in words where prefetching in software pays on the device that was measured, and why.

    Parameters
    ----------
    result : BenchResult
        Of ``gpumem.bench("prefetch_sum", ...)``, with the baseline and some others, at one or
        more amounts of work and numbers of rows.

    Returns
    -------
    str
        What pays most, where, and by how much; which of the conditions for it hold there, by the
        figures: bandwidth that is not saturated, few warps, a long loop of independent steps;
        where it does not pay, and where a variant loses.

    Raises
    ------
    ValueError
        If the result has no times of ``prefetch_sum`` and its baseline.

    Notes
    -----
    A gain of less than 5 % is called none. Bandwidth is called saturated from 75 % of the peak on,
    warps few if twice as many make the baseline at least 1.5 times as fast, a loop long from ten
    times the distance on.
    """
    found = points(result)
    device = (result.provenance.get("device") or {}).get("name", "an unknown device")
    most = max(found, key=lambda one: one.best.speed_up)
    pays = [one for one in found if one.best.speed_up >= 1 + PAYS]
    lines = [
        f"{device}: prefetching pays at {len(pays)} of {len(found)} points measured.",
    ]
    if pays:
        lines += [
            f"Most at {_where(most)}: {most.best} is {most.best.speed_up:.2f} times as fast as "
            "the loop as it stands. There,",
            f"- {_bandwidth(most)};",
            f"- {_warps(most, found)};",
            f"- {_length(most)}.",
        ]
    for point in found:
        if point not in pays:
            lines += [
                f"Not at {_where(point)}: the best, {point.best}, is "
                f"{point.best.speed_up:.2f} times as fast. There,",
                f"- {_bandwidth(point)};",
                f"- {_warps(point, found)};",
                f"- {_length(point)}.",
            ]
    if pays and most.best.speed_up > 1:
        least = min(pays, key=lambda one: one.best.speed_up)
        if least is not most:
            lines.append(
                f"The gain shrinks to {least.best.speed_up:.2f} times at {_where(least)} "
                f"({least.best}): {_bandwidth(least)}; {_warps(least, found)}."
            )
    worst = min(found, key=lambda one: one.tries[-1].speed_up)
    lost = worst.tries[-1]
    if lost.speed_up < 1 - PAYS:
        lines.append(
            f"It loses most at {_where(worst)}: {lost} is only {lost.speed_up:.2f} times as fast "
            "as the loop as it stands."
        )
    lines += _conflicts(found)
    return "\n".join(lines)
