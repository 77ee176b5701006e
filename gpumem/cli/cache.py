"""``gpumem cache``: where users' compiled kernels are kept, and how to be rid of them."""

from __future__ import annotations

import argparse

from ..base.sizes import format_bytes
from ..cuda_c.cache import folder, limit, remove_all, usage
from .common import Commands, print_json


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    at = folder()
    modules, size = usage(at)
    if options.clear:
        remove_all(at)
    if options.json:
        found = {"folder": str(at), "modules": modules, "bytes": size, "limit": limit()}
        print_json(found | {"cleared": options.clear})
        return 0
    what = f"{modules} compiled module{'s' * (modules != 1)}, {format_bytes(size)}"
    if options.clear:
        print(f"{at}: removed {what}")
    else:
        print(f"{at}: {what} of at most {format_bytes(limit())}")
    return 0


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    one = commands.add("cache", run, "Show or empty the cache of users' compiled kernels.")
    one.add_argument("--clear", action="store_true", help="remove all")
