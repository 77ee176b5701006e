"""Run the planted bugs and their twins on a GPU, under compute-sanitizer.

    python tools/sanitize_planted.py --record planted.json [--only REGEX] [--jobs 8]
    python tools/sanitize_planted.py --dry-run

Needs nvcc, compute-sanitizer, a driver and NumPy. Every file is compiled to a cubin. Cases run in
processes of several, each under one tool that its class of bug asks for; where one fails, hangs or
ends its context, the cases of that process are run again one by one. The record says for each case
what each tool reported first.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "planted"), str(ROOT / "tests"), str(ROOT / "csrc")]

import numpy as np  # noqa: E402
from build_toolchain import nvcc_candidates  # noqa: E402
from case import Array, Case, Rows  # noqa: E402
from cases import PLANTED  # noqa: E402

CASES = {case.name: case for case in PLANTED}
TOGETHER = 8  # cases per process
SECONDS = 10.0  # for a process with one case
DONE = "planted: "  # begins the line in which a process reports a case

# The tools that look for a file's class of bug. Where none does, racecheck shows just that.
TOOLS = {
    "bounds": ("memcheck",),
    "freed": ("memcheck",),
    "misaligned": ("memcheck",),
    "faults": ("memcheck",),
    "limits": ("memcheck",),
    "unwritten": ("initcheck",),
    "barriers": ("synccheck",),
    "barrier_objects": ("racecheck", "synccheck"),
    "warps": ("synccheck",),
    "progress": ("synccheck",),
    "async": ("racecheck",),
    "ordering": ("racecheck",),
    "atomic": ("racecheck",),
    "race": ("racecheck",),
}


class Job(NamedTuple):
    """The work of one process."""

    tool: str
    names: tuple[str, ...]


# ---- a process: the driver's interface, since CuPy takes seconds to import -------------------


class Driver:
    """The functions of libcuda that a launch needs; an error is a RuntimeError."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver."""
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            said = ctypes.c_char_p()
            self.library.cuGetErrorName(status, ctypes.byref(said))
            raise RuntimeError(f"{name}: {(said.value or b'').decode() or status}")

    def function(self, cubin: Path, kernel: str, shared: int) -> ctypes.c_void_p:
        """Load a kernel, and allow it its dynamic shared memory."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoad", ctypes.byref(module), str(cubin).encode())
        symbol = mangled(cubin, kernel)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, symbol)
        if shared > 48 * 1024:  # 8: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.call("cuFuncSetAttribute", function, 8, shared)
        return function

    def copy(self, value: np.ndarray, written: bool = True) -> ctypes.c_void_p:
        """Return memory on the device, with an array's values if `written`."""
        pointer, size = ctypes.c_void_p(), ctypes.c_size_t(value.nbytes)
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), size)
        if written:
            self.call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(value.ctypes.data), size)
        return pointer

    def place(self, case: Case) -> list[Any]:
        """Return the arguments as C values, with arrays copied to the device."""
        placed: dict[int, ctypes.c_void_p] = {}
        values: list[Any] = []
        for given, value in zip(case.arguments, case.values(), strict=True):
            if isinstance(value, np.ndarray):
                if id(value) not in placed:
                    written = not (isinstance(given, Array) and given.fill == "unwritten")
                    placed[id(value)] = self.copy(value, written)
                values.append(placed[id(value)])
            elif isinstance(value, Rows):
                rows = [self.copy(np.ones(value.size, "f4")) for _ in range(value.count)]
                if value.freed is not None:
                    self.call("cuMemFree_v2", rows[value.freed])
                values.append(self.copy(np.array([row.value for row in rows], "u8")))
            elif value is None:
                values.append(ctypes.c_void_p(0))
            else:
                values.append((ctypes.c_float if isinstance(value, float) else ctypes.c_int)(value))
        return values

    def launch(self, case: Case, cubin: Path) -> None:
        """Run a case to its end."""
        function = self.function(cubin, case.kernel, case.shared)
        values = self.place(case)
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        shape = [*three(case.grid), *three(case.block), case.shared]
        if case.cooperative:
            self.call("cuLaunchCooperativeKernel", function, *shape, None, pointers)
        else:
            self.call("cuLaunchKernel", function, *shape, None, pointers, None)
        self.call("cuCtxSynchronize")


def three(size: int | tuple[int, ...]) -> list[int]:
    """Return x, y and z of a grid or a block."""
    given = [size] if isinstance(size, int) else list(size)
    return given + [1] * (3 - len(given))


def mangled(cubin: Path, kernel: str) -> bytes:
    """Return a kernel's symbol in a cubin."""
    pattern = rb"\0(_Z%d%s\w+)\0" % (len(kernel), kernel.encode())
    symbols = set(re.findall(pattern, cubin.read_bytes()))
    if len(symbols) != 1:
        raise RuntimeError(f"{cubin} has {len(symbols)} kernels named {kernel}")
    return symbols.pop()


def run(folder: Path, names: Iterable[str]) -> None:
    """Run cases in this process, and report each on a line; an error of one does not stop it."""
    driver = Driver()
    for name in names:
        case, error = CASES[name], None
        try:
            driver.launch(case, folder / f"{case.file}.cubin")
        except RuntimeError as raised:
            error = str(raised)
        print(f"{DONE}{json.dumps({'case': name, 'error': error})}", flush=True)


# ---- the processes ------------------------------------------------------------------------


def compile_files(folder: Path, files: Iterable[str], arch: str) -> dict[str, str]:
    """Compile files to cubins; return what nvcc said of those that it refuses."""
    nvcc = next((path for _, path in nvcc_candidates() if path and path.is_file()), None)
    if nvcc is None:
        raise SystemExit("sanitize_planted: nvcc not found; set CUDA_HOME to its toolkit")

    def compiled(file: str) -> tuple[str, str]:
        source = ROOT / "tests" / "planted" / f"{file}.cu"
        options = [f"-arch={arch}", "-std=c++17", "-lineinfo", "-cubin"]
        command = [nvcc, *options, "-o", folder / f"{file}.cubin", source]
        done = subprocess.run(command, capture_output=True, text=True)
        return file, "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return {file: said for file, said in pool.map(compiled, files) if said}


def tools_for(case: Case) -> tuple[str, ...]:
    """Return the tools that look for a case's class of bug."""
    return next(tools for begin, tools in TOOLS.items() if case.file.startswith(begin))


def jobs(cases: Iterable[Case]) -> list[Job]:
    """Return the processes: bugs and twins of a file apart, since they may share a kernel.

    A bug that memcheck finds ends its context, so it has a process of its own.
    """
    groups = collections.defaultdict(list)
    for case in cases:
        for tool in tools_for(case):
            groups[case.file, bool(case.kinds), tool].append(case.name)
    found = []
    for (_, wrong, tool), names in groups.items():
        size = 1 if wrong and tool == "memcheck" else TOGETHER
        found += [Job(tool, tuple(names[i : i + size])) for i in range(0, len(names), size)]
    return found


def command_of(sanitizer: str, folder: Path, job: Job) -> list[str]:
    """Return the command of a process."""
    options = ["--tool", job.tool, "--show-backtrace", "no", "--print-limit", "50"]
    script = [sys.executable, os.path.abspath(__file__), "--run", ",".join(job.names)]
    return [sanitizer, *options, *script, "--cubins", str(folder)]


def reports(log: str) -> list[str]:
    """Return the sanitizer's reports, each as its lines; notes on the run are left out."""
    lines = [line[10:] for line in log.splitlines() if line.startswith("========= ")]
    blocks: list[str] = []
    for line in lines:
        if line.startswith(" ") and blocks:
            blocks[-1] += "\n" + line
        elif line.strip():
            blocks.append(line)
    notes = (
        r"COMPUTE-SANITIZER|(ERROR|LEAK|RACECHECK) SUMMARY|Target application|Program hit.*clean"
    )
    return [block for block in blocks if not re.match(notes, block)]


def first_report(case: Case, log: str, alone: bool) -> str | None:
    """Return the first two lines of the first report about a case."""
    own = [r for r in reports(log) if alone or re.search(rf"\b{case.kernel}\(", r)]
    return " ".join(line.strip() for line in own[0].splitlines()[:2]) if own else None


def sanitized(sanitizer: str, folder: Path, job: Job) -> dict[str, dict[str, Any]]:
    """Run a process; return by case what was reported, its error, and whether it hung."""
    alone = len(job.names) == 1
    seconds = SECONDS + 2.0 * (len(job.names) - 1)
    process = subprocess.Popen(
        command_of(sanitizer, folder, job),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        log, hung = process.communicate(timeout=seconds)[0], False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        log, hung = process.communicate()[0], True
    errors = {}
    for line in log.splitlines():
        if line.startswith(DONE):
            said = json.loads(line[len(DONE) :])
            errors[said["case"]] = said["error"]
    ended = not hung and process.returncode == 0 and len(errors) == len(job.names)
    if not alone and (not ended or any(errors.values())):
        again = [sanitized(sanitizer, folder, Job(job.tool, (name,))) for name in job.names]
        return {name: told for one in again for name, told in one.items()}
    return {
        name: {
            "report": first_report(CASES[name], log, alone),
            "error": errors.get(name, "" if hung else "the process ended early: " + log[-300:]),
            "hung": hung,
        }
        for name in job.names
    }


# ---- the record ---------------------------------------------------------------------------


def work_through(args: argparse.Namespace, chosen: list[Case], folder: Path) -> dict[str, Any]:
    """Run all cases; return what each tool said of each."""
    from sanitize import find_sanitizer, version

    sanitizer = find_sanitizer()
    refused = compile_files(folder, dict.fromkeys(case.file for case in chosen), args.arch)
    told: dict[str, Any] = {
        case.name: {"bug": bool(case.kinds), "tools": {}, "compiler": refused.get(case.file)}
        for case in chosen
    }
    planned = jobs(case for case in chosen if case.file not in refused)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        running = {pool.submit(sanitized, sanitizer, folder, job): job for job in planned}
        for done in concurrent.futures.as_completed(running):
            for name, outcome in done.result().items():
                told[name]["tools"][running[done].tool] = outcome
    return {"schema": 1, "sanitizer": version(sanitizer), "arch": args.arch, "cases": told}


def seen(told: dict[str, Any]) -> bool:
    """Whether a compiler, a tool or the driver reported a case, or it hung."""
    outcomes = told["tools"].values()
    return bool(told["compiler"]) or any(o["report"] or o["error"] or o["hung"] for o in outcomes)


def table(record: dict[str, Any]) -> str:
    """Return a line per file: bugs reported, twins reported."""
    files: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0, 0, 0])
    for name, told in record["cases"].items():
        row = files[CASES[name].file]
        row[0 if told["bug"] else 2] += seen(told)
        row[1 if told["bug"] else 3] += 1
    rows = [f"{file:18}{a:4} of {b:3}{c:6} of {d:3}" for file, (a, b, c, d) in files.items()]
    return "\n".join([f"{'file':18}{'bugs reported':>11}{'twins reported':>16}", *rows])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the findings as JSON")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose name matches")
    parser.add_argument("--jobs", type=int, default=8, help="processes at once")
    parser.add_argument("--arch", default="sm_90", help="what nvcc compiles for")
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--cubins", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        run(args.cubins, args.run.split(","))
        return 0
    chosen = [case for name, case in CASES.items() if re.search(args.only, name)]
    if args.dry_run:
        for job in jobs(chosen):
            print(*command_of("compute-sanitizer", Path("CUBINS"), job))
        return 0
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        record = work_through(args, chosen, Path(folder))
    print(table(record))
    if args.record:
        args.record.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
