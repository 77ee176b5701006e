"""Measure what a call on small arrays of a GPU costs the host, beside the libraries' own calls.

    python tools/call_overheads.py [--json FILE] [--backend sim]

For gpumem's arrays and for those of PyTorch, CuPy and Numba, as far as they are installed: gpumem's
function, and what the library itself has that does the same. All calls take turns in one process; a
figure is the median of many rounds, each the mean of calls in a row without waiting, fewer than the
driver queues. The table is Markdown, in microseconds. On the simulator, whose kernels run within
the call, the figures say nothing of a GPU.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import gpumem as gm

SIDE = 32
ROUNDS = 60
CALLS = 200  # in a row
WARM_UP = 20
GPUMEM = "gpumem"
CALLED = ("copy", "transpose", "add", "sgemm", "matmul")

Job = Callable[[], object]


class Measured(NamedTuple):
    """One call that is measured."""

    library: str  # whose arrays it takes
    function: str  # gpumem's, that does the same
    by: str  # who does it: gpumem, or the call of the library
    job: Job


def gpumems(library: str, a: Any, b: Any, out: Any) -> Iterator[Measured]:
    jobs: dict[str, Job] = {
        "copy": lambda: gm.copy(a, out=out),
        "transpose": lambda: gm.transpose(a, out=out),
        "add": lambda: gm.add(a, b, out=out),
        "sgemm": lambda: gm.sgemm(a, b, out=out),
        "matmul": lambda: gm.matmul(a, b, out=out),
    }
    for function, job in jobs.items():
        yield Measured(library, function, GPUMEM, job)


def on_gpumems(backend: str, a: Any, b: Any) -> Iterator[Measured]:
    x, y = (gm.to_device(each, backend=backend) for each in (a, b))
    yield from gpumems("DeviceArray", x, y, gm.DeviceArray(a.shape, backend=backend))


def on_pytorchs(a: Any, b: Any) -> Iterator[Measured]:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    x, y = torch.tensor(a, device="cuda"), torch.tensor(b, device="cuda")
    out = torch.empty_like(x)
    yield from gpumems("PyTorch", x, y, out)
    for function, by, job in (
        ("copy", "out.copy_(a)", lambda: out.copy_(x)),
        ("transpose", "out.copy_(a.T)", lambda: out.copy_(x.T)),
        ("add", "torch.add(out=)", lambda: torch.add(x, y, out=out)),
        ("sgemm", "torch.mm(out=)", lambda: torch.mm(x, y, out=out)),
        ("matmul", "torch.matmul(out=)", lambda: torch.matmul(x, y, out=out)),
    ):
        yield Measured("PyTorch", function, by, job)


def on_cupys(a: Any, b: Any) -> Iterator[Measured]:
    import cupy

    x, y = cupy.asarray(a), cupy.asarray(b)
    out = cupy.empty_like(x)
    yield from gpumems("CuPy", x, y, out)
    for function, by, job in (
        ("copy", "cupy.copyto(out, a)", lambda: cupy.copyto(out, x)),
        ("transpose", "cupy.copyto(out, a.T)", lambda: cupy.copyto(out, x.T)),
        ("add", "cupy.add(out=)", lambda: cupy.add(x, y, out=out)),
        ("sgemm", "cupy.dot(out=)", lambda: cupy.dot(x, y, out=out)),
        ("matmul", "cupy.matmul(out=)", lambda: cupy.matmul(x, y, out=out)),
    ):
        yield Measured("CuPy", function, by, job)


def on_numbas(a: Any, b: Any) -> Iterator[Measured]:
    from numba import cuda

    @cuda.jit
    def transpose(x, out):
        row, column = cuda.grid(2)
        out[column, row] = x[row, column]

    @cuda.jit
    def add(x, y, out):
        row, column = cuda.grid(2)
        out[row, column] = x[row, column] + y[row, column]

    x, y = cuda.to_device(a), cuda.to_device(b)
    out = cuda.device_array_like(x)
    yield from gpumems("Numba", x, y, out)
    block = (SIDE, SIDE)
    for function, by, job in (
        ("copy", "out.copy_to_device(a)", lambda: out.copy_to_device(x)),
        ("transpose", "a @cuda.jit kernel", lambda: transpose[1, block](x, out)),
        ("add", "a @cuda.jit kernel", lambda: add[1, block](x, y, out)),
    ):
        yield Measured("Numba", function, by, job)


def everything(backend: str) -> list[Measured]:
    """Return all calls that can be made here, those on gpumem's own arrays first."""
    random = np.random.default_rng(0)
    a, b = (random.random((SIDE, SIDE), np.float32) for _ in range(2))
    found = list(on_gpumems(backend, a, b))
    for of_library in (on_pytorchs, on_cupys, on_numbas) if backend == "cuda" else ():
        try:
            found += of_library(a, b)
        except ImportError as error:
            print(f"left out: {error}")
    return found


def warm(call: Measured) -> bool:
    """Return whether a call works: a library may not fit the others that are installed."""
    try:
        for _ in range(WARM_UP):
            call.job()
    except Exception as error:
        print(f"left out: {call.by} on {call.library}: {type(error).__name__}: {error}")
        return False
    return True


def measure(calls: list[Measured], backend: str) -> list[float]:
    """Return the seconds per call of each."""
    rounds: list[list[float]] = [[] for _ in calls]
    gc.collect()
    gc.disable()
    for _ in range(ROUNDS):
        for call, times in zip(calls, rounds, strict=True):
            job = call.job
            gm.synchronize(backend)
            begin = time.perf_counter()
            for _ in range(CALLS):
                job()
            times.append((time.perf_counter() - begin) / CALLS)
    gc.enable()
    gm.synchronize(backend)
    return list(map(statistics.median, rounds))


def table(calls: list[Measured], seconds: list[float]) -> Iterator[str]:
    """Yield the lines: a row for each function and library."""
    found = {call[:3]: time * 1e6 for call, time in zip(calls, seconds, strict=True)}
    yield "| arrays of | gpumem's call | µs | the library's own | µs | ratio |"
    yield "| --- | --- | ---: | --- | ---: | ---: |"
    for library in dict.fromkeys(call.library for call in calls):
        for function in CALLED:
            ours = found[library, function, GPUMEM]
            own = [by for one, other, by in found if (one, other) == (library, function)][1:]
            theirs = found[library, function, own[0]] if own else 0.0
            cells = f"`{own[0]}` | {theirs:.2f} | {ours / theirs:.2f}" if own else "– | – | –"
            yield f"| {library} | `{function}(..., out=)` | {ours:.2f} | {cells} |"


def versions() -> dict[str, str]:
    found = {}
    for name in ("torch", "cupy-cuda13x", "cupy-cuda12x", "numba", "numba-cuda", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    parser.add_argument("--backend", choices=("cuda", "sim"), default="cuda")
    options = parser.parse_args()
    calls = list(filter(warm, everything(options.backend)))
    seconds = measure(calls, options.backend)
    print("\n".join(table(calls, seconds)))
    if options.json:
        record = {
            "device": gm.info()["backends"][options.backend]["devices"][0]["name"],
            "versions": versions(),
            "side": SIDE,
            "seconds": [
                {"library": c.library, "function": c.function, "by": c.by, "median": s}
                for c, s in zip(calls, seconds, strict=True)
            ],
        }
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
