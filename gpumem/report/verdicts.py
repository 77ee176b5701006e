"""Whether one record is faster or slower than another, or whether they differ by noise alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..base import wall_clock
from ..base.record import Record, order_words
from ..base.result import BenchResult
from ..base.sizes import format_shape
from .records import is_ours, is_reference

__all__ = ["Row", "judged"]

_LAUNCH_MS = 2e-4  # the cost of a launch differs by this much from run to run
# How many of other libraries' times it takes to know the noise of the host, and the share of them
# that a change has to exceed.
_LEAST_CONTROLS = 5
_SHARE_OF_CONTROLS = 0.95

Pair = tuple[Record | None, Record | None]
Pairs = dict[tuple[Any, ...], Pair]


class Row(NamedTuple):
    """What one kernel did at one size, before and after.

    Attributes
    ----------
    family, variant, backend, shape, dtype, cache, order, parameters
        What was measured.
    before_ms, after_ms : float or None
        The medians.
    ratio : float or None
        The time after over the time before: above 1 is slower.
    before_noise, after_noise : float or None
        The distance from the 20th to the 80th percentile, as a share of the median.
    limit : float or None
        A larger change than this, as a share, is more than noise.
    reference_ratio : float or None
        `ratio` over that of the reference measured in the same two runs.
    verdict : {"faster", "slower", "same", "drift", "only before", "only after"}
        "drift": of the time and the ratio to the reference, only one changed, or they changed in
        opposite directions.
    ours : bool
        False for the driver's copy, cuBLAS and other libraries.
    reason : str or None
        Why a time is missing.
    """

    family: str
    variant: str
    backend: str | None
    shape: tuple[int, ...]
    dtype: str
    cache: str | None
    order: str | None
    parameters: dict[str, Any]
    before_ms: float | None
    after_ms: float | None
    ratio: float | None
    before_noise: float | None
    after_noise: float | None
    limit: float | None
    reference_ratio: float | None
    verdict: str
    ours: bool
    reason: str | None

    @property
    def wrong(self) -> bool:
        """Whether the later result was wrong."""
        return self.verdict == "only before" and (self.reason or "").startswith("wrong result")

    @property
    def name(self) -> str:
        """The variant with its family, such as "copy-vec4"."""
        return f"{self.family}-{self.variant}"

    @property
    def where(self) -> str:
        """Size, parameters, state of the cache and order in words."""
        size = format_shape(self.shape, self.dtype)
        words = [size, self.dtype, *(f"{k}={v}" for k, v in self.parameters.items())]
        words += [self.cache] if self.cache else []
        return " ".join(words) + order_words(self.order)


# ---- matching -----------------------------------------------------------------------------


def _key(record: Record) -> tuple[Any, ...]:
    """Return what has to agree for two records to be compared."""
    parameters = sorted(
        (name, repr(list(value) if isinstance(value, tuple) else value))
        for name, value in record.parameters.items()
    )
    measured = (record.family, record.variant, record.backend, record.shape, record.dtype)
    return (*measured, record.cache, record.order, *parameters)


def _merged(records: list[Record]) -> Record:
    """Merge repeated measurements: the middle median, with the noise of all."""
    timed = sorted((one for one in records if one.median_ms), key=lambda one: one.median_ms or 0)
    if not timed:
        return records[0]
    middle = timed[len(timed) // 2]
    if len(timed) == 1:
        return middle
    lows = [one.p20_ms for one in timed if one.p20_ms is not None]
    highs = [one.p80_ms for one in timed if one.p80_ms is not None]
    return replace(middle, p20_ms=min(lows, default=None), p80_ms=max(highs, default=None))


def _index(runs: Sequence[BenchResult]) -> dict[tuple[Any, ...], Record]:
    found: dict[tuple[Any, ...], list[Record]] = {}
    for run in runs:
        for record in run.rows:
            found.setdefault(_key(record), []).append(record)
    return {key: _merged(records) for key, records in found.items()}


def _matched(before: Sequence[BenchResult], after: Sequence[BenchResult]) -> Pairs:
    """Return the records that measured the same thing; None where one is missing."""
    old, new = _index(before), _index(after)
    return {key: (old.get(key), new.get(key)) for key in dict.fromkeys([*old, *new])}


# ---- judging ------------------------------------------------------------------------------


def _noise_group(record: Record) -> str | None:
    """Name what loads the host during a wall-clock measurement; None for other records."""
    if record.family not in wall_clock.FAMILIES:
        return None
    return wall_clock.noise_group(record.family, record.parameters)


def _wall_clock_limits(pairs: Iterable[Pair], threshold: float) -> dict[str, float]:
    """Return the changes that the host alone explains, as shares, by what loads it.

    Code that did not change between the runs, the driver's and other libraries', shows how much
    times change without a cause in gpumem. The limit is what 95 % of those changes stay below.
    """
    changes: dict[str, list[float]] = {}
    for before, after in pairs:
        if before and after and before.median_ms and after.median_ms:
            group = _noise_group(before)
            if group and not is_ours(before.family, before.variant, before.parameters):
                change = abs(math.log(after.median_ms / before.median_ms))
                changes.setdefault(group, []).append(change)
    limits = {}
    for group, values in changes.items():
        if len(values) >= _LEAST_CONTROLS:
            place = math.ceil(_SHARE_OF_CONTROLS * len(values)) - 1
            limits[group] = math.expm1(sorted(values)[place])
    return {group: limit for group, limit in limits.items() if limit > threshold}


def _direction(ratio: float, limit: float) -> str:
    if ratio > 1 + limit:
        return "slower"
    return "faster" if ratio < 1 / (1 + limit) else "same"


def _reference_ratio(before: Record, after: Record) -> float | None:
    """Return the change relative to the reference, if both runs measured one."""
    if is_reference(before.family, before.variant):
        return None
    if not before.fraction_of_reference or not after.fraction_of_reference:
        return None
    return before.fraction_of_reference / after.fraction_of_reference


def _row_of(pair: Pair, threshold: float, limits: dict[str, float]) -> Row | None:
    """Judge one pair; return None if neither has a time."""
    before, after = pair
    one = before or after
    if one is None or not any(record and record.median_ms for record in pair):
        return None
    ours = is_ours(one.family, one.variant, one.parameters)
    noise = [record.spread if record else None for record in pair]
    times = [(record.median_ms or None) if record else None for record in pair]
    ratio = limit = against = reason = None
    if before and after and before.median_ms and after.median_ms:
        ratio = after.median_ms / before.median_ms
        joint = math.hypot(*(value or 0 for value in noise))
        limit = max(threshold, joint, _LAUNCH_MS / before.median_ms)
        if ours:
            limit = max(limit, limits.get(_noise_group(one) or "", 0))
        against = _reference_ratio(before, after)
        verdict = _direction(ratio, limit)
        if against is not None and _direction(against, limit) != verdict:
            verdict = "drift"
    else:
        verdict = "only before" if times[0] else "only after"
        missing = after if times[0] else before
        reason = missing.reason if missing else None
    return Row(
        family=one.family,
        variant=one.variant,
        backend=one.backend,
        shape=one.shape,
        dtype=one.dtype,
        cache=one.cache,
        order=one.order,
        parameters=one.parameters,
        before_ms=times[0],
        after_ms=times[1],
        ratio=ratio,
        before_noise=noise[0],
        after_noise=noise[1],
        limit=limit,
        reference_ratio=against,
        verdict=verdict,
        ours=ours,
        reason=reason,
    )


def _rows(pairs: Pairs, threshold: float, limits: dict[str, float]) -> dict[tuple[Any, ...], Row]:
    found = {key: _row_of(pair, threshold, limits) for key, pair in pairs.items()}
    return {key: row for key, row in found.items() if row is not None}


def judged(
    before: Sequence[BenchResult], after: Sequence[BenchResult], threshold: float
) -> tuple[list[Row], dict[str, float]]:
    """Judge what two lists of runs measured; return the rows, and the limits of the wall clock.

    The figures of a row are those of all runs. Where there are several, a change counts only if
    each run before and each run after, taken as a pair, show it.
    """
    pairs = _matched(before, after)
    limits = _wall_clock_limits(pairs.values(), threshold)
    rows = _rows(pairs, threshold, limits)
    if len(before) + len(after) > 2:
        for old, new in itertools.product(before, after):
            alone = _matched([old], [new])
            of_pair = _rows(alone, threshold, _wall_clock_limits(alone.values(), threshold))
            for key, row in of_pair.items():
                if row.ratio is not None and row.verdict != rows[key].verdict:
                    rows[key] = rows[key]._replace(verdict="same")
    return list(rows.values()), limits
