"""Runs cases in a process of its own, so that a crash or a hang is the result of one case.

    python tests/planted/runner.py [--jobs 2] [--only REGEX]

prints by file how many bugs are found and how many twins are reported, and what is wrong.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import functools
import json
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))

from case import FOLDER, KINDS, Array, Case, Rows, marked
from cases import PLANTED
from loading import load
from missed import MISSED

import gpumem as gm
from gpumem import CompileError

CASES = {case.name: case for case in PLANTED}
# What missed.py says of an outcome that is wrong, by how that begins.
WHY = (
    ("no finding", "not found"),
    ("reported", "correct, but reported"),
    ("not as", "another finding"),
    ("not at", "found at another line"),
    ("hung", "hangs"),
    ("crashed", "crashes"),
    ("CompileError", "does not compile"),
)
ANYWHERE = {
    "stack",
    "limit",
    "cluster",
}  # kinds that belong to no line: a finding need not name one
LONGEST = 120.0  # seconds until a case counts as hung; even a slow machine needs far less


class Outcome(NamedTuple):
    """What came of a case: a finding's text, or how the run failed."""

    finding: str | None = None
    failure: str | None = None

    def wrong(self, case: Case) -> str | None:
        """Return what is wrong with it, or None if it is right."""
        if self.failure is not None or self.finding is None:
            return self.failure or ("no finding" if case.kinds else None)
        if not case.kinds:
            return f"reported, though correct: {self.finding}"
        if not any(re.search(KINDS[kind], self.finding, re.I) for kind in case.kinds):
            return f"not as {' or '.join(case.kinds)}: {self.finding}"
        lines = marked(case.file, case.kernel)
        named = [int(n) for n in re.findall(rf"\b{case.file}\.cu:(\d+)", self.finding)]
        anywhere = not named and set(case.kinds) <= ANYWHERE
        if lines and not anywhere and not lines & set(named[:1]):
            return f"not at line {sorted(lines)}: {self.finding}"
        return None


# ---- the process that runs cases -----------------------------------------------------------


def place(case: Case) -> tuple[list[Any], list[Any]]:
    """Return the arguments of a case, with arrays on the simulated device, and what to keep."""
    placed: dict[int, Any] = {}
    arguments, kept = [], []
    for given, value in zip(case.arguments, case.values(), strict=True):
        if isinstance(value, Rows):
            ones = np.ones(value.size, "f4")
            rows = [gm.to_device(ones, backend="sim") for _ in range(value.count)]
            value = gm.to_device(np.array([row.pointer for row in rows], "u8"), backend="sim")
            if given.freed is not None:
                del rows[given.freed]
            kept.append(rows)
        elif isinstance(value, np.ndarray):
            kept.append(value)  # so that no other has its id
            if id(value) not in placed:
                unwritten = isinstance(given, Array) and given.fill == "unwritten"
                what = (value.shape, value.dtype) if unwritten else (value,)
                placed[id(value)] = (gm.DeviceArray if unwritten else gm.to_device)(
                    *what, backend="sim"
                )
            value = placed[id(value)]
        arguments.append(value)
    return arguments, kept


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Run the cases that are asked for, one per line."""
    module = functools.cache(lambda file: load(FOLDER / f"{file}.cu"))
    refused: dict[str, Outcome] = {}  # by file, since compiling takes seconds
    for line in requests:
        case = CASES[line.strip()]
        if case.file in refused:
            print(json.dumps(refused[case.file]), file=answers, flush=True)
            continue
        try:
            arguments, _kept = place(case)
            finding = module(case.file).check(
                *(case.kernel, case.grid, case.block, arguments),
                shared_bytes=case.shared,
                cooperative=case.cooperative,
            )
            outcome = Outcome(None if finding is None else str(finding))
        except CompileError as error:
            outcome = refused[case.file] = Outcome(failure=f"CompileError: {error}")
        except Exception as error:
            outcome = Outcome(failure=f"{type(error).__name__}: {error}")
        print(json.dumps(outcome), file=answers, flush=True)


class Runner:
    """A process that runs cases, started again after each that it did not survive."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def run(self, case: Case) -> Outcome:
        """Run a case."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, __file__, "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        process = self.process
        process.stdin.write(case.name + "\n")
        process.stdin.flush()
        ready = select.select([process.stdout], [], [], LONGEST)[0]
        answer = process.stdout.readline() if ready else ""
        if answer:
            return Outcome(*json.loads(answer))
        process.kill()
        said = process.communicate()[1].strip()
        self.process = None
        return Outcome(failure=f"crashed: {said[-300:]}" if ready else "hung")

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


# ---- the table -----------------------------------------------------------------------------


def table(outcomes: dict[str, Outcome]) -> str:
    """Return by file how many bugs were found at a marked line, and how many twins reported."""
    rows: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0, 0, 0])
    for name, outcome in outcomes.items():
        case = CASES[name]
        for row in (rows[case.file], rows["all"]):
            row[0 if case.kinds else 2] += (outcome.wrong(case) is None) == bool(case.kinds)
            row[1 if case.kinds else 3] += 1
    rows["all"] = rows.pop("all")
    lines = [f"{file:18}{a:6} of {b:3}{c:9} of {d:3}" for file, (a, b, c, d) in rows.items()]
    return "\n".join([f"{'file':18}{'bugs found':>13}{'twins wrong':>16}", *lines])


def run_file(cases: list[Case]) -> dict[str, Outcome]:
    """Run the cases of a file in one process."""
    runner, outcomes = Runner(), {}
    for case in cases:
        outcomes[case.name] = runner.run(case)
    runner.close()
    return outcomes


def record(outcomes: dict[str, Outcome]) -> None:
    """Write which of these cases are wrong into missed.py; others keep what it says of them."""
    missed = {name: why for name, why in MISSED.items() if name not in outcomes}
    for name, outcome in outcomes.items():
        if wrong := outcome.wrong(CASES[name]):
            missed[name] = next((why for begin, why in WHY if wrong.startswith(begin)), "fails")
    file = FOLDER / "missed.py"
    head = file.read_text().split("MISSED")[0]
    lines = [f'    "{name}": "{missed[name]}",\n' for name in CASES if name in missed]
    file.write_text(f"{head}MISSED: dict[str, str] = {{\n{''.join(lines)}}}\n")


def main() -> int:
    """Run all cases, or those that match, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--texts", action="store_true", help="print all findings")
    parser.add_argument("--record", action="store_true", help="write missed.py")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(sys.stdin, sys.stdout)
        return 0
    files = collections.defaultdict(list)
    for name, case in CASES.items():
        if re.search(args.only, name):
            files[case.file].append(case)
    outcomes: dict[str, Outcome] = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for some in pool.map(run_file, files.values()):
            outcomes |= some
    for name, outcome in outcomes.items():
        wrong = outcome.wrong(CASES[name])
        if wrong or args.texts:
            print(f"{name}: {' '.join((wrong or outcome.finding or 'clean').split())[:300]}")
    print(table(outcomes))
    if args.record:
        record(outcomes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
