"""Runs the kernels under compute-sanitizer, on the awkward cases that ``verify`` knows.

    python tools/sanitize.py [FAMILY...] [--tools memcheck,racecheck] [--jobs 4] [--logs FOLDER]

Each pair of a tool and a family is a process of its own. Every call has its arrays on the device,
and its output is filled before: initcheck does not see what Hopper's copy engines write, and
would take what they wrote for memory that nobody did. An output that a kernel leaves out is found
all the same: every result is compared with NumPy's.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import gpumem as gm
from gpumem.sizes import format_table
from gpumem.verification import verify_variant

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOUND = 86  # the exit status that stands for what the sanitizer reports
LATE = 124


class Outcome(NamedTuple):
    """Of one process: its exit status, its own last line, and the sanitizer's."""

    tool: str
    family: str
    status: int
    calls: str
    summary: str
    seconds: float
    log: str


# ---- what is run --------------------------------------------------------------------------


def run(family: str, backend: str) -> int:
    """Make every call of a family; return the exit status."""
    reports = [verify_variant(v, backend, ["device"]) for v in gm.variants(family)]
    failed = [r for r in reports if r["status"] == "FAILED"]
    for report in failed:
        print(f"{report['family']}-{report['variant']} FAILED: {report['reason']}")
    print(f"{sum(report['cases'] for report in reports)} calls", flush=True)
    return int(bool(failed))


# ---- compute-sanitizer --------------------------------------------------------------------


def find_sanitizer() -> str:
    """Return the path of compute-sanitizer; SystemExit where there is none."""
    places = sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))
    for place in (os.environ.get("SANITIZER"), shutil.which("compute-sanitizer"), *places):
        if place and os.access(place, os.X_OK):
            return place
    raise SystemExit("sanitize: compute-sanitizer is not found; SANITIZER= may name it")


def sanitized(sanitizer: str, tool: str, family: str, seconds: float) -> Outcome:
    """Run a family under one of the tools."""
    command = [sanitizer, "--tool", tool, "--error-exitcode", str(FOUND)]
    command += [sys.executable, os.path.abspath(__file__), "--run", family]
    environment = {"GPUMEM_BACKEND": "cuda", **os.environ, "LC_ALL": "C"}
    begin = time.monotonic()
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
        )
        status, log = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        status, log = LATE, (late.stdout or b"").decode(errors="replace")
    calls = re.findall(r"^(\d+) calls$", log, re.M)
    summaries = re.findall(r"SUMMARY: (.*)$", log, re.M)
    summary = "; ".join(summaries) or f"no summary within {seconds:g} s"
    if status == 0 and not (calls and summaries):
        status = 1  # neither may be missing where all is well
    took = time.monotonic() - begin
    return Outcome(tool, family, status, calls[-1] if calls else "-", summary, took, log)


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a line per process."""
    words = {0: "clean", FOUND: "REPORTED", LATE: "TOO LATE"}
    rows = [
        (
            f"{one.family}, {one.tool}",
            words.get(one.status, "FAILED"),
            one.calls,
            f"{one.seconds:.0f}",
            "",
        )
        for one in outcomes
    ]
    lines = format_table(("run", "", "calls", "s", "the sanitizer's summary"), rows, 2).splitlines()
    told = [f"{a}  {one.summary}" for a, one in zip(lines[1:], outcomes, strict=True)]
    return "\n".join([lines[0], *told])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="default: all")
    parser.add_argument("--tools", default=",".join(TOOLS), metavar="T,T", help="default: all four")
    parser.add_argument("--jobs", type=int, default=4, help="processes at once (default: 4)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one (default: 600)")
    parser.add_argument("--logs", type=Path, metavar="FOLDER", help="where what was said goes")
    parser.add_argument("--run", metavar="FAMILY", help=argparse.SUPPRESS)  # what is looked at
    options = parser.parse_args()
    if options.run:
        return run(options.run, gm.backend())

    tools = options.tools.split(",")
    for known, asked in ((TOOLS, tools), (gm.families(), options.families)):
        for name in set(asked) - set(known):
            parser.error(f"{name!r} is none of {', '.join(known)}")
    sanitizer = find_sanitizer()
    pairs = [(tool, family) for family in options.families or gm.families() for tool in tools]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda pair: sanitized(sanitizer, *pair, options.timeout), pairs))
    for one in outcomes:
        if options.logs:
            options.logs.mkdir(parents=True, exist_ok=True)
            (options.logs / f"{one.family}-{one.tool}.log").write_text(one.log, encoding="utf-8")
        elif one.status:
            print(f"---- {one.family}, {one.tool}\n{one.log[-4000:]}", file=sys.stderr)
    print(table(outcomes))
    return int(any(one.status for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
