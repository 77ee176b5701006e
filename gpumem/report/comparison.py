"""Two results compared: what became faster, what slower, and what is noise."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, cast

from ..base.messages import quoted
from ..base.provenance import origin
from ..base.result import BenchResult, load_result
from ..base.tables import format_table
from .verdicts import Row, judged

__all__ = ["Comparison", "Row", "compare"]

_VERDICTS = ("faster", "slower", "same", "drift", "only before", "only after")


class Comparison:
    """Two results, row by row; made by :func:`compare`.

    Attributes
    ----------
    rows : list of Row
        One for each thing that either result has a time for, in the order of the results.
    regressions : list of Row
        gpumem's own kernels whose result is now wrong, then those that became slower, the worst
        first.
    warnings : list of str
        Why the two results may not be comparable.
    before, after : str
        Where the figures come from.
    threshold : float
        The smallest change, as a share, that counts.
    host_limits : dict of str to float
        The smallest change that counts for times by the wall clock, where that is larger.

    Examples
    --------
    >>> import gpumem as gm
    >>> found = gm.compare("copy-h200", "copy-h200")
    >>> found.counts()["same"] == len(found.rows), found.regressions
    (True, [])
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
        """The kernels of gpumem that became slower or wrong, the worst first."""
        found = [row for row in self.rows if row.ours and (row.verdict == "slower" or row.wrong)]
        return sorted(found, key=lambda row: -(math.inf if row.ratio is None else row.ratio))

    def counts(self) -> dict[str, int]:
        """Return the number of rows with each verdict.

        Examples
        --------
        >>> import gpumem as gm
        >>> gm.compare("copy-h200", "copy-h200").counts()["slower"]
        0
        """
        found = dict.fromkeys(_VERDICTS, 0)
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
        import json  # not needed to import gpumem

        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.counts().items())
        return f"<gpumem comparison: {counts}>"

    def __str__(self) -> str:
        counts = [f"{number} {verdict}" for verdict, number in self.counts().items() if number]
        lines = [
            f"before: {self.before}",
            f"after:  {self.after}",
            *(f"warning: {warning}" for warning in self.warnings),
            *(
                f"wall clock: {what}: up to {limit:.1%} is noise: unchanged code varied as much"
                for what, limit in self.host_limits.items()
            ),
            "",
            f"{len(self.rows)} compared: {', '.join(counts) or 'nothing in common'}",
        ]
        for verdict in ("slower", "faster", "drift"):
            lines += self._changed(verdict)
        for verdict in ("only before", "only after"):
            lines += self._missing(verdict)
        if any(not row.ours and row.verdict in ("slower", "drift") for row in self.rows):
            lines += [
                "",
                "* not gpumem's code: if it changed, so did the machine, its clocks or its "
                "libraries.",
            ]
        return "\n".join(lines)

    def _changed(self, verdict: str) -> Iterator[str]:
        rows = [row for row in self.rows if row.verdict == verdict]
        if rows:
            rows.sort(key=lambda row: row.ratio or 0, reverse=verdict != "faster")
            yield ""
            yield _table(verdict, rows)

    def _missing(self, verdict: str) -> Iterator[str]:
        names: dict[str, list[Row]] = {}
        for row in self.rows:
            if row.verdict == verdict:
                what = f"{row.name}: {row.reason}" if row.reason else row.name
                names.setdefault(what, []).append(row)
        if names:
            yield ""
            yield f"{verdict}:"
        for what, rows in names.items():
            more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
            yield f"  {what} ({rows[0].where}{more})"


def _table(verdict: str, rows: list[Row]) -> str:
    def cell(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    cells = [
        [
            row.name if row.ours else f"{row.name} *",
            row.where,
            cell(row.before_ms, ".4g"),
            cell(row.after_ms, ".4g"),
            cell(row.ratio, ".3f"),
            cell(row.reference_ratio, ".3f"),
            cell(row.before_noise, ".1%"),
            cell(row.after_noise, ".1%"),
        ]
        for row in rows
    ]
    head = (verdict, "where", "ms before", "after", "ratio", "/reference", "noise", "after")
    return format_table(head, cells, left=2)


def _machine(result: BenchResult) -> dict[str, Any]:
    """Return what has to agree for times to be comparable."""
    provenance = result.provenance
    device = provenance.get("device") or {}
    return {
        "device": device.get("name"),
        "multiprocessors": device.get("multiprocessors"),
        "memory": device.get("memory_bytes"),
        "memory clock": device.get("memory_clock_khz"),
        "clock": device.get("clock_khz"),
        "driver": provenance.get("driver"),
        "CUDA runtime": provenance.get("cuda_runtime"),
    }


def _orders(result: BenchResult) -> list[str]:
    """Return the orders of the calls that were timed."""
    return sorted({row.order for row in result.rows if row.order and row.median_ms})


def _machines(before: Sequence[BenchResult], after: Sequence[BenchResult]) -> Iterator[str]:
    """Yield where a run was on another machine than the first one before."""
    first = _machine(before[0])
    told = set()
    for when, runs in (("before", before[1:]), ("after", after)):
        for run in runs:
            for what, new in _machine(run).items():
                if new != first[what] and (when, what) not in told:
                    told.add((when, what))
                    yield f"another {what}: {first[what]} before, {new} {when}"


def _warnings(before: Sequence[BenchResult], after: Sequence[BenchResult]) -> Iterator[str]:
    """Yield why the results may not be comparable."""
    orders = [sorted({order for run in runs for order in _orders(run)}) for runs in (before, after)]
    if all(orders) and orders[0] != orders[1]:
        old, new = map(" and ".join, orders)
        yield f"another order: {old} before, {new} after; one is not compared with the other"
    yield from _machines(before, after)
    for when, runs in (("before", before), ("after", after)):
        slowed = sum(1 for run in runs for row in run.rows if row.throttled)
        if slowed:
            yield f"the clocks were held down in {slowed} of the records {when}"


Runs = BenchResult | str | os.PathLike[str] | Sequence[BenchResult | str | os.PathLike[str]]


def _loaded(name: str, value: Runs) -> list[BenchResult]:
    if not isinstance(value, list | tuple):
        return [load_result(name, cast("BenchResult", value))]
    if not value:
        raise ValueError(f"{name} is empty, expected at least one result")
    return [load_result(f"{name}[{i}]", one) for i, one in enumerate(value)]


def _origin(runs: Sequence[BenchResult]) -> str:
    """Say where the figures come from, each place once."""
    return "; ".join(dict.fromkeys(origin(run.provenance) for run in runs)) + (
        f" ({len(runs)} runs)" if len(runs) > 1 else ""
    )


def compare(before: Runs, after: Runs, threshold: float = 0.03) -> Comparison:
    """Compare two results of benchmarks.

    Records are matched by family, variant, backend, shape, dtype, cache, order and parameters. What
    was measured several times, such as a reference, or everything where there are several runs,
    counts once: the middle median, with the noise of all.

    Parameters
    ----------
    before, after : BenchResult, str, path, or list of these
        The results, or their names or files; a list of them is several runs of the same code. One
        run in one process has one placement of its arrays in memory, on which some kernels depend:
        several runs show how much, and a change counts only if every pair of them shows it.
    threshold : float
        The smallest change of the median time, as a share, that counts; 0.03 is 3 %.

    Returns
    -------
    Comparison
        Rows with a verdict each, and the regressions among them.

    Raises
    ------
    ValueError
        If there is no such result, a list of them is empty, or `threshold` is negative or not a
        number.

    Notes
    -----
    A row is faster or slower if the medians differ by more than `threshold` and by more than the
    noise of both: the root of the sum of the squares of their distances from the 20th to the 80th
    percentile. Otherwise it is the same. Differences below 0.2 microseconds also count as the
    same, because the cost of a launch varies that much between runs.

    Clocks drift, with the temperature or from one machine to the next, by more than most changes of
    a kernel are worth. The reference that a benchmark interleaves with the other contenders, the
    driver's copy or cuBLAS, drifts with them. So where both runs have the reference, a row is
    slower only if it is slower in time and relative to the reference, and faster only if it is
    faster in both; if only one changed, or they changed in opposite directions, the verdict is
    "drift". This works as long as the same resource limits the reference and the kernel: a
    reference limited by arithmetic does not follow a drifting memory clock.
    The reference itself is judged by its time alone. If it is the code of another library, a slower
    reference is no regression of gpumem. Where it is one of gpumem's own kernels, as in
    ``prefetch_sum``, it is, and the other variants may be reported as drift.

    Times by the wall clock, of transfers and round trips, vary more from run to run than within
    one: with the physical pages of memory, with the cores that threads run on, and with everything
    else that the host does. How much shows in the code that did not change, the driver's copies and
    other libraries' round trips, which are measured in the same run. Where there are five or more
    of them with the same kind of memory, gpumem's times count as changed only if they changed more
    than 19 of 20 of those did. One in 20 exceeds that without a cause: of many such times some do
    in every comparison of two runs. Two runs of both, in turn, tell them from a change.

    Examples
    --------
    >>> import gpumem as gm
    >>> gm.compare("copy-h200", "copy-h200").regressions
    []
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise ValueError(f"threshold must be a share such as 0.03, not {quoted(threshold)}")
    if not 0 <= threshold < math.inf:
        raise ValueError(f"threshold must be 0 or more, not {quoted(threshold)}")
    old, new = _loaded("before", before), _loaded("after", after)
    rows, limits = judged(old, new, threshold)
    return Comparison(
        rows,
        list(_warnings(old, new)),
        _origin(old),
        _origin(new),
        threshold,
        limits,
    )
