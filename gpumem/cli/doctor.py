"""``gpumem doctor``: what is here, and whether this GPU is as fast as it should be."""

from __future__ import annotations

import argparse

from ..report.checkup import doctor
from .common import Commands, show_progress


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    with show_progress("doctor") as progress:
        found = doctor(timeout=options.timeout, backend=options.backend, progress=progress)
    print(found.to_json() if options.json else found)
    return int(bool(found.slow))


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    one = commands.add(
        "doctor",
        run,
        "Say what is here, and whether this GPU is as fast as it should be; exit with 1 if it is "
        "not.",
    )
    one.add_argument(
        "--timeout", type=float, default=60, metavar="SECONDS", help="for all of it (60)"
    )
