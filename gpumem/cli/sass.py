"""``gpumem sass``: show the machine code of a variant."""

from __future__ import annotations

import argparse

from ..count.sass import sass
from .common import Commands, UsageError, completed, print_json
from .kernels import (
    add_source,
    add_variant_or_kernel,
    complete_families_and_sources,
    is_source,
    kernel_of,
    refuse_options,
)


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    if is_source(options.family):
        options.kernel = options.variant
        found = sass(kernel_of("sass", options, "sim"), arch=options.arch)
    else:
        refuse_options("sass", options, ("define", "include"), f"{options.family} is a family")
        if options.variant is None:
            raise UsageError("sass: needs a VARIANT of the family")
        found = sass(options.family, options.variant, options.arch)
    if options.json:
        print_json(found.to_dict(whole=options.all))
    else:
        print(found.listing() if options.all else found)
    return 0


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    text = (
        "Show the memory instructions in the machine code of a variant, or of a .cu file's kernel."
    )
    one = commands.add("sass", run, text)
    family = one.add_argument("family", metavar="FAMILY|FILE.cu")
    completed(family, complete_families_and_sources)
    add_variant_or_kernel(one)
    add_source(one)
    text = "of a variant one that gpumem was built for (default: all); of a file 90a or any other"
    one.add_argument("--arch", help=text)
    one.add_argument(
        "--all", action="store_true", help="all instructions, not only memory instructions"
    )
