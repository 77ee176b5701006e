"""Two results held against each other: what became faster, what slower, what is noise."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..base.bench_result import BenchResult, origin, size_label, spread
from ..base.messages import quoted
from ..base.sizes import format_table
from ..families import oracle, peers
from ..families.table import find
from ..measure import wallclock as hostclock

__all__ = ["Comparison", "Row", "compare"]

_LAUNCH_MS = 2e-4  # by so much the cost of a launch differs from run to run
# How many rows of others it takes to tell what the host's own doings change, and which of them.
_CONTROLS = 5
_QUIETER = 0.95
_MATCHED = ("family", "variant", "backend", "shape", "dtype", "cache", "parameters")
_MACHINE = {  # what a machine is told by, and how to ask a provenance for it
    "device": lambda told: (told.get("device") or {}).get("name"),
    "multiprocessors": lambda told: (told.get("device") or {}).get("multiprocessors"),
    "memory": lambda told: (told.get("device") or {}).get("memory_bytes"),
    "memory clock": lambda told: (told.get("device") or {}).get("memory_clock_khz"),
    "clock": lambda told: (told.get("device") or {}).get("clock_khz"),
    "driver": lambda told: told.get("driver"),
    "CUDA runtime": lambda told: told.get("cuda_runtime"),
}


class Row(NamedTuple):
    """What one kernel did at one size, before and after.

    Attributes
    ----------
    family, variant, backend, shape, dtype, cache, parameters
        What was measured.
    before_ms, after_ms : float or None
        The medians.
    ratio : float or None
        The time after over the time before: above 1 is slower.
    before_noise, after_noise : float or None
        From the 20th to the 80th percentile, as a share of the median.
    limit : float or None
        The change that is more than noise, as a share.
    reference_ratio : float or None
        `ratio` over that of the reference that was measured beside it in both runs.
    verdict : {"faster", "slower", "same", "drift", "only before", "only after"}
        "drift": the time changed, or the ratio to the reference, but not both alike.
    ours : bool
        False for the copy of the driver, cuBLAS and other libraries.
    reason : str or None
        Why there is no time where there was one.
    """

    family: str
    variant: str
    backend: str | None
    shape: tuple[int, ...]
    dtype: str
    cache: str | None
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
        """Whether it computed something wrong the second time."""
        return self.verdict == "only before" and (self.reason or "").startswith("wrong result")

    @property
    def where(self) -> str:
        """Size, parameters and cache, if any, in words."""
        size = size_label({"shape": self.shape, "dtype": self.dtype})
        words = [size, self.dtype, *(f"{k}={v}" for k, v in self.parameters.items())]
        return " ".join([*words, self.cache] if self.cache else words)


class Comparison:
    """Two results, row by row; made by :func:`compare`.

    Attributes
    ----------
    rows : list of Row
        One for all that either result has a time for, in the order of the results.
    regressions : list of Row
        gpumem's own kernels that are slower, the worst first, after those whose result is wrong.
    warnings : list of str
        Why figures of the two may not be comparable.
    before, after : str
        Where the figures come from.
    threshold : float
        The least change, as a share, that counts.
    host_limits : dict of str to float
        The least change that counts of what the host's clock measured, where that is more.
    """

    def __init__(
        self,
        rows: list[Row],
        warnings: list[str],
        before: str,
        after: str,
        threshold: float,
        host_limits: dict[str, float],
    ) -> None:
        self.rows = rows
        self.warnings = warnings
        self.before = before
        self.after = after
        self.threshold = threshold
        self.host_limits = host_limits

    @property
    def regressions(self) -> list[Row]:
        found = [row for row in self.rows if row.ours and (row.verdict == "slower" or row.wrong)]
        return sorted(found, key=lambda row: -(math.inf if row.ratio is None else row.ratio))

    def counts(self) -> dict[str, int]:
        """Return how many rows there are of each verdict."""
        found = dict.fromkeys(("faster", "slower", "same", "drift", "only before", "only after"), 0)
        for row in self.rows:
            found[row.verdict] += 1
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dict that JSON can hold."""
        return {
            "before": self.before,
            "after": self.after,
            "threshold": self.threshold,
            "host_limits": self.host_limits,
            "warnings": self.warnings,
            "counts": self.counts(),
            "regressions": len(self.regressions),
            "rows": [row._asdict() | {"shape": list(row.shape)} for row in self.rows],
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON text."""
        import json

        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __repr__(self) -> str:
        told = ", ".join(f"{number} {verdict}" for verdict, number in self.counts().items())
        return f"<gpumem comparison: {told}>"

    def __str__(self) -> str:
        lines = [f"before: {self.before}", f"after:  {self.after}"]
        lines += [f"warning: {warning}" for warning in self.warnings]
        lines += [
            f"host clock: {what}: up to {limit:.1%} is noise, as the times of others tell"
            for what, limit in self.host_limits.items()
        ]
        counts = {verdict: number for verdict, number in self.counts().items() if number}
        told = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        lines += ["", f"{len(self.rows)} compared: {told or 'nothing in common'}"]
        for verdict in ("slower", "faster", "drift"):
            rows = [row for row in self.rows if row.verdict == verdict]
            if rows:
                rows.sort(key=lambda row: row.ratio or 0, reverse=verdict != "faster")
                lines += ["", _table(verdict, rows)]
        for verdict in ("only before", "only after"):
            names: dict[str, list[Row]] = {}
            for row in self.rows:
                if row.verdict == verdict:
                    what = f"{row.family}-{row.variant}" + (f": {row.reason}" if row.reason else "")
                    names.setdefault(what, []).append(row)
            if names:
                lines += ["", f"{verdict}:"]
            for what, rows in names.items():
                more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
                lines.append(f"  {what} ({rows[0].where}{more})")
        if any(not row.ours and row.verdict in ("slower", "drift") for row in self.rows):
            lines += [
                "",
                "* not gpumem's code: where it changed, the machine, its clocks or its libraries "
                "did.",
            ]
        return "\n".join(lines)


def _table(verdict: str, rows: list[Row]) -> str:
    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.1%}"

    cells = [
        [
            f"{row.family}-{row.variant}{'' if row.ours else ' *'}",
            row.where,
            f"{row.before_ms:.4g}",
            f"{row.after_ms:.4g}",
            f"{row.ratio:.3f}",
            "-" if row.reference_ratio is None else f"{row.reference_ratio:.3f}",
            share(row.before_noise),
            share(row.after_noise),
        ]
        for row in rows
    ]
    head = (verdict, "where", "ms before", "after", "ratio", "/reference", "noise", "after")
    return format_table(head, cells, left=2)


# ---- comparing ----------------------------------------------------------------------------


def _key(record: dict[str, Any]) -> str:
    import json

    return json.dumps([record.get(name) for name in _MATCHED], sort_keys=True, default=str)


def _whole(records: list[dict[str, Any]]) -> dict[str, Any]:
    """One record of those that measured the same: the middle one, with the noise of all."""
    timed = sorted((one for one in records if one["median_ms"]), key=lambda one: one["median_ms"])
    if not timed:
        return records[0]
    middle = timed[len(timed) // 2]
    if len(timed) == 1:
        return middle
    lows = [one["p20_ms"] for one in timed if one.get("p20_ms") is not None]
    highs = [one["p80_ms"] for one in timed if one.get("p80_ms") is not None]
    return middle | {"p20_ms": min(lows, default=None), "p80_ms": max(highs, default=None)}


def _index(result: BenchResult) -> dict[str, dict[str, Any]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for record in result.records:
        found.setdefault(_key(record), []).append(record)
    return {key: _whole(records) for key, records in found.items()}


def _is_reference(family: str, variant: str) -> bool:
    """Whether other records of the run may be measured against it; it is never against itself."""
    try:
        return oracle.reference(family) == (family, variant)
    except ValueError:  # of a gpumem that had other families
        return False


def is_ours(family: str, variant: str, parameters: dict[str, Any] | None = None) -> bool:
    """Return whether a variant is gpumem's code, and not the driver's or another library's."""
    if family in hostclock.FAMILIES:
        return hostclock.is_ours(family, parameters or {})
    if variant in peers.names():
        return False
    try:
        row = find(family, variant)
    except ValueError:
        return True
    alien = row.source.endswith(".c") and _is_reference(family, variant)
    return not (alien or "cuBLAS" in row.requires)


def _strain(record: dict[str, Any]) -> str | None:
    """What kind of noise the time of a record has, of those by the host's clock."""
    if record["family"] not in hostclock.FAMILIES:
        return None
    return f"{record['family']} of {hostclock.strain(record['family'], record['parameters'])}"


def _host_limits(
    pairs: Iterable[tuple[dict[str, Any] | None, dict[str, Any] | None]], threshold: float
) -> dict[str, float]:
    """What the host's own doings change, as a share: all but the noisiest of what others do."""
    changes: dict[str, list[float]] = {}
    for before, after in pairs:
        if before and after and before["median_ms"] and after["median_ms"]:
            strain = _strain(before)
            if strain and not is_ours(before["family"], before["variant"], before["parameters"]):
                change = abs(math.log(after["median_ms"] / before["median_ms"]))
                changes.setdefault(strain, []).append(change)
    found = {
        strain: math.expm1(sorted(values)[math.ceil(_QUIETER * len(values)) - 1])
        for strain, values in changes.items()
        if len(values) >= _CONTROLS
    }
    return {strain: limit for strain, limit in found.items() if limit > threshold}


def _row(
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    threshold: float,
    host_limits: dict[str, float],
) -> Row | None:
    """One row; None where neither has a time."""
    one = before or after
    assert one is not None
    times = [record and record["median_ms"] for record in (before, after)]
    if not any(times):
        return None
    noise = [spread(record) if record else None for record in (before, after)]
    ratio = limit = against = reason = None
    ours = is_ours(one["family"], one["variant"], one["parameters"])
    if all(times):
        ratio = times[1] / times[0]
        limit = max(threshold, math.hypot(*(value or 0 for value in noise)), _LAUNCH_MS / times[0])
        if ours:
            limit = max(limit, host_limits.get(_strain(one) or "", 0))
        shares = [record["fraction_of_reference"] for record in (before, after)]
        if all(shares) and not _is_reference(one["family"], one["variant"]):
            against = shares[0] / shares[1]

        def judge(value: float) -> str:
            slower, faster = value > 1 + limit, value < 1 / (1 + limit)
            return "slower" if slower else "faster" if faster else "same"

        verdict = judge(ratio)
        if against is not None and judge(against) != verdict:
            verdict = "drift"
    else:
        verdict = "only before" if times[0] else "only after"
        missing = after if times[0] else before
        reason = missing["reason"] if missing else None
    return Row(
        one["family"],
        one["variant"],
        one["backend"],
        tuple(one["shape"]),
        one["dtype"],
        one["cache"],
        one["parameters"],
        times[0] or None,
        times[1] or None,
        ratio,
        *noise,
        limit,
        against,
        verdict,
        ours,
        reason,
    )


def _warnings(before: BenchResult, after: BenchResult) -> list[str]:
    found = []
    for what, ask in _MACHINE.items():
        values = [ask(result.provenance) for result in (before, after)]
        if values[0] != values[1]:
            found.append(f"another {what}: {values[0]} before, {values[1]} after")
    for when, result in (("before", before), ("after", after)):
        slowed = sum(1 for record in result.records if record.get("throttled"))
        if slowed:
            found.append(f"the clocks were held down in {slowed} of the records {when}")
    return found


def compare(
    before: BenchResult | str | os.PathLike[str],
    after: BenchResult | str | os.PathLike[str],
    threshold: float = 0.03,
) -> Comparison:
    """Hold two results against each other.

    Records are matched by family, variant, backend, shape, dtype, cache and parameters. What a run
    measured several times, such as a reference, counts once: the middle median, with the noise of
    all.

    Parameters
    ----------
    before, after : BenchResult, str or path
        The results, or their names or files.
    threshold : float
        The least change of the median time, as a share, that counts; 0.03 is 3 %.

    Returns
    -------
    Comparison
        Rows with a verdict each, and the regressions among them.

    Raises
    ------
    ValueError
        If there is no such result, or `threshold` is negative or no number.

    Notes
    -----
    A row is faster or slower if the medians differ by more than `threshold` and by more than the
    noise of both, the root of the sum of the squares of their distances from the 20th to the 80th
    percentile; what is less is the same. So is a fifth of a microsecond, by which a launch costs
    more in one run than in the next.

    Clocks drift, with the temperature or from one machine to the next, by more than most changes of
    a kernel are worth. The reference that a benchmark measures in turn with the others, the
    driver's copy or cuBLAS, drifts with them. So where both runs have the reference, a row has to
    be slower in time and against the reference to be called slower, and faster in both to be called
    faster; if one alone changed, or they did apart, the verdict is "drift". This needs the
    reference to be limited by the same thing as the kernel: of a drifting memory clock a reference
    that computes says nothing.
    The reference itself is judged by its time alone. That of other libraries is no regression of
    gpumem, but where the reference is one of gpumem's own kernels, as in ``prefetch_sum``, it is
    one, and the others can be told to have drifted with it.

    What the host's clock measures, transfers and round trips, changes from run to run by more than
    within one: with the pages that memory is made of, the cores that threads run on, and what else
    the host does. How much, the copies of the driver and the round trips of other libraries tell,
    which are measured beside. Where five or more of them use the same kind of memory, a time of
    gpumem's changed if it did so by more than 19 of 20 of those did.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise ValueError(f"threshold must be a share such as 0.03, not {quoted(threshold)}")
    if not 0 <= threshold < math.inf:
        raise ValueError(f"threshold must be 0 or more, not {quoted(threshold)}")
    one, other = (
        result if isinstance(result, BenchResult) else BenchResult.load(result)
        for result in (before, after)
    )
    old, new = _index(one), _index(other)
    pairs = [(old.get(key), new.get(key)) for key in dict.fromkeys([*old, *new])]
    limits = _host_limits(pairs, threshold)
    rows = [row for pair in pairs if (row := _row(*pair, threshold, limits)) is not None]
    return Comparison(
        rows,
        _warnings(one, other),
        origin(one.provenance),
        origin(other.provenance),
        threshold,
        limits,
    )
