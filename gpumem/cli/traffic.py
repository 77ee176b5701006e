"""``gpumem traffic``: count what the variants of a family ask of memory."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..base.sizes import parse_shape
from ..count.summary import summary
from ..count.traffic import COUNTS_ONLY, Traffic, traffic
from ..families import oracle
from ..families.table import find, variants
from .common import (
    Commands,
    UsageError,
    complete_variants,
    completed,
    keywords,
    note,
    picture_target,
    print_json,
    show_progress,
    write_picture,
)
from .kernels import (
    add_kernel,
    add_launch,
    add_source,
    complete_families_and_sources,
    is_source,
    launch_of,
    refuse_launch,
    refuse_options,
)

_OF_FAMILIES = ("variant", "shape", "dtype", "set")

ShapeOf = Callable[[str], tuple[int, ...]]


def shapes_of(family: str, shape: tuple[int, ...] | None, dtype: str) -> ShapeOf:
    """Return the shape for each variant: the given one, or the one that shows its traffic best."""
    return lambda name: shape or oracle.traffic_shape(family, dtype, name)


def reports(
    family: str,
    shape_of: ShapeOf,
    dtype: str,
    names: Sequence[str] | None,
    parameters: dict[str, Any],
) -> tuple[list[Traffic], dict[str, str]]:
    """Return a report of each variant that the simulator can run, and a reason for each other."""
    found: list[Traffic] = []
    refused: dict[str, str] = {}
    wrong: ValueError | None = None
    if names is None:
        names = [variant.name for variant in variants(family)]
    names = list(dict.fromkeys(names))
    with show_progress("traffic") as progress:
        for number, name in enumerate(names):
            progress(number, len(names), f"{family}-{name}")
            own = shape_of(name)
            try:
                found.append(traffic(family, variant=name, shape=own, dtype=dtype, **parameters))
            except _core.UnavailableError as error:
                refused[name] = str(error)
            except ValueError as error:
                if name == "auto" or oracle.takes(find(family, name), own, dtype):
                    raise
                refused[name], wrong = str(error), error
    if wrong is not None and not found:  # no variant of the family takes this
        raise wrong
    return found, refused


def print_summary(
    family: str,
    shape_of: ShapeOf,
    dtype: str,
    names: Sequence[str] | None,
    parameters: dict[str, Any],
) -> None:
    """Print a table of several variants, and why others are missing."""
    found, refused = reports(family, shape_of, dtype, names, parameters)
    shape = shape_of("auto")
    given = "".join(f", {name} {value}" for name, value in parameters.items())
    print(f"{family}, shape {'x'.join(map(str, shape))}, {np.dtype(dtype)}{given}: global memory\n")
    print(summary(found))
    for name, reason in refused.items():
        print("", note(f"{family}-{name}: {reason}"), sep="\n")


def _one(options: argparse.Namespace, dtype: str, shape_of: ShapeOf) -> Traffic:
    """Return the report of the given variant."""
    with show_progress("traffic") as progress:
        progress(0, 1, f"{options.family}-{options.variant}")
        shape, given = shape_of(options.variant), keywords(options.set)
        return traffic(options.family, variant=options.variant, shape=shape, dtype=dtype, **given)


def _check(options: argparse.Namespace) -> None:
    if options.backend not in (None, "auto", "sim"):
        raise UsageError("traffic: only the simulator counts; --backend must be sim")
    if options.draw is None and {options.site, options.request, options.space} != {None}:
        raise UsageError("traffic: --site, --space and --request need --draw FILE")
    if options.draw is not None:
        if options.variant is None and not is_source(options.family):
            raise UsageError("traffic: --draw needs a --variant")
        picture_target("--draw", options.draw)


def _show(report: Traffic, options: argparse.Namespace) -> None:
    """Print a report, and draw a request of it."""
    if options.draw is not None:
        site = options.site
        site = int(site) if site is not None and site.isdecimal() else site
        axes = report.draw(site, options.request or 0, space=options.space)
        write_picture(axes.figure, options.draw, dpi=150)
    print(report.to_json() if options.json else report)


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    _check(options)
    if is_source(options.family):
        refuse_options("traffic", options, _OF_FAMILIES, f"{options.family} is a file of kernels")
        launch, args = launch_of("traffic", options)
        _show(traffic(launch, *args), options)
        return 0
    refuse_launch("traffic", options)
    family = options.family
    dtype = oracle.dtype_for(family, options.dtype).name
    shape = None if options.shape is None else parse_shape(options.shape)
    shape_of = shapes_of(family, shape, dtype)
    if options.variant is not None:
        _show(_one(options, dtype, shape_of), options)
    elif options.json:
        found, refused = reports(family, shape_of, dtype, None, keywords(options.set))
        unavailable = [
            {"family": family, "variant": name, "reason": why} for name, why in refused.items()
        ]
        print_json([report.to_dict() for report in found] + unavailable)
    else:
        print_summary(family, shape_of, dtype, None, keywords(options.set))
        print(f"\n{COUNTS_ONLY}")
    return 0


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    text = "Count what the variants of a family, or a kernel of a .cu file, ask of memory."
    one = commands.add("traffic", run, text)
    family = one.add_argument("family", metavar="FAMILY|FILE.cu")
    completed(family, complete_families_and_sources)
    add_kernel(one)
    add_launch(one)
    add_source(one)
    variant = one.add_argument(
        "--variant", help="only this one, per source line (default: a summary of all)"
    )
    completed(variant, complete_variants)
    one.add_argument("--shape", help="1048576 or 1024x1024 (default: 4 MiB, 64 KiB for sgemm)")
    one.add_argument("--dtype", help="of the elements (default: float32, or what the family takes)")
    one.add_argument("--set", action="append", metavar="NAME=VALUE", help="a parameter: stride=4")
    one.add_argument("--draw", metavar="FILE", help="draw one request: FILE.png, .svg, .pdf")
    one.add_argument("--site", metavar="N|LINE", help='to draw: index, or "tile.cu:39 load"')
    one.add_argument("--space", choices=("global", "shared", "constant"), help="to draw: a memory")
    one.add_argument("--request", type=int, metavar="N", help="to draw: 0 is the first")
