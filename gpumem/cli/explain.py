"""``gpumem explain``: what a variant does and how fast it is, in words."""

from __future__ import annotations

import argparse

from ..base.sizes import parse_shape
from ..report.explanation import explain
from .common import (
    Commands,
    UsageError,
    complete_families,
    complete_variants,
    completed,
    print_json,
)


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    if options.live and options.results is not None:
        raise UsageError("explain: --live and --results exclude each other")
    found = explain(
        options.family,
        options.variant,
        None if options.shape is None else parse_shape(options.shape),
        options.results,
        live=options.live,
    )
    if options.json:
        print_json(found.to_dict())
    else:
        print(found)
    return 0


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    one = commands.add("explain", run, "Explain in words what a variant does and how fast it is.")
    completed(one.add_argument("family", metavar="FAMILY"), complete_families)
    completed(one.add_argument("variant", metavar="VARIANT"), complete_variants)
    one.add_argument("--shape", help="1048576 or 1024x1024 (default: the largest measured)")
    one.add_argument(
        "--results", metavar="RESULT", help="where to look for figures (default: shipped results)"
    )
    one.add_argument("--live", action="store_true", help="measure now, on a GPU")
