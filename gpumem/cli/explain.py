"""``gpumem explain``: what a variant does and how fast it is, in words."""

from __future__ import annotations

import argparse

from ..base.sizes import parse_shape
from ..report.explanation import Explanation, KernelExplanation, explain
from .common import Commands, UsageError, completed, print_json
from .kernels import (
    LAUNCH_OPTIONS,
    add_launch,
    add_source,
    add_variant_or_kernel,
    complete_families_and_sources,
    is_source,
    launch_of,
    refuse_options,
)


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    if options.live and options.results is not None:
        raise UsageError("explain: --live and --results exclude each other")
    if is_source(options.family):
        given = ("shape", "results", "live")
        refuse_options("explain", options, given, f"{options.family} is a file of kernels")
        options.kernel = options.variant
        launch, args = launch_of("explain", options)
        _show(explain(launch, *args), options)
        return 0
    refuse_options("explain", options, LAUNCH_OPTIONS, f"{options.family} is a family")
    if options.variant is None:
        raise UsageError("explain: needs a VARIANT of the family")
    found = explain(
        options.family,
        options.variant,
        None if options.shape is None else parse_shape(options.shape),
        options.results,
        live=options.live,
    )
    _show(found, options)
    return 0


def _show(found: Explanation | KernelExplanation, options: argparse.Namespace) -> None:
    if options.json:
        print_json(found.to_dict())
    else:
        print(found)


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    text = "Explain in words what a variant, or a kernel of a .cu file, does and how fast it is."
    one = commands.add("explain", run, text)
    family = one.add_argument("family", metavar="FAMILY|FILE.cu")
    completed(family, complete_families_and_sources)
    add_variant_or_kernel(one)
    add_launch(one)
    add_source(one)
    one.add_argument("--shape", help="1048576 or 1024x1024 (default: the largest measured)")
    one.add_argument(
        "--results", metavar="RESULT", help="where to look for figures (default: shipped results)"
    )
    one.add_argument("--live", action="store_true", help="measure now, on a GPU")
