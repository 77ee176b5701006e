"""``gpumem check``: find what is wrong with a user's kernel."""

from __future__ import annotations

import argparse

from ..base.files import check_target, write
from ..check.checking import check
from ..check.limits import LIMITS
from .common import Commands, UsageError, completed
from .kernels import add_kernel, add_launch, add_source, complete_sources, is_source, launch_of


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status, which is 1 if there are findings."""
    if options.backend not in (None, "auto", "sim"):
        raise UsageError("check: only the simulator checks; --backend must be sim")
    if not is_source(options.family):
        raise UsageError(f"check: {options.family} is no file of kernels, whose name ends in .cu")
    if options.sarif is not None:
        check_target(options.sarif)
    launch, args = launch_of("check", options)
    limits = {one.keyword: getattr(options, one.keyword) for one in LIMITS}
    report = check(launch, *args, **limits)
    if options.sarif is not None:
        write(options.sarif, report.to_sarif() + "\n")
    print(report.to_json() if options.json else report)
    return int(not report.ok)


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    one = commands.add("check", run, "Find what is wrong with a kernel of a .cu file.")
    completed(one.add_argument("family", metavar="FILE.cu"), complete_sources)
    add_kernel(one)
    add_launch(one)
    add_source(one)
    one.add_argument("--sarif", metavar="FILE", help="write the findings for code scanning")
    for limit in LIMITS:
        name = f"--{limit.keyword.replace('_', '-')}"
        one.add_argument(name, type=float, metavar="X", help=limit.help)
