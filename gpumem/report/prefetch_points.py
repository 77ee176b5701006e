"""The points of a sweep of prefetch_sum: one amount of work and number of threads each."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..base.record import Record
from ..base.result import BenchResult, check_result

__all__ = ["BASELINE", "FAMILY", "Point", "Try", "points"]

FAMILY, BASELINE = "prefetch_sum", "baseline"
_DEFAULTS: dict[str, Any] = {"work": 2, "threads": 128, "sync": False}


class Try(NamedTuple):
    """A variant at a distance and a padding; None for a variant that has none."""

    variant: str
    distance: int | None
    padding: int | str | None
    median_ms: float
    speed_up: float  # over the baseline

    def __str__(self) -> str:
        words = [] if self.distance is None else [f"distance {self.distance}"]
        if self.padding not in (None, "auto"):
            words.append(f"padding {self.padding}")
        return " ".join([self.variant, *(["at", ", ".join(words)] if words else [])])


class Point(NamedTuple):
    """All that was measured at one amount of work and one number of threads.

    Attributes
    ----------
    shape : tuple of int
        Of the array: rows and elements per row.
    cache : str or None
        "cold" or "warm".
    order : str or None
        "stream" or "single".
    parameters : dict
        ``work``, ``threads`` and ``sync``.
    blocks, warps : float
        Per multiprocessor; there may be more than can run at once.
    steps : int
        Of the loop, per thread.
    baseline_ms : float
        Median time of the loop without prefetching.
    gbps, fraction : float or None
        Bytes per second of the baseline, and as a share of the device's peak.
    tries : tuple of Try
        All other variants, the fastest first.
    """

    shape: tuple[int, ...]
    cache: str | None
    order: str | None
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
        """The fastest try."""
        return self.tries[0]

    @property
    def work(self) -> int:
        """Rounds of arithmetic per element."""
        return int(self.parameters["work"])

    @property
    def threads(self) -> float:
        """Threads per multiprocessor."""
        return 32 * self.warps

    def find(
        self, variant: str | None = None, distance: int | None = None, padding: Any = None
    ) -> Try | None:
        """Return the fastest try with these values; None matches all."""
        for one in self.tries:
            if variant in (None, one.variant) and distance in (None, one.distance):
                if padding in (None, one.padding):
                    return one
        return None


def _point(rows: list[Record], parameters: dict[str, Any], multiprocessors: int) -> Point | None:
    """Return the point of records that share its parameters; None without a baseline to compare."""
    base = next((row for row in rows if row.variant == BASELINE), None)
    others = [row for row in rows if row.variant not in (BASELINE, "auto")]
    if base is None or not base.median_ms or not others:
        return None
    tries = [
        Try(
            row.variant,
            row.parameters.get("distance"),
            row.parameters.get("padding"),
            row.median_ms,
            base.median_ms / row.median_ms,
        )
        for row in others
        if row.median_ms
    ]
    blocks = base.shape[0] / multiprocessors
    return Point(
        base.shape,
        base.cache,
        base.order,
        parameters,
        blocks,
        blocks * parameters["threads"] / 32,
        math.ceil(base.shape[1] / parameters["threads"]),
        base.median_ms,
        base.gbps or 0.0,
        base.fraction_of_peak,
        tuple(sorted(tries, key=lambda one: one.median_ms)),
    )


def points(result: BenchResult) -> list[Point]:
    """Return the points of a result, ordered by work and by threads per multiprocessor.

    Raises
    ------
    ValueError
        If the result has no times of ``prefetch_sum`` and its baseline.
    """
    check_result("result", result)
    device = result.provenance.get("device") or {}
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for row in result.rows:
        if row.family == FAMILY and row.median_ms:
            given = _DEFAULTS | row.parameters
            where = (row.shape, row.cache, row.order, *(given[name] for name in _DEFAULTS))
            groups.setdefault(where, []).append(row)
    found = []
    for (_, _, _, *values), rows in groups.items():
        parameters = dict(zip(_DEFAULTS, values, strict=True))
        point = _point(rows, parameters, device.get("multiprocessors") or 1)
        if point is not None:
            found.append(point)
    if not found:
        raise ValueError(
            f"the result has no times of {FAMILY} together with its {BASELINE}: "
            f'gpumem.bench("{FAMILY}", distance=range(1, 17), ...) makes one, on a GPU'
        )
    return sorted(found, key=_place)


def _place(point: Point) -> tuple[Any, ...]:
    conditions = point.cache or "", point.order or ""
    return (*conditions, *map(float, point.parameters.values()), point.warps)
