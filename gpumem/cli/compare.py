"""``gpumem compare``: compare two results."""

from __future__ import annotations

import argparse

from ..base.record import order_words
from ..report.comparison import Comparison, compare
from ..results import RESULTS
from .common import Commands, UsageError, completed


def _check_anything_compared(found: Comparison, options: argparse.Namespace) -> None:
    """Raise UsageError if nothing was compared: then "no regressions" means nothing."""
    compared = [row for row in found.rows if row.ratio is not None]
    # A reference that both results have does not compare the kernels in them.
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
    families = []
    for name, rows in times.items():
        words = dict.fromkeys(row.family + order_words(row.order) for row in rows)
        families.append(f"{name} has {', '.join(words)}")
    raise UsageError(
        "compare: nothing to compare: no combination of family, variant, shape, dtype, cache, "
        f"order and parameters is in both; {', '.join(families)}"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    before, after = zip((options.before, options.after), *options.again, strict=True)
    found = compare(before, after, options.threshold)
    _check_anything_compared(found, options)
    print(found.to_json() if options.json else found)
    return int(bool(found.regressions))


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    one = commands.add(
        "compare", run, "Compare two results; exit with 1 if anything became slower."
    )
    before = one.add_argument(
        "before", metavar="BEFORE", help="a file, or the name of a shipped result"
    )
    after = one.add_argument("after", metavar="AFTER", help="a later one")
    again = one.add_argument(
        "--again",
        nargs=2,
        action="append",
        default=[],
        metavar=("BEFORE", "AFTER"),
        help="another run of both: a change counts only if every pair of runs shows it",
    )
    for result in (before, after, again):
        completed(result, lambda **_: RESULTS.names())
    one.add_argument(
        "--threshold",
        type=float,
        default=0.03,
        metavar="SHARE",
        help="smallest change that counts (0.03: 3 %%)",
    )
