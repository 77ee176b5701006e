"""``gpumem plot``: draw a result."""

from __future__ import annotations

import argparse

from ..report.plots import KINDS, left_out
from ..results import RESULTS
from .common import Commands, completed, keywords, picture_target, print_json, say, write_picture


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    picture_target("plot", options.output)
    result, given = RESULTS.load(options.result), keywords(options.set)
    figure = result.plot(options.kind, **given)
    write_picture(figure, options.output, dpi=120)
    for line in left_out(result, options.kind, figure, **given):
        say(f"gpumem: plot: left out: {line}")
    if options.json:
        print_json({"file": options.output, "kind": options.kind, "result": options.result})
    else:
        print(f"{options.output}: {options.kind} of {options.result}")
    return 0


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    one = commands.add("plot", run, "Draw a shipped result, or one that bench wrote to a file.")
    result = one.add_argument(
        "result", metavar="RESULT", help="such as prefetch_sum-h200, or FILE.json"
    )
    completed(result, lambda **_: RESULTS.names())
    kind = one.add_argument("--kind", required=True, help=", ".join(KINDS))
    completed(kind, lambda **_: tuple(KINDS))
    one.add_argument(
        "--set", action="append", metavar="NAME=VALUE", help="an option of the kind: work=2"
    )
    one.add_argument("-o", "--output", metavar="FILE", required=True, help="FILE.png, .svg, .pdf")
