"""``gpumem compare``: two results held against each other."""

from __future__ import annotations

import argparse

from ..report.comparison import Comparison, compare
from ..results import RESULTS
from .common import Commands, UsageError, completed


def _check_anything_compared(found: Comparison, options: argparse.Namespace) -> None:
    """Nothing slower is no good news where nothing could be compared."""
    compared = [row for row in found.rows if row.ratio is not None]
    # A copy of the driver that stands beside both is no comparison of the kernels in them.
    if any(row.ours for row in found.rows):
        compared = [row for row in compared if row.ours]
    if compared or found.regressions:
        return
    times = {
        options.before: [row for row in found.rows if row.before_ms is not None],
        options.after: [row for row in found.rows if row.after_ms is not None],
    }
    for name, rows in times.items():
        if not rows:
            raise UsageError(f"compare: nothing to compare: {name} has no times")
    said = [
        f"{name} is of {', '.join(dict.fromkeys(row.family for row in rows))}"
        for name, rows in times.items()
    ]
    raise UsageError(
        "compare: nothing to compare: no family, variant, shape, dtype, cache and parameters are "
        f"in both; {', '.join(said)}"
    )


def run(options: argparse.Namespace) -> int:
    found = compare(options.before, options.after, options.threshold)
    _check_anything_compared(found, options)
    print(found.to_json() if options.json else found)
    return int(bool(found.regressions))


def add_to(commands: Commands) -> None:
    one = commands.add("compare", run, "Hold two results against each other; 1 if slower.")
    before = one.add_argument("before", metavar="BEFORE", help="a result, or one that is shipped")
    after = one.add_argument("after", metavar="AFTER", help="a later one")
    for result in (before, after):
        completed(result, lambda **_: RESULTS.names())
    one.add_argument(
        "--threshold", type=float, default=0.03, metavar="SHARE", help="that counts (0.03: 3 %%)"
    )
