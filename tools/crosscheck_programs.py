"""Run the programs of tests/programs on a GPU, as programs and through gm.load.

    python tools/crosscheck_programs.py -o FILE.json [--only NAME ...]
    python tools/crosscheck_programs.py --nvcc-only-compile

Each program is compiled with nvcc and its own ``main`` is run, which checks its results and prints
OK. Then its kernels are loaded with ``gm.load``, on the simulator plain and observed and on the
GPU, with the same inputs, and their results are compared with NumPy's. FILE.json holds all of it,
FILE.md beside it a table. ``--nvcc-only-compile`` needs no GPU.

Each step is a process of its own, so that a fault on the GPU costs that step alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cuda_driver
from crosscheck_modules import markdown

from gpumem.base import files
from gpumem.base.tables import format_table

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "programs")]

WAYS = ("plain", "observed", "cuda")  # through gm.load
OK = "ok"
PATIENCE = 120.0  # seconds for a step


def run_step(program: Any, way: str) -> dict[str, Any]:
    """Load a program and run its kernels in this process."""
    import gpumem as gm

    started = time.perf_counter()
    module = gm.load(program.path, backend="cuda" if way == "cuda" else "sim")
    loaded = time.perf_counter()
    difference = program.differences(program.run(module, observed=way == "observed"))
    ended = time.perf_counter()
    return {
        "status": difference or OK,
        "load_s": round(loaded - started, 3),
        "run_s": round(ended - loaded, 3),
    }


def in_process(command: Sequence[str | Path]) -> tuple[int, str, str]:
    """Run a command; return its status and what it wrote."""
    try:
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return 124, "", f"no end after {PATIENCE:g} s"
    return done.returncode, done.stdout, done.stderr


def through_load(name: str, way: str) -> dict[str, Any]:
    status, out, error = in_process([sys.executable, __file__, "--step", name, way])
    if status == 0:
        answer: dict[str, Any] = json.loads(out.splitlines()[-1])
        return answer
    return {"status": last_line(error) or f"ended with {status}"}


def last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def run_main(program: Path) -> dict[str, Any]:
    """Run a compiled program; its last line and its status say whether it is right."""
    started = time.perf_counter()
    status, out, error = in_process([program])
    right = status == 0 and last_line(out) == "OK"
    why = last_line(error) or last_line(out) or "no output"
    return {
        "status": OK if right else f"status {status}: {why}",
        "run_s": round(time.perf_counter() - started, 3),
    }


def compile_program(source: Path, folder: Path, arch: str, *, link: bool) -> str:
    """Compile with nvcc; return its errors."""
    command = [cuda_driver.find_nvcc(), f"-arch={arch}", "-std=c++17", "-o", folder / source.stem]
    status, _, error = in_process([*command, *([] if link else ["-c"]), source])
    return (error or f"nvcc ended with {status}") if status else ""


def each_compiled(
    programs: Sequence[Any], jobs: int, make: Callable[[Any], str]
) -> dict[str, dict[str, Any]]:
    with ThreadPoolExecutor(jobs) as pool:
        errors = list(pool.map(make, programs))
    return {
        p.name: {"status": OK if not error else error}
        for p, error in zip(programs, errors, strict=True)
    }


COLUMNS = {
    "nvcc": "nvcc",
    "main": "main on the GPU",
    "plain": "simulator",
    "observed": "observed",
    "cuda": "gm.load on the GPU",
}


def rows(found: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    def cell(step: dict[str, Any] | None) -> str:
        if step is None:
            return "-"
        return "right" if step["status"] == OK else step["status"].splitlines()[0][:60]

    return [(name, *(cell(steps.get(key)) for key in COLUMNS)) for name, steps in found.items()]


def summary(found: dict[str, dict[str, Any]]) -> str:
    """Return a line of counts."""
    parts = []
    for key, title in COLUMNS.items():
        done = [steps[key] for steps in found.values() if key in steps]
        if done:
            parts.append(f"{title}: {sum(s['status'] == OK for s in done)} of {len(done)}")
    return "; ".join(parts)


def collect(programs: Sequence[Any], options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Take every step for every program."""
    link = not options.nvcc_only_compile
    compiled = each_compiled(
        programs,
        options.jobs,
        lambda p: compile_program(p.path, folder, options.arch, link=link),
    )
    found: dict[str, dict[str, Any]] = {name: {"nvcc": step} for name, step in compiled.items()}
    if options.nvcc_only_compile:
        return {"device": None, "programs": found}
    for program in programs:
        steps = found[program.name]
        if steps["nvcc"]["status"] == OK:
            steps["main"] = run_main(folder / program.name)
        steps |= {way: through_load(program.name, way) for way in WAYS}
    return {"device": cuda_driver.Device().describe(), "programs": found}


def main() -> int:
    from programs import PROGRAMS

    by_name = {program.name: program for program in PROGRAMS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="JSON; a table in Markdown beside it")
    parser.add_argument("--only", nargs="+", choices=by_name, default=list(by_name))
    parser.add_argument("--nvcc-only-compile", action="store_true", help="needs no GPU")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at once")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()

    if options.step:
        name, way = options.step
        print(json.dumps(run_step(by_name[name], way)))
        return 0
    if options.output is None and not options.nvcc_only_compile:
        parser.error("-o FILE is needed")
    with tempfile.TemporaryDirectory() as folder:
        result = collect([by_name[name] for name in options.only], options, Path(folder))
    head, table = ("program", *COLUMNS.values()), rows(result["programs"])
    if options.output is not None:
        files.write(options.output, json.dumps(result, indent=1) + "\n")
        text = f"{summary(result['programs'])}\n\n{markdown(head, table)}"
        files.write(options.output.with_suffix(".md"), text)
    print(format_table(head, table, 1, width=120))
    print(summary(result["programs"]))
    steps = [step for each in result["programs"].values() for step in each.values()]
    return 0 if all(step["status"] == OK for step in steps) else 1


if __name__ == "__main__":
    sys.exit(main())
