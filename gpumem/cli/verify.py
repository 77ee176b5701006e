"""``gpumem verify``: compare every variant with NumPy."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _core
from ..base.messages import shortened
from ..base.sizes import parse_sizes
from ..check.accuracy import accuracy, table
from ..check.verification import verify
from ..families.table import find, variants
from .common import (
    Commands,
    UsageError,
    chosen_families,
    complete_families,
    complete_variants,
    completed,
    print_json,
    show_progress,
)


def _depths(text: str) -> list[int]:
    try:
        return parse_sizes(text)
    except ValueError:
        raise UsageError(
            f"verify: --depths {shortened(text)}: expected 16,64 or 16:4096:x4, at least 1 each"
        ) from None


def _accuracy(options: argparse.Namespace) -> int:
    """Print how accurate the sums of sgemm are."""
    if options.family != "sgemm":
        raise UsageError("verify: --accuracy is for sgemm, whose sums are rounded")
    with show_progress("accuracy") as progress:
        records = accuracy(
            None if options.variant is None else [options.variant],
            None if options.depths is None else _depths(options.depths),
            options.side,
            backend=options.backend,
            progress=progress,
        )
    if options.json:
        print_json(records)
    else:
        print(table(records))
    return 0


def _line(report: dict[str, Any], width: int) -> str:
    name = f"{report['family']}-{report['variant']}"
    line = f"{name:{width}}  {report['status']}"
    if report["status"] == "passed":
        line += f"  {report['cases']} cases  {report['backend']}"
    return line if not report["reason"] else f"{line}: {report['reason']}"


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    if options.accuracy:
        return _accuracy(options)
    if (options.depths, options.side) != (None, None):
        raise UsageError("verify: --depths and --side need --accuracy")
    backend = _core.backend(options.backend)
    chosen = [v for family in chosen_families(options.family) for v in variants(family)]
    if options.variant is not None:
        if options.family is None:
            raise UsageError("verify: --variant needs a family")
        chosen = [find(options.family, options.variant)]
    reports = []
    if options.json:
        with show_progress("verify") as progress:
            for report in verify(chosen, backend):
                reports.append(report)
                name = f"{report['family']}-{report['variant']}"
                progress(len(reports), len(chosen), name)
        print_json(reports)
    else:
        width = max(len(str(v)) for v in chosen)
        for report in verify(chosen, backend):
            reports.append(report)
            print(_line(report, width), flush=True)  # at once, also into a pipe
    return int(any(report["status"] == "FAILED" for report in reports))


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    one = commands.add("verify", run, "Run every available variant and compare with NumPy.")
    completed(one.add_argument("family", nargs="?", metavar="FAMILY"), complete_families)
    completed(one.add_argument("--variant", help="only this one"), complete_variants)
    one.add_argument(
        "--accuracy", action="store_true", help="measure how accurate the sums of sgemm are"
    )
    one.add_argument(
        "--depths", metavar="K,K", help="of --accuracy: lengths of sums, as 16,64 or 16:4096:x4"
    )
    one.add_argument("--side", type=int, metavar="N", help="of --accuracy: rows and columns")
