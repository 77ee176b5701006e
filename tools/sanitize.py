"""Run the kernels under compute-sanitizer, on the awkward cases that ``verify`` knows.

    python tools/sanitize.py [FAMILY...] [--tools memcheck,racecheck] [--jobs 16] [--logs FOLDER]
    python tools/sanitize.py --record docs/sanitize-h200.json

Each process runs a few variants of a family under one tool; there are as many processes at once as
processors. All arrays are on the device, and outputs are filled first: initcheck does not see what
Hopper's copy engines write, and would report their output as uninitialised. A part of the output
that a kernel does not write is found nevertheless, since every result is compared with NumPy's.

``--record`` writes the findings as JSON, a record per tool and family. Records of other tools and
families in the file are kept if they are of the same commit, device and versions, so that the work
can be done in parts.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gpumem as gm
from gpumem.base.tables import format_table
from gpumem.check.verification import verify
from gpumem.families import oracle
from gpumem.machine.device import open_device
from gpumem.machine.provenance import provenance

SCHEMA = 1
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
TOGETHER = 5  # variants per process, since starting one takes some seconds
FOUND = 86  # the exit status for findings of the sanitizer
LATE = 124
WORDS = {0: "clean", FOUND: "REPORTED", LATE: "TOO LATE"}  # any other status: FAILED
REPORT = "sanitize: "  # begins the line in which a process describes itself


class Job(NamedTuple):
    """The work of one process."""

    tool: str
    family: str
    variants: tuple[str, ...]

    def work(self) -> int:
        """The most calls that it makes: long jobs should start first."""
        return len(self.variants) * sum(1 for _ in oracle.cases(self.family))


class Outcome(NamedTuple):
    """What one process returned: its exit status, its output, and the findings of the sanitizer."""

    job: Job
    status: int
    report: dict[str, Any]
    findings: int | None
    summary: str
    seconds: float
    log: str


# ---- what is run --------------------------------------------------------------------------


def run(family: str, names: Sequence[str], backend: str) -> int:
    """Make every call of these variants; return the exit status."""
    chosen = [v for v in gm.variants(family, instances=True) if v.name in names]
    reports = list(verify(chosen, backend, ["device"]))
    failed = [r for r in reports if r["status"] == "FAILED"]
    for report in failed:
        print(f"{report['family']}-{report['variant']} FAILED: {report['reason']}")
    report = {
        "variants": [r["variant"] for r in reports if r["status"] == "passed"],
        "unavailable": {r["variant"]: r["reason"] for r in reports if r["status"] == "unavailable"},
        "failed": {r["variant"]: r["reason"] for r in failed},
        "calls": sum(report["cases"] for report in reports),
    }
    print(f"{REPORT}{json.dumps(report)}", flush=True)
    return int(bool(failed))


def jobs(families: Iterable[str], tools: Sequence[str]) -> list[Job]:
    """Return the processes, the longest first."""
    found = []
    for family in families:
        names = [v.name for v in gm.variants(family, instances=True)]
        parts = -(-len(names) // TOGETHER)
        found += [Job(t, family, tuple(names[i::parts])) for t in tools for i in range(parts)]
    return sorted(found, key=lambda job: -job.work())


# ---- compute-sanitizer --------------------------------------------------------------------


def find_sanitizer() -> str:
    """Return the path of compute-sanitizer, or exit if there is none."""
    places = sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))
    for place in (os.environ.get("SANITIZER"), shutil.which("compute-sanitizer"), *places):
        if place and os.access(place, os.X_OK):
            return place
    raise SystemExit("sanitize: compute-sanitizer not found; set SANITIZER to its path")


def version(sanitizer: str) -> str:
    """Return its version."""
    said = subprocess.run([sanitizer, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"^Version\s+(\S+)", said, re.M)
    return found[1] if found else said.strip()


def findings(log: str) -> int | None:
    """Return the number of findings in the sanitizer's summaries; None without a summary."""
    counts = re.findall(r"SUMMARY: (\d+)", log)
    return sum(map(int, counts)) if counts else None


KINDS = (
    r"^=+ (?:Error: )?(.*)\n=+ +at (?:void )?(\w+)",
    r"^=+ (?:Error|Warning): (Race reported) between .*? access at (?:void )?(\w+)",
)


def kinds(log: str) -> dict[str, int]:
    """Return the findings by kernel, with how often each was printed."""
    found = [one for pattern in KINDS for one in re.findall(pattern, log, re.M)]
    return dict(collections.Counter(f"{what}, in {kernel}" for what, kernel in found))


def sanitized(sanitizer: str, job: Job, seconds: float) -> Outcome:
    """Run some variants under one of the tools."""
    command = [sanitizer, "--tool", job.tool, "--error-exitcode", str(FOUND)]
    command += [sys.executable, os.path.abspath(__file__), "--run", ",".join(job.variants)]
    environment = {"GPUMEM_BACKEND": "cuda", **os.environ, "LC_ALL": "C"}
    environment |= {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }  # of NumPy, since there are many processes
    begin = time.monotonic()
    try:
        done = subprocess.run(
            [*command, job.family],
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
    words = re.findall(rf"^{REPORT}(.*)$", log, re.M)
    summary = "; ".join(re.findall(r"SUMMARY: (.*)$", log, re.M))
    if status == 0 and not (words and summary):
        status = 1  # a clean run has both
    report = json.loads(words[-1]) if words else {}
    took = time.monotonic() - begin
    return Outcome(job, status, report, findings(log), summary, took, log)


# ---- what came of it ----------------------------------------------------------------------


def record(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the findings of one tool for one family as a record for JSON."""
    job = outcomes[0].job
    order = [v.name for v in gm.variants(job.family, instances=True)]
    ran = {name for one in outcomes for name in one.report.get("variants", ())}
    counts = [one.findings for one in outcomes]
    worst = max((one.status for one in outcomes), key=lambda status: (status != 0, status != FOUND))
    unavailable, failed = (
        {k: v for one in outcomes for k, v in one.report.get(key, {}).items()}
        for key in ("unavailable", "failed")
    )
    printed: collections.Counter[str] = collections.Counter()
    for one in outcomes:
        printed.update(kinds(one.log))
    return {
        "family": job.family,
        "tool": job.tool,
        "status": WORDS.get(worst, "FAILED"),
        "findings": None if None in counts else sum(count or 0 for count in counts),
        "kinds": dict(printed.most_common()),
        "calls": sum(one.report.get("calls", 0) for one in outcomes),
        "variants": sorted(ran, key=order.index),
        "unavailable": unavailable,
        "failed": failed,
        "seconds": round(sum(one.seconds for one in outcomes), 1),
    }


def records(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """Return a record for each tool and family, in the order of the table."""
    together: dict[tuple[str, str], list[Outcome]] = {}
    for one in outcomes:
        together.setdefault((one.job.family, one.job.tool), []).append(one)
    return in_order(record(each) for each in together.values())


def in_order(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    families = gm.families()
    return sorted(found, key=lambda r: (families.index(r["family"]), TOOLS.index(r["tool"])))


def table(found: Sequence[dict[str, Any]]) -> str:
    """Return a line per tool and family."""
    rows = [
        (
            f"{one['family']}, {one['tool']}",
            one["status"],
            str(len(one["variants"])),
            str(one["calls"]),
            f"{one['seconds']:.0f}",
            "-" if one["findings"] is None else str(one["findings"]),
        )
        for one in found
    ]
    head = ("run", "", "variants", "calls", "s", "findings")
    kinds = [
        f"{one['family']}, {one['tool']}: {count} times {kind}"
        for one in found
        for kind, count in one["kinds"].items()
    ]
    return "\n".join([format_table(head, rows, 2), *kinds])


def write(path: Path, sanitizer: str, found: Sequence[dict[str, Any]]) -> None:
    """Write the records, and keep those of the same commit, device and versions in the file."""
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "sanitizer": version(sanitizer),
        "provenance": provenance(open_device()),
    }
    replaced = {(one["family"], one["tool"]) for one in found}
    kept: list[dict[str, Any]] = []
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        if same_origin(before, head):
            kept = [r for r in before["records"] if (r["family"], r["tool"]) not in replaced]
        else:
            print(f"{path} is of another commit, device or version: it is replaced")
    lines = json.dumps(head, indent=1)[:-2] + ',\n "records": [\n  '
    lines += ",\n  ".join(json.dumps(one) for one in in_order([*kept, *found]))
    path.write_text(lines + "\n ]\n}\n", encoding="utf-8")


def same_origin(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether the records of both may be in one file."""

    def origin(head: dict[str, Any]) -> tuple[Any, ...]:
        where = head["provenance"]
        device = where["device"] or {}
        same = ("gpumem", "commit", "build", "backend", "driver", "cuda_runtime")
        return head["schema"], head["sanitizer"], device.get("name"), *(where[key] for key in same)

    return origin(before) == origin(now)


def keep_logs(folder: Path, outcomes: Iterable[Outcome]) -> None:
    """Write the output of the processes, a file per tool and family."""
    folder.mkdir(parents=True, exist_ok=True)
    logs: dict[str, str] = {}
    for one in outcomes:
        name = f"{one.job.family}-{one.job.tool}.log"
        logs[name] = logs.get(name, "") + f"# {', '.join(one.job.variants)}\n{one.log}\n"
    for name, text in logs.items():
        (folder / name).write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="default: all")
    parser.add_argument("--tools", default=",".join(TOOLS), metavar="T,T", help="default: all four")
    parser.add_argument("--jobs", type=int, help="processes at once (default: one per processor)")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one (default: 600)")
    parser.add_argument("--logs", type=Path, metavar="FOLDER", help="where to write the output")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the findings as JSON")
    parser.add_argument("--run", metavar="V,V", help=argparse.SUPPRESS)  # run by compute-sanitizer
    options = parser.parse_args()
    if options.run:
        return run(options.families[0], options.run.split(","), gm.backend())

    tools = options.tools.split(",")
    for known, asked in ((TOOLS, tools), (gm.families(), options.families)):
        for name in set(asked) - set(known):
            parser.error(f"{name!r} is none of {', '.join(known)}")
    sanitizer = find_sanitizer()
    todo = jobs(options.families or gm.families(), tools)
    at_once = options.jobs or len(os.sched_getaffinity(0))
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        outcomes = list(pool.map(lambda job: sanitized(sanitizer, job, options.timeout), todo))
    if options.logs:
        keep_logs(options.logs, outcomes)
    for one in outcomes:
        if one.status and not options.logs:
            print(f"---- {one.job}\n{one.log[-4000:]}", file=sys.stderr)
    found = records(outcomes)
    if options.record:
        write(options.record, sanitizer, found)
    print(table(found))
    return int(any(one["status"] != WORDS[0] for one in found))


if __name__ == "__main__":
    sys.exit(main())
