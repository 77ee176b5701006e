"""``gpumem sass``: show the machine code of a variant."""

from __future__ import annotations

import argparse

from ..count.sass import sass
from .common import Commands, complete_families, complete_variants, completed, print_json


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    found = sass(options.family, options.variant, options.arch)
    if options.json:
        print_json(found.to_dict(whole=options.all))
    else:
        print(found.listing() if options.all else found)
    return 0


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    one = commands.add("sass", run, "Show the memory instructions of a variant's machine code.")
    completed(one.add_argument("family", metavar="FAMILY"), complete_families)
    completed(one.add_argument("variant", metavar="VARIANT"), complete_variants)
    one.add_argument("--arch", help="one that gpumem was built for: 90a (default: all)")
    one.add_argument(
        "--all", action="store_true", help="all instructions, not only memory instructions"
    )
