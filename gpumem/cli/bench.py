"""``gpumem bench``: the times of a family by size, or its traffic without a GPU."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator
from typing import Any

from ..base.files import check_target
from ..base.messages import unknown
from ..base.record import NO_TIMES, ORDERS, STREAM
from ..base.result import BenchResult
from ..base.sizes import parse_shape, parse_sizes
from ..base.wall_clock import FAMILIES as WALL_CLOCK_FAMILIES
from ..families import oracle, peers
from ..families.table import families
from ..measure.bench import MOST_SAMPLES, bench
from ..measure.recording import Interrupted
from ..measure.suite import bench_all
from ..measure.sweep import combinations
from . import bench_distributed
from .common import Commands, UsageError, completed, keywords, show_progress
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
from .traffic import ShapeOf, print_summary, shapes_of

_OF_FAMILIES = ("all", "variants", "sizes", "shapes", "dtype", "peers", "set")


def _shapes(text: str | None) -> list[tuple[int, ...]] | None:
    return None if text is None else [parse_shape(one) for one in text.split(",")]


def _names(text: str | None) -> list[str] | None:
    return None if text is None else text.split(",")


def _peers(options: argparse.Namespace) -> list[str] | None:
    """Return the libraries that --peers names."""
    wall_clock = WALL_CLOCK_FAMILIES.get(options.family)
    known = peers.names() if wall_clock is None else wall_clock.peers
    names = _names(options.peers)
    if names and not known:
        raise UsageError(f"bench: --peers: no library is measured beside {options.family}")
    for name in names or ():
        if name not in known:
            raise UsageError(unknown("bench: --peers names", name, known, "; accepted are"))
    return names


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that all families share, as arguments of :func:`gpumem.bench`."""
    found: dict[str, Any] = {
        "cache": options.cache,
        "order": options.order or STREAM,
        "with_peers": _peers(options),
    }
    if options.min_samples is not None:
        if options.min_samples < 1:
            raise UsageError(f"bench: --min-samples must be 1 or more, not {options.min_samples}")
        found["samples"] = (options.min_samples, max(options.min_samples, MOST_SAMPLES))
    for option, name in (("max_noise", "spread"), ("timeout", "timeout")):
        value = getattr(options, option)
        if value is None:
            continue
        if not value >= 0:
            raise UsageError(f"bench: --{option.replace('_', '-')} must be 0 or more, not {value}")
        found[name] = value
    return found | {"backend": options.backend}


def _measured(options: argparse.Namespace) -> BenchResult:
    """Measure one family, or all of them."""
    common = _settings(options)
    with show_progress("bench") as progress:
        if options.all:
            return bench_all(progress=progress, **common)
        return bench(
            options.family,
            _names(options.variants),
            None if options.sizes is None else parse_sizes(options.sizes),
            options.dtype,
            shapes=_shapes(options.shapes),
            progress=progress,
            **common,
            **keywords(options.set),
        )


def _measured_kernel(options: argparse.Namespace) -> BenchResult:
    """Measure a kernel of a file."""
    refuse_options("bench", options, _OF_FAMILIES, f"{options.family} is a file of kernels")
    settings = _settings(options)
    del settings["with_peers"]
    launch, args = launch_of("bench", options, settings.pop("backend"))
    with show_progress("bench") as progress:
        return bench(
            launch,
            *args,
            bytes=options.bytes,
            flops=options.flops,
            progress=progress,
            **settings,
        )


def _outputs(options: argparse.Namespace) -> list[str]:
    """Return the files to write; the name of a family after --json is FAMILY and not a file."""
    if options.json in (*families(), *WALL_CLOCK_FAMILIES):
        if options.family is not None:
            raise UsageError(
                f"bench: {options.json} after --json is a family, but so is {options.family}; for "
                f"a file of that name, write ./{options.json}"
            )
        options.family, options.json = options.json, True
    files = [one for one in (options.output, options.json) if isinstance(one, str)]
    for file in files:
        check_target(file)  # before anything is measured
    return files


def _check(options: argparse.Namespace) -> None:
    if options.family is not None:
        refuse_launch("bench", options)
    of_kernels = f"{options.family or 'all'} has counts of its own"
    refuse_options("bench", options, ("bytes", "flops"), of_kernels)
    if options.sizes is not None and options.shapes is not None:
        raise UsageError("bench: --sizes and --shapes exclude each other")
    if options.all:
        given = {"FAMILY": options.family, "--variants": options.variants, "--dtype": options.dtype}
        given |= {"--sizes": options.sizes, "--shapes": options.shapes, "--set": options.set}
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"bench: --all measures every family and excludes {name}")
    elif options.family is None:
        raise UsageError("bench: needs FAMILY or --all")


def _counted(options: argparse.Namespace, dtype: str) -> Iterator[ShapeOf]:
    """Yield the given sizes or shapes whose traffic to count, or the usual one."""
    family = options.family
    if options.sizes is not None:
        for nbytes in parse_sizes(options.sizes):
            yield functools.partial(oracle.shape_for, family, nbytes, dtype)
    elif options.shapes is not None:
        for shape in _shapes(options.shapes) or []:
            yield shapes_of(family, shape, dtype)
    else:
        yield shapes_of(family, None, dtype)


def _print_traffic(options: argparse.Namespace) -> None:
    """Print the traffic of a family, which is what the simulator has instead of times."""
    dtype = oracle.dtype_for(options.family, options.dtype).name
    names = _names(options.variants)
    for shape_of in _counted(options, dtype):
        for chosen in combinations(keywords(options.set)):
            print_summary(options.family, shape_of, dtype, names, chosen)
            print(flush=True)
    print(f"No times: {NO_TIMES}.")


def run(options: argparse.Namespace) -> int:
    """Run the command; return the exit status."""
    if options.family == bench_distributed.NAME:
        return bench_distributed.run(options)
    files = _outputs(options)
    if not is_source(options.family):
        _check(options)
    status = 0
    try:
        measure = _measured_kernel if is_source(options.family) else _measured
        result = measure(options)
    except Interrupted as stop:
        result, status = stop.result, 130
        if not result.records:
            return status
    for file in files:
        result.to_json(file)
    if options.json is True:
        print(result.to_json(), end="")
    elif result.provenance["backend"] == "sim" and options.family in families() and not status:
        _print_traffic(options)
    else:
        print(result)
    return status


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    text = "Time the variants of a family by size, or a kernel of a .cu file, on the device."
    one = commands.add("bench", run, text, json_file=True)
    family = one.add_argument(
        "family", nargs="?", metavar="FAMILY|FILE.cu", help="or transfer, roundtrip, distributed"
    )
    others = (*WALL_CLOCK_FAMILIES, bench_distributed.NAME)
    completed(family, lambda **given: (*complete_families_and_sources(**given), *others))
    add_kernel(one)
    add_launch(one)
    add_source(one)
    one.add_argument("--bytes", type=int, metavar="N", help="of FILE.cu: bytes that a launch moves")
    one.add_argument("--flops", type=int, metavar="N", help="of FILE.cu: operations of a launch")
    one.add_argument("--all", action="store_true", help="every family, at chosen sizes")
    one.add_argument("--variants", metavar="A,B", help="only these (default: all, and auto)")
    one.add_argument(
        "--sizes", metavar="S,S", help='bytes of the input: "4K:1G:x2" (default), "1M,16M"'
    )
    one.add_argument("--shapes", metavar="S,S", help="instead of sizes: 8192x8192,50000x5000")
    one.add_argument("--dtype", help="of the elements (default: float32, or what the family takes)")
    one.add_argument("--peers", metavar="P,P", help="also measure other libraries: torch,cupy")
    one.add_argument(
        "--cache",
        choices=("cold", "warm", "both"),
        default="cold",
        help="the L2 before each launch: without the data (default), or with them",
    )
    one.add_argument(
        "--order",
        choices=(*ORDERS, "both"),
        help="stream: calls that follow each other (default); single: each alone (default of "
        "distributed)",
    )
    one.add_argument(
        "--set", action="append", metavar="NAME=VALUE", help="a parameter: stride=4, distance=1:16"
    )
    one.add_argument("--min-samples", type=int, metavar="N", help="per variant (default: 11)")
    one.add_argument(
        "--max-noise", type=float, metavar="SHARE", help="that ends sampling (0.02: 2 %%)"
    )
    one.add_argument(
        "--timeout", type=float, metavar="S", help="in total (with --all, 600 by default)"
    )
    one.add_argument("-o", "--output", metavar="FILE", help="the same as --json FILE")
