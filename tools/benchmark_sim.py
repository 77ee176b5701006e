"""Measure the speed of the simulator on one core, and of Numba's CUDA simulator.

    python tools/benchmark_sim.py [--json] [--probes FILE] [--against FILE] [--without-numba]

It times a copy of 64 MiB with 128-bit accesses; kernels of the tests' probes, plain and traced; and
a copy on Numba's simulator, of a smaller size, per element. The probes' module is built first,
unless --probes names it.

The probes of the family `speed` are a copy, a 5-point stencil and a product of 256 x 256 matrices
by tiles of 16 x 16 in shared memory. Their times are per access to global or shared memory, so that
kernels can be compared. --against names the probes' module of another version, built there with
this version's tests/probes/speed: the runs of the two alternate in one process. Times are CPU
seconds, as other work on the machine would disturb the comparison.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

os.environ["GPUMEM_SIM_THREADS"] = "1"  # read when the simulator starts
os.environ["GPUMEM_BACKEND"] = "sim"

import numpy as np

import gpumem as gm

ROOT = pathlib.Path(__file__).resolve().parent.parent

COPIED = 2**24  # float32: 64 MiB
THREADS = 2**20  # of the kernel with a barrier, plain
THREADS_TRACED = 2**17
NUMBA_ELEMENTS = 2**14
# Probes of the family `speed`: name, elements and parameters.
SPEED = (
    ("copy", 2**20, (0, 1)),
    ("stencil", 2**19, (0, 1024)),
    ("product", 2**16, (0, 256)),
)

COPY_LIMIT = 0.5  # seconds
NUMBA_RATIO = 1000

NUMBA = """
import os, statistics, sys, time
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
try:
    import numba
    from numba import cuda
except ImportError as error:
    sys.exit(f"not installed: {error}")
import numpy as np

@cuda.jit
def copy_vec4(a, b):
    i = cuda.grid(1)
    while i < a.size // 4:
        for k in range(4):
            b[4 * i + k] = a[4 * i + k]
        i += cuda.gridsize(1)

n = int(sys.argv[1])
a, b = np.random.default_rng(0).random(n, dtype=np.float32), np.zeros(n, np.float32)
seconds = []
for _ in range(3):
    begin = time.perf_counter()
    copy_vec4[n // 4 // 256, 256](a, b)
    seconds.append(time.perf_counter() - begin)
assert (a == b).all()
print(numba.__version__, statistics.median(seconds))
"""


def load(path: pathlib.Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def build_probes() -> pathlib.Path:
    """Return the extension module with the kernels of tests/probes as its table."""
    builder = load(ROOT / "csrc" / "build.py", "gpumem_build")
    path = ROOT / "build" / "probes" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    builder.build_module(
        [ROOT / "tests" / "probes"],
        path,
        ROOT / "build" / "cache",
        announce=lambda text: print(text, file=sys.stderr),
    )
    return path


def seconds_of_each(calls: Sequence[Callable[[], Any]], repeats: int = 5) -> list[float]:
    """Return the median CPU seconds of each call, run in turns, after one to warm up."""
    seconds: list[list[float]] = [[] for _ in calls]
    for i in range(repeats + 1):
        for call, taken in zip(calls, seconds, strict=True):
            begin = time.process_time()
            call()
            if i > 0:
                taken.append(time.process_time() - begin)
    return [statistics.median(taken) for taken in seconds]


def seconds_of(call: Callable[[], Any]) -> float:
    """Return the median CPU seconds of a call, after one to warm up."""
    return seconds_of_each([call])[0]


def measure_speed(modules: list[ModuleType]) -> list[dict[str, Any]]:
    """Return the nanoseconds per access of each probe of the family `speed`, in each module."""
    rows: list[dict[str, Any]] = []
    for name, size, parameters in SPEED:
        a = np.random.default_rng(0).random(size, dtype=np.float32)
        calls: list[Callable[[], Any]] = []
        accesses = 0
        for module in modules:
            there, out = module.to_device(a), module.DeviceArray(a.shape, a.dtype)
            operands = ("speed", name, (there,), out, None, None, parameters)
            calls.append(functools.partial(module.call, *operands))
            calls.append(functools.partial(module.traffic, "speed", name, (a,), parameters))
            accesses = sum(site["lanes"] for site in calls[-1]()["sites"])
        for i, seconds in enumerate(seconds_of_each(calls)):
            what = f"{name}, {'traced' if i % 2 else 'plain'}{', the other version' * (i > 1)}"
            rows.append({"what": what, "value": seconds / accesses * 1e9, "unit": "ns/access"})
    return [{"target": "", "note": "", **row} for row in rows]


def measure_numba() -> tuple[str, float] | str:
    """Return Numba's version and seconds for NUMBA_ELEMENTS, or why there are none."""
    done = subprocess.run(
        [sys.executable, "-c", NUMBA, str(NUMBA_ELEMENTS)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it failed"])[-1]
    version, seconds = done.stdout.split()
    return version, float(seconds)


def measure(probes: ModuleType, other: ModuleType | None, with_numba: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def row(what: str, value: float | None, unit: str, target: str = "", note: str = "") -> None:
        rows.append({"what": what, "value": value, "unit": unit, "target": target, "note": note})

    a = np.random.default_rng(0).random(COPIED, dtype=np.float32)
    there, out = gm.to_device(a), gm.DeviceArray(a.shape, a.dtype)
    copy = seconds_of(lambda: gm.copy(there, variant="vec4", out=out))
    assert out.to_host().tobytes() == a.tobytes()
    row("copy-vec4 of 2**24 float32, device arrays", copy, "s", f"<= {COPY_LIMIT}")
    whole = seconds_of(lambda: gm.copy(a, variant="vec4"))
    row("copy-vec4 of 2**24 float32, NumPy in and out", whole, "s")

    a = np.random.default_rng(0).random(THREADS, dtype=np.float32)
    wanted = a.reshape(-1, 256)[:, ::-1].ravel()
    call = ("barrier", "reverse")
    there = probes.to_device(a)
    out = probes.DeviceArray(a.shape, a.dtype)
    barrier = seconds_of(lambda: probes.call(*call, (there,), out, None, None, (0, 0)))
    assert (out.to_host() == wanted).all()
    row("one barrier per thread, plain", THREADS / barrier, "threads/s")
    few = a[:THREADS_TRACED]
    traced = seconds_of(lambda: probes.traffic(*call, (few,), (0, 0)))
    row("one barrier per thread, traced", THREADS_TRACED / traced, "threads/s")
    traced = seconds_of(lambda: gm.traffic("copy", a, variant="scalar"))
    row("copy-scalar, traced", THREADS / traced, "elements/s")
    rows += measure_speed([probes, other] if other else [probes])

    if with_numba:
        numba = measure_numba()
        what = "Numba's simulator over ours, copy by 4 floats"
        if isinstance(numba, str):
            row(what, None, "x", note=numba)
        else:
            version, seconds = numba
            ratio = (seconds / NUMBA_ELEMENTS) / (copy / COPIED)
            note = f"Numba {version}: {seconds:.3g} s for {NUMBA_ELEMENTS} float32"
            row(what, ratio, "x", f">= {NUMBA_RATIO}", note)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--probes", type=pathlib.Path, help="the probes' module, already built")
    parser.add_argument(
        "--against", type=pathlib.Path, help="the probes' module of another version"
    )
    parser.add_argument("--without-numba", action="store_true")
    options = parser.parse_args()

    probes = load(options.probes or build_probes(), "gpumem_probes._core")
    other = load(options.against, "gpumem_other._core") if options.against else None
    rows = measure(probes, other, not options.without_numba)
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        number = row["value"]
        form = ".3g" if number is None or number < 1000 else ",.0f"
        value = "-" if number is None else f"{number:{form}} {row['unit']}"
        target = f"target {row['target']}" if row["target"] else ""
        print(f"{row['what']:46} {value:>20}  {target:16} {row['note']}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
