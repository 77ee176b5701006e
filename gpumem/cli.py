"""The command line: ``python -m gpumem``, also installed as ``gpumem``."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from . import _core, devices, hostclock, oracle
from .bench import MOST_SAMPLES, bench
from .bench_result import NO_TIMES, BenchResult
from .comparison import compare
from .explain import explain
from .plots import KINDS
from .recording import Interrupted
from .sass import sass
from .sizes import format_bytes, format_table, parse_shape, parse_sizes
from .suite import bench_all
from .traffic import Traffic, summary, traffic
from .variants import families, find, variants
from .verification import verify_variant

Progress = Callable[[int, int, str], None]


class _UsageError(Exception):
    """What the user typed is wrong; the message is the line to print."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message} (see {self.prog} --help)")


def _print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, allow_nan=False))


@contextmanager
def _progress(title: str) -> Iterator[Progress]:
    """Show progress on stderr: a bar on a terminal that rich can draw on, else lines."""
    if sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.progress import Progress as Bar
        except ImportError:
            pass
        else:
            console = Console(stderr=True)
            with Bar(console=console, transient=True, redirect_stdout=False) as bar:
                task = bar.add_task(title, total=None)
                yield lambda done, total, text: bar.update(
                    task, completed=done, total=total, description=text
                )
            return
    last = time.monotonic()

    def line(done: int, total: int, text: str) -> None:
        nonlocal last
        if done < total and time.monotonic() - last > 5:
            last = time.monotonic()
            print(f"{title}: {done} of {total}, {text}", file=sys.stderr)

    yield line


def _families(family: str | None) -> tuple[str, ...]:
    if family is None:
        return families()
    variants(family)
    return (family,)


# ---- info ---------------------------------------------------------------------------------


def _device_lines(device: dict[str, Any]) -> Iterator[str]:
    figures = [f"  {device['name']}: {device['multiprocessors']} multiprocessors"]
    if device["capability"]:
        figures.append(f"compute capability {device['capability']}")
    if device["l2_bytes"]:
        figures.append(f"L2 {format_bytes(device['l2_bytes'])}")
    yield ", ".join(figures)
    yield (
        f"    {format_bytes(device['shared_per_block'])} of shared memory per block, "
        f"{format_bytes(device['memory_bytes'])} of memory, "
        f"{format_bytes(device['free_bytes'])} free"
    )
    if device["bandwidth_gbps"]:
        yield (
            f"    {device['bandwidth_gbps']:.0f} GB/s in theory "
            f"({device['memory_clock_khz'] / 1000:.0f} MHz x {device['memory_bus_bits']} bit x 2)"
        )
    if device["fp32_tflops"]:
        yield (
            f"    {device['fp32_tflops']:.1f} TFLOP/s FP32 in theory (2 x {device['fp32_lanes']} "
            f"lanes x {device['multiprocessors']} x {device['clock_khz'] / 1e6:.2f} GHz)"
        )


def _info(options: argparse.Namespace) -> int:
    found = devices.info()
    if options.backend:
        found["backend"] = _core.backend(options.backend)
        found["reason"] = "--backend"
        found["devices"] = found["backends"][found["backend"]]["devices"]
    if options.json:
        _print_json(found)
        return 0
    build = found["build"]
    why = f" ({found['reason']})" if found["reason"] else ""
    print(f"gpumem {found['version']}")
    print(f"backend: {found['backend'] or 'none'}{why}")
    cuda = f"nvcc {build['nvcc']} for {build['archs']}" if build["cuda"] else "no CUDA"
    print(f"built with {build['compiler']}, {cuda}, numpy {np.__version__}")
    for name, backend in found["backends"].items():
        print()
        versions = [f"{what} {backend[what]}" for what in ("driver", "runtime") if backend[what]]
        state = "available" if backend["available"] else f"not available: {backend['reason']}"
        print(f"{name}: {', '.join([state, *versions])}")
        for device in backend["devices"]:
            print("\n".join(_device_lines(device)))
    return 0


# ---- list ---------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> int:
    backend = _core.backend(options.backend)
    rows = [v for family in _families(options.family) for v in variants(family)]
    if options.json:
        _print_json(
            [
                {
                    "family": v.family,
                    "name": v.name,
                    "doc": v.doc,
                    "source": v.source,
                    "follows": v.follows,
                    "requires": v.requires,
                    "backend": backend,
                    "available": v.reason_on(backend) is None,
                    "reason": v.reason_on(backend),
                }
                for v in rows
            ]
        )
        return 0
    notes = []
    for number, (_, ladder) in enumerate(itertools.groupby(rows, lambda v: v.family)):
        members = list(ladder)
        reasons = [v.reason_on(backend) for v in members]
        notes += [f"{v}: {why}" for v, why in zip(members, reasons, strict=True) if why]
        cells = [
            (str(v), "no" if why else "yes", v.follows or "", "")
            for v, why in zip(members, reasons, strict=True)
        ]
        head, *lines = format_table(("variant", backend, "follows", "idea"), cells, 4).splitlines()
        column = head.index("idea")
        print(("\n" if number else "") + head)
        for v, line in zip(members, lines, strict=True):
            # Names may be so long that the idea has its own line.
            room = 100 - column if column <= 60 else 92
            idea = textwrap.wrap(v.doc, room, break_on_hyphens=False)
            if column <= 60:
                print(line.ljust(column) + f"\n{'':{column}}".join(idea))
            else:
                print(line, *idea, sep="\n        ")
    if notes:
        print("\n" + "\n".join(notes))
    return 0


# ---- verify -------------------------------------------------------------------------------


def _accuracy(options: argparse.Namespace) -> int:
    from .accuracy import accuracy, table

    if options.family != "sgemm":
        raise _UsageError("verify: --accuracy is told of sgemm, whose sums are rounded")
    with _progress("accuracy") as progress:
        records = accuracy(
            None if options.variant is None else [options.variant],
            None if options.depths is None else parse_sizes(options.depths),
            options.side,
            backend=options.backend,
            progress=progress,
        )
    if options.json:
        _print_json(records)
    else:
        print(table(records))
    return 0


def _verify(options: argparse.Namespace) -> int:
    if options.accuracy:
        return _accuracy(options)
    if (options.depths, options.side) != (None, None):
        raise _UsageError("verify: --depths and --side say what --accuracy measures")
    backend = _core.backend(options.backend)
    chosen = [v for family in _families(options.family) for v in variants(family)]
    if options.variant is not None:
        if options.family is None:
            raise _UsageError("verify: --variant needs a family")
        chosen = [find(options.family, options.variant)]
    reports = []
    if options.json:
        with _progress("verify") as progress:
            for i, variant in enumerate(chosen):
                progress(i, len(chosen), str(variant))
                reports.append(verify_variant(variant, backend))
        _print_json(reports)
    else:
        width = max(len(str(v)) for v in chosen)
        for variant in chosen:
            reports.append(report := verify_variant(variant, backend))
            line = f"{variant!s:{width}}  {report['status']}"
            if report["status"] == "passed":
                line += f"  {report['cases']} cases  {backend}"
            print(line if not report["reason"] else f"{line}: {report['reason']}", flush=True)
    return int(any(report["status"] == "FAILED" for report in reports))


# ---- bench --------------------------------------------------------------------------------


def _value(text: str) -> Any:
    """One value of a keyword: true, 4, 0.5, 8x32, or else a word such as auto."""
    if text in ("true", "false"):
        return text == "true"
    for convert in (int, float, parse_shape):
        try:
            return convert(text)
        except ValueError:
            continue
    if text.isidentifier():
        return text
    raise ValueError(text)


def _parameters(words: Sequence[str] | None) -> dict[str, Any]:
    """Keywords of a family's function from NAME=VALUE; a sweep as 1,2,4 or 1:16."""
    found: dict[str, Any] = {}
    for word in words or ():
        name, equals, text = word.partition("=")
        if not equals or not name.isidentifier():
            raise _UsageError(f"--set {word}: expected NAME=VALUE")
        try:
            if ":" in text:
                first, last = map(int, text.split(":"))
                found[name] = range(first, last + 1)
            elif "," in text:
                found[name] = [_value(one) for one in text.split(",")]
            else:
                found[name] = _value(text)
        except ValueError:
            raise _UsageError(
                f"--set {word}: {text!r} is neither a number, nor numbers as in 8x32, nor a word, "
                "nor a sweep as in 1,2,4 or 1:16"
            ) from None
    return found


def _shapes(text: str | None) -> list[tuple[int, ...]] | None:
    return None if text is None else [parse_shape(one) for one in text.split(",")]


def _measured(options: argparse.Namespace) -> BenchResult:
    """One family, or all of them."""
    common: dict[str, Any] = {
        "cache": options.cache,
        "with_peers": None if options.peers is None else options.peers.split(","),
        "backend": options.backend,
    }
    if options.min_samples is not None:
        common["samples"] = (options.min_samples, max(options.min_samples, MOST_SAMPLES))
    if options.max_noise is not None:
        common["spread"] = options.max_noise
    if options.timeout is not None:
        common["timeout"] = options.timeout
    with _progress("bench") as progress:
        if options.all:
            return bench_all(progress=progress, **common)
        return bench(
            options.family,
            None if options.variants is None else options.variants.split(","),
            None if options.sizes is None else parse_sizes(options.sizes),
            options.dtype,
            shapes=_shapes(options.shapes),
            progress=progress,
            **common,
            **_parameters(options.set),
        )


def _outputs(options: argparse.Namespace) -> list[str]:
    """The files to write. A family's name after --json is that of the family, and no file."""
    if options.json in (*families(), *hostclock.FAMILIES):
        if options.family is not None:
            raise _UsageError(
                f"bench: --json {options.json} is a family, and {options.family} as well; a file "
                f"of that name is ./{options.json}"
            )
        options.family, options.json = options.json, True
    files = [one for one in (options.output, options.json) if isinstance(one, str)]
    for file in files:
        folder = os.path.dirname(os.path.abspath(file))
        if not os.path.isdir(folder):  # not to be found out when all is measured
            raise _UsageError(f"bench: there is no folder {folder} for {file}")
    return files


def _bench(options: argparse.Namespace) -> int:
    files = _outputs(options)
    if options.all:
        told = {"FAMILY": options.family, "--variants": options.variants, "--dtype": options.dtype}
        told |= {"--shapes": options.shapes, "--set": options.set}
        for name, value in told.items():
            if value is not None:
                raise _UsageError(f"bench: --all chooses for every family; {name} says for which")
    elif options.family is None:
        raise _UsageError("bench: FAMILY or --all says what to measure")
    status = 0
    try:
        result = _measured(options)
    except Interrupted as stop:
        result, status = stop.result, 130
        if not result.records:
            return status
    for file in files:
        result.to_json(file)
    if options.json is True:
        print(result.to_json(), end="")
    elif result.provenance["backend"] == "sim" and options.family in families() and not status:
        names = None if options.variants is None else options.variants.split(",")
        parameters = _parameters(options.set)
        dtype = oracle.dtype_for(options.family, options.dtype).name
        _print_summary(options.family, None, dtype, names, parameters)
        print(f"\nNo times: {NO_TIMES}.")
    else:
        print(result)
    return status


# ---- traffic ------------------------------------------------------------------------------


def _reports(
    family: str,
    shape: tuple[int, ...] | None,
    dtype: str,
    names: Sequence[str] | None,
    parameters: dict[str, Any],
) -> tuple[list[Traffic], dict[str, str]]:
    """A report for each variant that the simulator can run, the reason for each other."""
    reports: list[Traffic] = []
    refused: dict[str, str] = {}
    if names is None:
        names = [variant.name for variant in variants(family)]
    for name in dict.fromkeys(names):
        own = shape or oracle.traffic_shape(family, dtype, name)
        try:
            reports.append(traffic(family, variant=name, shape=own, dtype=dtype, **parameters))
        except _core.UnavailableError as error:
            refused[name] = str(error)
        except ValueError as error:
            if name == "auto" or oracle.takes(find(family, name), own, dtype):
                raise
            refused[name] = str(error)
    return reports, refused


def _print_summary(
    family: str,
    shape: tuple[int, ...] | None,
    dtype: str,
    names: Sequence[str] | None,
    parameters: dict[str, Any],
) -> None:
    reports, refused = _reports(family, shape, dtype, names, parameters)
    shape = shape or oracle.traffic_shape(family, dtype)
    told = "".join(f", {name} {value}" for name, value in parameters.items())
    print(f"{family}, shape {'x'.join(map(str, shape))}, {np.dtype(dtype)}{told}: global memory\n")
    print(summary(reports))
    for name, reason in refused.items():
        print(f"\n{family}-{name}: {reason}")


def _no_window(what: str) -> None:
    """Pictures go to files; the end of a name says which kind: png, svg, pdf."""
    try:
        import matplotlib
    except ImportError:
        raise _UsageError(f"{what} needs matplotlib: pip install gpumem[plot]") from None
    matplotlib.use("Agg")


def _draw(report: Traffic, file: str, site: str | None, request: int) -> None:
    _no_window("--draw")
    chosen = int(site) if site is not None and site.isdecimal() else site
    report.draw(chosen, request).figure.savefig(file, dpi=150)


def _traffic(options: argparse.Namespace) -> int:
    if options.backend not in (None, "auto", "sim"):
        raise _UsageError("traffic: it is the simulator that counts; --backend must be sim")
    family = options.family
    variants(family)
    dtype = oracle.dtype_for(family, options.dtype).name
    shape = None if options.shape is None else parse_shape(options.shape)
    parameters = _parameters(options.set)
    if options.draw is None and (options.site, options.request) != (None, None):
        raise _UsageError("traffic: --site and --request say what --draw FILE shows")
    if options.draw is not None and options.variant is None:
        raise _UsageError("traffic: --draw needs a --variant")
    if options.variant is not None:
        shape = shape or oracle.traffic_shape(family, dtype, options.variant)
        report = traffic(family, variant=options.variant, shape=shape, dtype=dtype, **parameters)
        if options.draw is not None:
            _draw(report, options.draw, options.site, options.request or 0)
        print(report.to_json() if options.json else report)
    elif options.json:
        reports, refused = _reports(family, shape, dtype, None, parameters)
        unavailable = [
            {"family": family, "variant": name, "reason": why} for name, why in refused.items()
        ]
        _print_json([report.to_dict() for report in reports] + unavailable)
    else:
        _print_summary(family, shape, dtype, None, parameters)
        print("\nCounted on the simulator, which knows no times, cache hits or occupancy.")
    return 0


# ---- explain ------------------------------------------------------------------------------


def _explain(options: argparse.Namespace) -> int:
    if options.live and options.results is not None:
        raise _UsageError("explain: either --live or --results says where the figures are from")
    found = explain(
        options.family,
        options.variant,
        None if options.shape is None else parse_shape(options.shape),
        options.results,
        live=options.live,
    )
    if options.json:
        _print_json(found.to_dict())
    else:
        print(found)
    return 0


# ---- sass ---------------------------------------------------------------------------------


def _sass(options: argparse.Namespace) -> int:
    found = sass(options.family, options.variant, options.arch)
    if options.json:
        _print_json(found.to_dict(whole=options.all))
    else:
        print(found.listing() if options.all else found)
    return 0


# ---- compare ------------------------------------------------------------------------------


def _compare(options: argparse.Namespace) -> int:
    found = compare(options.before, options.after, options.threshold)
    print(found.to_json() if options.json else found)
    return int(bool(found.regressions))


# ---- plot ---------------------------------------------------------------------------------


def _plot(options: argparse.Namespace) -> int:
    from . import results

    _no_window("plot")
    figure = results.load(options.result).plot(options.kind, **_parameters(options.set))
    figure.savefig(options.output, dpi=120)
    if options.json:
        _print_json({"file": options.output, "kind": options.kind, "result": options.result})
    else:
        print(f"{options.output}: {options.kind} of {options.result}")
    return 0


# ---- the program --------------------------------------------------------------------------


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    from . import __version__

    common = _Parser(add_help=False)
    common.add_argument("--backend", choices=("auto", "cuda", "sim"), help="where to run")

    parser = _Parser(prog="gpumem", description="A laboratory for GPU memory.")
    parser.add_argument("--version", action="version", version=f"gpumem {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> Any:
        one = commands.add_parser(name, parents=[common], help=text, description=text)
        one.set_defaults(run=run)
        if run is _bench:
            told = "print JSON, and nothing else; or write it to FILE"
            one.add_argument("--json", nargs="?", const=True, metavar="FILE", help=told)
        else:
            one.add_argument("--json", action="store_true", help="print JSON, and nothing else")
        return one

    command("info", _info, "What gpumem was built for, and which devices are here.")

    one = command("list", _list, "The variants, each with its idea.")
    one.add_argument("family", nargs="?", metavar="FAMILY")

    one = command("verify", _verify, "Run every available variant and compare with NumPy.")
    one.add_argument("family", nargs="?", metavar="FAMILY")
    one.add_argument("--variant", help="only this one")
    one.add_argument("--accuracy", action="store_true", help="how exact the sums of sgemm are")
    one.add_argument("--depths", metavar="K,K", help="of it: lengths, as 16,64 or 16:4096:x4")
    one.add_argument("--side", type=int, metavar="N", help="of it: rows and columns")

    one = command("bench", _bench, "Time the variants of a family by size, on the device.")
    one.add_argument("family", nargs="?", metavar="FAMILY", help="or transfer, roundtrip")
    one.add_argument("--all", action="store_true", help="every family, at telling sizes")
    one.add_argument("--variants", metavar="A,B", help="only these (default: all, and auto)")
    one.add_argument(
        "--sizes", metavar="S,S", help='bytes of the input: "4K:1G:x2" (default), "1M,16M"'
    )
    one.add_argument("--shapes", metavar="S,S", help="instead of sizes: 8192x8192,50000x5000")
    one.add_argument("--dtype", help="of the elements (default: float32, or what the family takes)")
    one.add_argument("--peers", metavar="P,P", help="other libraries beside: torch,cupy")
    one.add_argument("--cache", choices=("cold", "warm", "both"), default="cold", help="L2")
    one.add_argument(
        "--set", action="append", metavar="NAME=VALUE", help="a keyword: stride=4, distance=1:16"
    )
    one.add_argument("--min-samples", type=int, metavar="N", help="of each (default: 11)")
    one.add_argument("--max-noise", type=float, metavar="SHARE", help="to settle (0.02: 2 %%)")
    one.add_argument(
        "--timeout", type=float, metavar="S", help="seconds for all (with --all, 600 by default)"
    )
    one.add_argument("-o", "--output", metavar="FILE", help="the same as --json FILE")

    one = command("traffic", _traffic, "Count what the variants of a family ask of memory.")
    one.add_argument("family", metavar="FAMILY")
    one.add_argument("--variant", help="this one, by source line (default: a summary of all)")
    one.add_argument("--shape", help="1048576 or 1024x1024 (default: 4 MiB, 64 KiB for sgemm)")
    one.add_argument("--dtype", help="of the elements (default: float32, or what the family takes)")
    one.add_argument("--set", action="append", metavar="NAME=VALUE", help="a keyword: stride=4")
    one.add_argument("--draw", metavar="FILE", help="draw one request: FILE.png, .svg, .pdf")
    one.add_argument("--site", metavar="N|LINE", help='of it: index, or "tile.cu:39 load"')
    one.add_argument("--request", type=int, metavar="N", help="of the first ones of that line")

    one = command("explain", _explain, "Say in words what a variant does, and what it is worth.")
    one.add_argument("family", metavar="FAMILY")
    one.add_argument("variant", metavar="VARIANT")
    one.add_argument("--shape", help="1048576 or 1024x1024 (default: the largest measured)")
    one.add_argument("--results", metavar="RESULT", help="whose figures (default: those shipped)")
    one.add_argument("--live", action="store_true", help="measure now, on a GPU")

    one = command("sass", _sass, "Show the memory instructions of a variant's machine code.")
    one.add_argument("family", metavar="FAMILY")
    one.add_argument("variant", metavar="VARIANT")
    one.add_argument("--arch", help="one that gpumem was built for: 90a (default: all)")
    one.add_argument("--all", action="store_true", help="all instructions, not of memory alone")

    one = command("compare", _compare, "Hold two results against each other; 1 if slower.")
    one.add_argument("before", metavar="BEFORE", help="a result, or one that is shipped")
    one.add_argument("after", metavar="AFTER", help="a later one")
    one.add_argument(
        "--threshold", type=float, default=0.03, metavar="SHARE", help="that counts (0.03: 3 %%)"
    )

    one = command("plot", _plot, "Draw a result: one of those shipped, or a file of bench -o.")
    one.add_argument("result", metavar="RESULT", help="such as prefetch_sum-h200, or FILE.json")
    one.add_argument("--kind", required=True, help=", ".join(KINDS))
    one.add_argument("--set", action="append", metavar="NAME=VALUE", help="of it: work=2")
    one.add_argument("-o", "--output", metavar="FILE", required=True, help="FILE.png, .svg, .pdf")
    return parser


def _run(arguments: Sequence[str] | None) -> int:
    options = build_parser().parse_args(arguments)
    family = getattr(options, "family", None)
    if family is not None and not (options.run is _bench and family in hostclock.FAMILIES):
        variants(family)
    if getattr(options, "dtype", None) is not None:
        try:
            np.dtype(options.dtype)
        except (TypeError, ValueError, SyntaxError):
            raise _UsageError(f"--dtype: {options.dtype!r} is not a NumPy dtype") from None
    return options.run(options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default, those of the process.

    Returns
    -------
    int
        0; 1 if a variant is wrong, slower than before, or a device failed; 2 if the command was
        not understood or asks for what is not here; 130 after Ctrl-C.
    """
    try:
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except SystemExit as end:  # --help and --version
        return int(end.code or 0)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has what it wanted; keep the interpreter's last flush from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (_UsageError, _core.UnavailableError) as error:
        return _complain(error, 2)
    except (_core.CudaError, _core.SimulationError, MemoryError) as error:
        return _complain(error, 1)
    except (ValueError, TypeError, OSError) as error:
        return _complain(error, 2)


def _complain(error: Exception, status: int) -> int:
    line = " ".join(str(error).split()) or type(error).__name__
    print(f"gpumem: {line}", file=sys.stderr)
    return status
