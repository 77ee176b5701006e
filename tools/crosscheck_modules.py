"""Compare users' kernels on the simulator with a GPU: what they compute, and their traffic.

    python tools/crosscheck_modules.py -o FILE.json [--sim-only] [--only features|foreign]

The kernels are those of tests/features and tests/foreign, with the same inputs on both sides.
nvcc compiles them for the GPU. Results are compared with NumPy's and with each other's. Traffic of
the foreign kernels is compared with Nsight Compute's. FILE.json holds everything, FILE.md beside it
the tables. ``--sim-only`` leaves the GPU out, and says what tests/features should mark as missing.

A kernel that ends or blocks the process costs its own line only: each side runs in a process of its
own, which is started again behind that kernel.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import crosscheck_ncu
import crosscheck_rules
import cuda_driver
import ncu
import numpy as np

from gpumem.base import files
from gpumem.base.tables import format_table

TESTS = Path(__file__).resolve().parents[1] / "tests"
MANIFESTS = ("features", "foreign")
PLAIN, TRACED, GPU = "plain", "traced", "gpu"
WAYS = (PLAIN, TRACED)
PATIENCE = 30.0  # seconds without a sign of life, after which a process is ended
OK = "ok"

sys.path[:0] = [str(TESTS), *(str(TESTS / name) for name in MANIFESTS)]


def manifest(name: str) -> ModuleType:
    return importlib.import_module(name)


# ---- one side, in a process of its own ----------------------------------------------------


class Progress:
    """Writes a line before and after each kernel, for the process that watches."""

    def __init__(self, folder: Path, done: Sequence[str]) -> None:
        self.log, self.folder, self.done = folder / "log", folder, set(done)

    def write(self, **line: Any) -> None:
        with self.log.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def each(self, key: str, function: Callable[[], tuple[str, list[np.ndarray]]]) -> None:
        if key in self.done:
            return
        self.write(begin=key)
        status, outputs = function()
        np.savez(self.folder / f"{number_of(key)}.npz", *outputs)
        self.write(end=key, status=status)


def number_of(key: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in key)


def _attempt(case: Any, run: Callable[[], list[np.ndarray]]) -> tuple[str, list[np.ndarray]]:
    try:
        outputs = run()
    except Exception as error:
        return f"{type(error).__name__}: {error}", []
    return case.differences(outputs, case.wanted()) or OK, outputs


def simulate(name: str, progress: Progress) -> None:
    """Run every case of a manifest on the simulator, plain and traced."""
    from kernel_cases import Modules

    cases = manifest(name).CASES
    modules = Modules(manifest(name).FOLDER, cases)
    failed: dict[tuple[str, str], Exception] = {}

    def run(case: Any, way: str) -> list[np.ndarray]:
        if (case.file, way) in failed:  # it would be compiled again for each kernel
            raise failed[case.file, way]
        try:
            modules.load(case.file).compile(way == TRACED)
        except Exception as error:
            failed[case.file, way] = error
            raise
        return modules.run(case, traced=way == TRACED)

    for case in cases:
        for way in WAYS:
            progress.each(
                f"{case.name} {way}",
                lambda case=case, way=way: _attempt(case, lambda: run(case, way)),
            )


def on_device(name: str, progress: Progress, cubins: Path, again: int = 1) -> None:
    """Run every case of a manifest on the GPU."""
    device = cuda_driver.Device()

    def run(case: Any) -> list[np.ndarray]:
        arguments = case.arguments()
        cubin = (cubins / name / case.file).with_suffix(".cubin")
        if not cubin.exists():
            raise cuda_driver.DriverError("nvcc does not compile it")
        function = device.function(cubin, case.kernel)
        sizes = (three(case.grid), three(case.block))
        options = {"shared": case.shared, "cooperative": case.cooperative}
        try:
            device.launch(function, *sizes, arguments, **options)
        except cuda_driver.DriverError:
            device.open()
            raise
        return case.outputs(arguments)

    for case in manifest(name).CASES:
        progress.each(f"{case.name} {GPU}", lambda case=case: _attempt(case, lambda: run(case)))


def three(size: int | Sequence[int]) -> tuple[int, ...]:
    return (*((size,) if isinstance(size, int) else size), 1, 1)[:3]


def watched(side: str, name: str, folder: Path, *more: str) -> dict[str, tuple[str, list[Any]]]:
    """Run a side in processes of its own; return the status and outputs of each kernel."""
    folder = folder / f"{side}-{name}"
    folder.mkdir()
    found: dict[str, str] = {}
    while True:
        command = [sys.executable, __file__, f"--{side}", name, "--folder", str(folder), *more]
        (folder / "done").write_text(json.dumps(list(found)))
        with (folder / "output").open("a") as output:
            child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
            why = _wait(child, folder / "log")
        ended = {line["end"]: line["status"] for line in _log(folder) if "end" in line}
        begun = [line["begin"] for line in _log(folder) if "begin" in line]
        found |= ended
        if begun and begun[-1] not in found:
            found[begun[-1]] = why
            continue
        if child.returncode:
            print((folder / "output").read_text()[-2000:], file=sys.stderr)
        break
    return {key: (status, _outputs(folder, key)) for key, status in found.items()}


def _wait(child: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until a process ends or writes nothing for long; return what became of it."""
    started = time.time()
    while True:
        try:
            status = child.wait(timeout=0.2)
            return f"ends Python: status {status}"
        except subprocess.TimeoutExpired:
            last = log.stat().st_mtime if log.exists() else 0
            if time.time() - max(started, last) > PATIENCE:
                child.kill()
                child.wait()
                return f"ends Python: no result in {PATIENCE:g} s"


def _log(folder: Path) -> Iterator[dict[str, Any]]:
    log = folder / "log"
    yield from map(json.loads, log.read_text().splitlines() if log.exists() else ())


def _outputs(folder: Path, key: str) -> list[np.ndarray]:
    path = folder / f"{number_of(key)}.npz"
    if not path.exists():
        return []
    with np.load(path) as stored:
        return [stored[name] for name in sorted(stored, key=lambda n: int(n.split("_")[1]))]


def compile_all(names: Sequence[str], folder: Path, arch: str) -> dict[str, str]:
    """Compile the sources with nvcc, several at a time; return the errors by file."""
    jobs = []
    for name in names:
        (folder / name).mkdir(parents=True)
        sources = sorted(manifest(name).FOLDER.glob("*.cu"))
        jobs += [(source, folder / name) for source in sources]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = pool.map(lambda job: cuda_driver.compile_cubin(*job, arch)[1], jobs)
        return {job[0].name: error for job, error in zip(jobs, errors, strict=True) if error}


# ---- results ------------------------------------------------------------------------------


def compared(name: str, sides: dict[str, tuple[str, list[Any]]]) -> list[dict[str, Any]]:
    """Return a record per case: its status on each side, and whether results are the same."""
    found = []
    for case in manifest(name).CASES:
        record: dict[str, Any] = {"set": name, "file": case.file, "kernel": case.kernel}
        outputs = {}
        for way in (*WAYS, GPU):
            status, outputs[way] = sides.get(f"{case.name} {way}", ("not run", []))
            record[way] = status
        if outputs[GPU] and outputs[PLAIN]:
            record["difference"] = case.differences(outputs[PLAIN], outputs[GPU])
            record["identical"] = all(
                a.tobytes() == b.tobytes()
                for a, b in zip(outputs[PLAIN], outputs[GPU], strict=True)
            )
        found.append(record)
    return found


def _short(status: str) -> str:
    if status == OK:
        return "right"
    kinds = {"CompileError": "does not compile", "SimulationError": "a finding",
             "DriverError": "fails", "output": "wrong", "ends": "ends the process",
             "not": "-"}  # fmt: skip
    return kinds.get(status.split(" ")[0].rstrip(":"), status.partition(":")[0])


def feature_rows(found: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    rows = []
    for r in found:
        same = "-"
        if "difference" in r:
            same = "differs" if r["difference"] else "to the bit" if r["identical"] else "yes"
        rows.append((r["file"], r["kernel"], *(_short(r[w]) for w in (*WAYS, GPU)), same))
    return rows


FEATURE_HEAD = ("file", "kernel", "simulator", "traced", "GPU", "same as GPU")


def summary(found: Sequence[dict[str, Any]]) -> str:
    """Return a line of counts for each set of kernels."""
    lines = []
    for name in dict.fromkeys(r["set"] for r in found):
        these = [r for r in found if r["set"] == name]
        right = [sum(r[way] == OK for r in these) for way in (*WAYS, GPU)]
        both = [r for r in these if "difference" in r]
        same = sum(not r["difference"] for r in both)
        lines.append(
            f"{name}: {len(these)} kernels; right on the simulator {right[0]}, traced {right[1]}, "
            f"on the GPU {right[2]}; same as the GPU {same} of {len(both)}"
        )
    return "\n".join(lines)


def missing(found: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return what the manifest should mark as missing: whole files where nothing works."""
    marks: dict[str, str] = {}
    for r in found:
        for way in WAYS:
            if r[way] != OK:
                first = next((s for s in r[way].splitlines() if "error:" in s), r[way])
                marks[f"{r['file']}:{r['kernel']} {way}"] = first.splitlines()[0][:90]
    by_file = collections.Counter(key.partition(":")[0] for key in marks)
    for file, n in by_file.items():
        keys = [key for key in marks if key.startswith(f"{file}:")]
        if n == sum(r["file"] == file for r in found) * len(WAYS) and n > len(WAYS):
            marks[file] = marks[keys[0]]
            for key in keys:
                del marks[key]
    return marks


# ---- traffic ------------------------------------------------------------------------------


class Profiler(ncu.Profiler):
    """Runs the foreign kernels on the GPU under ncu."""

    metrics = (*ncu.METRICS, *ncu.ATOMIC)

    def __init__(self, name: str, cubins: Path, folder: Path, seconds: float) -> None:
        super().__init__(folder, seconds)
        self.name, self.cubins = name, cubins

    def kernels(self) -> list[str]:
        return [case.function for case in manifest(self.name).CASES]

    def program(self) -> list[str]:
        place = tempfile.mkdtemp(dir=self.folder)
        run = [sys.executable, os.path.abspath(__file__), f"--{GPU}", self.name]
        return [*run, "--folder", place, "--cubins", str(self.cubins)]


def traffic(name: str, text: str) -> list[dict[str, Any]]:
    """Return a record per kernel: the simulator's figures beside those of ncu's text."""
    from kernel_cases import Modules, as_bytes

    seen = {row["kernel"]: row for row in ncu.read_csv(text)}
    modules = Modules(manifest(name).FOLDER, manifest(name).CASES)
    found = []
    for case in manifest(name).CASES:
        record: dict[str, Any] = {"file": case.file, "kernel": case.kernel, "why": {}}
        options = {"shared_bytes": case.shared, "cooperative": case.cooperative}
        arguments = [as_bytes(a) for a in case.arguments()]
        try:
            counted = modules.load(case.file).traffic(
                case.kernel, case.grid, case.block, arguments, **options
            )
        except Exception as error:
            record["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
            found.append(record)
            continue
        record["simulator"], engines = simulator_figures(counted["sites"])
        if row := seen.get(case.function):
            record["hardware"] = crosscheck_ncu.hardware_figures(row["metrics"])
            label = f"{case.file}-{case.kernel}, plain"
            record |= crosscheck_rules.judge(
                label, record["simulator"], record["hardware"], engines
            )
        found.append(record)
    return found


def simulator_figures(sites: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Return the simulator's figures of a kernel that is no variant."""
    report: Any = SimpleNamespace(sites=sites)
    return crosscheck_ncu.simulator_figures(report)


FIGURES = {
    "load requests": "load_requests",
    "load sectors": "load_sectors",
    "store requests": "store_requests",
    "store sectors": "store_sectors",
    "atomic requests": "atomic_requests",
    "atomic sectors": "atomic_sectors",
    "shared atomic requests": "shared_atomic_requests",
}


KINDS = ("atomic", "load", "store")


def _passes(figures: dict[str, Any], kind: str) -> float:
    requests = figures[f"shared_{kind}_requests"] or 0
    return requests * (figures[f"shared_{kind}_passes_per_request"] or 0)


def traffic_rows(found: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row per kernel and figure: simulator, hardware, ratio, reason."""
    rows = []
    for r in found:
        if "error" in r:
            rows.append((r["kernel"], r["error"], "-", "-", "-", ""))
            continue
        ours, theirs = r["simulator"], r.get("hardware")
        for label, get in (
            *((label, lambda f, key=key: f[key] or 0) for label, key in FIGURES.items()),
            *((f"shared {k} wavefronts", lambda f, k=k: _passes(f, k)) for k in KINDS),
        ):
            a, b = get(ours), get(theirs) if theirs else None
            if a or b:
                ratio = f"{a / b:.3f}" if b else "-"
                why = r["why"].get(FIGURES.get(label, ""), "")
                counted = "-" if b is None else f"{b:.0f}"
                rows.append((r["kernel"], label, f"{a:.0f}", counted, ratio, why))
    return rows


TRAFFIC_HEAD = ("kernel", "figure", "simulator", "Nsight Compute", "ratio", "why")


# ---- the report ---------------------------------------------------------------------------


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"

    return line(head) + line(["---"] * len(head)) + "".join(map(line, rows))


def report(result: dict[str, Any]) -> str:
    """Return the tables as Markdown."""
    parts = [f"{summary(result['kernels'])}\n"] if result["kernels"] else []
    parts.append(markdown(FEATURE_HEAD, feature_rows(result["kernels"])))
    if result["traffic"]:
        parts.append(markdown(TRAFFIC_HEAD, traffic_rows(result["traffic"])))
    return "\n".join(parts)


def collect(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    names = [options.only] if options.only else list(MANIFESTS)
    result: dict[str, Any] = {"kernels": [], "traffic": [], "nvcc": {}, "device": None}
    cubins, text = folder / "cubins", ""
    if not options.sim_only:
        result["device"] = cuda_driver.Device().describe()
        result["nvcc"] = compile_all(names, cubins, options.arch)
        os.environ[crosscheck_ncu.MULTIPROCESSORS] = str(result["device"]["multiprocessors"])
    for name in names:
        sides = watched("sim", name, folder)
        if not options.sim_only:
            sides |= watched(GPU, name, folder, "--cubins", str(cubins))
        result["kernels"] += compared(name, sides)
    if "foreign" in names:
        if not options.sim_only and not options.no_ncu:
            profiler = Profiler("foreign", cubins, folder, options.timeout)
            text, result["unknown_metrics"] = profiler.collect()
            files.write(options.output.with_suffix(".csv"), text)
        result["traffic"] = traffic("foreign", text)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, help="JSON; a table in Markdown beside it")
    parser.add_argument("--only", choices=MANIFESTS)
    parser.add_argument("--sim-only", action="store_true", help="leave the GPU out")
    parser.add_argument("--no-ncu", action="store_true", help="results only, no traffic")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--timeout", type=float, default=200, help="seconds for one run of ncu")
    for side in ("sim", GPU):
        parser.add_argument(f"--{side}", choices=MANIFESTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--cubins", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()

    if options.sim or options.gpu:
        done = options.folder / "done"
        progress = Progress(options.folder, json.loads(done.read_text()) if done.exists() else ())
        if options.sim:
            simulate(options.sim, progress)
        else:
            on_device(options.gpu, progress, options.cubins)
        return 0
    if options.output is None:
        parser.error("-o FILE is needed")
    with tempfile.TemporaryDirectory() as folder:
        result = collect(options, Path(folder))
    files.write(options.output, json.dumps(result, indent=1) + "\n")
    files.write(options.output.with_suffix(".md"), report(result))
    print(format_table(FEATURE_HEAD, feature_rows(result["kernels"]), 2, width=120))
    if result["traffic"]:
        print(format_table(TRAFFIC_HEAD, traffic_rows(result["traffic"]), 2, width=120))
    print(summary(result["kernels"]))
    if options.sim_only:
        print(json.dumps(missing(result["kernels"]), indent=4))
    return 0


if __name__ == "__main__":
    sys.exit(main())
