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
# gather's default raises within the call, so it waits. Beside it are the libraries' calls, which do
# not; PyTorch's with a wait, by which it says that an index was wrong; and a check of one's own.
WAITED = "take(out=); wait"
CHECKED = "if wrong(index).any(): raise; take(out=)"
# As the libraries' own calls: it does not wait, and a wrong index is no error.
WRAPPED = 'gather(..., mode="wrap", out=)'

Job = Callable[[], object]


def checked(row: Any, index: Any, take: Job) -> Job:
    """Return a call that raises where an index is out of range, as NumPy does, and else takes."""
    count = row.shape[0]

    def job() -> None:
        if ((index < -count) | (index >= count)).any():
            raise IndexError
        take()

    return job


def waited(take: Job, wait: Job) -> Job:
    """Return a call after which the caller knows whether it failed."""

    def job() -> None:
        take()
        wait()

    return job


class Measured(NamedTuple):
    """One call that is measured."""

    library: str  # whose arrays it takes
    function: str  # gpumem's, that does the same
    by: str  # who does it: gpumem, or the call of the library
    job: Job


def arrays(convert: Callable[[Any], Any], random: np.random.Generator) -> dict[str, Any]:
    """Return inputs and results for every function that is measured, as one library's arrays."""

    def numbers(*shape: int) -> Any:
        return convert(random.random(shape, np.float32))

    return {
        "a": numbers(SIDE, SIDE),
        "b": numbers(SIDE, SIDE),
        "out": numbers(SIDE, SIDE),
        "cube": numbers(SIDE, 4, SIDE),
        "turned": numbers(SIDE, SIDE, 4),
        "row": numbers(SIDE * SIDE),
        "row_out": numbers(SIDE * SIDE),
        "half": numbers(SIDE * SIDE // 2),
        "index": convert(random.permutation(SIDE * SIDE)),
        "number": convert(np.zeros((), np.float32)),
    }


def gpumems(library: str, x: dict[str, Any]) -> Iterator[Measured]:
    jobs: dict[str, Job] = {
        "copy": lambda: gm.copy(x["a"], out=x["out"]),
        "transpose": lambda: gm.transpose(x["a"], out=x["out"]),
        "permute": lambda: gm.permute(x["cube"], (2, 0, 1), out=x["turned"]),
        "add": lambda: gm.add(x["a"], x["b"], out=x["out"]),
        "sgemm": lambda: gm.sgemm(x["a"], x["b"], out=x["out"]),
        "matmul": lambda: gm.matmul(x["a"], x["b"], out=x["out"]),
        "gather": lambda: gm.gather(x["row"], x["index"], out=x["row_out"]),
        WRAPPED: lambda: gm.gather(x["row"], x["index"], mode="wrap", out=x["row_out"]),
        "strided_read": lambda: gm.strided_read(x["row"], 0, 2, out=x["half"]),
        "reduce": lambda: gm.reduce(x["row"], out=x["number"]),
        "scan": lambda: gm.scan(x["row"], out=x["row_out"]),
    }
    for function, job in jobs.items():
        yield Measured(library, function, GPUMEM, job)


def on_gpumems(backend: str, random: np.random.Generator) -> Iterator[Measured]:
    yield from gpumems("DeviceArray", arrays(lambda a: gm.to_device(a, backend=backend), random))


def on_pytorchs(random: np.random.Generator) -> Iterator[Measured]:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    x = arrays(lambda a: torch.tensor(a, device="cuda"), random)
    yield from gpumems("PyTorch", x)
    a, b, out, row = x["a"], x["b"], x["out"], x["row"]

    def take() -> object:
        return torch.take(row, x["index"], out=x["row_out"])

    jobs: tuple[tuple[str, str, Job], ...] = (
        ("copy", "out.copy_(a)", lambda: out.copy_(a)),
        ("transpose", "out.copy_(a.T)", lambda: out.copy_(a.T)),
        (
            "permute",
            "out.copy_(a.permute())",
            lambda: x["turned"].copy_(x["cube"].permute(2, 0, 1)),
        ),
        ("add", "torch.add(out=)", lambda: torch.add(a, b, out=out)),
        ("sgemm", "torch.mm(out=)", lambda: torch.mm(a, b, out=out)),
        ("matmul", "torch.matmul(out=)", lambda: torch.matmul(a, b, out=out)),
        ("gather", "torch.take(out=)", take),
        ("gather", WAITED, waited(take, torch.cuda.current_stream().synchronize)),
        ("gather", CHECKED, checked(row, x["index"], take)),
        (WRAPPED, "torch.take(out=)", take),
        ("strided_read", "out.copy_(a[::2])", lambda: x["half"].copy_(row[::2])),
        ("reduce", "torch.sum(out=)", lambda: torch.sum(row, 0, out=x["number"])),
        ("scan", "torch.cumsum(out=)", lambda: torch.cumsum(row, 0, out=x["row_out"])),
    )
    for function, by, job in jobs:
        yield Measured("PyTorch", function, by, job)


def on_cupys(random: np.random.Generator) -> Iterator[Measured]:
    import cupy

    x = arrays(cupy.asarray, random)
    yield from gpumems("CuPy", x)
    a, b, out, row = x["a"], x["b"], x["out"], x["row"]
    turned, half = x["turned"], x["half"]

    def take() -> object:
        return cupy.take(row, x["index"], out=x["row_out"])

    jobs: tuple[tuple[str, str, Job], ...] = (
        ("copy", "cupy.copyto(out, a)", lambda: cupy.copyto(out, a)),
        ("transpose", "cupy.copyto(out, a.T)", lambda: cupy.copyto(out, a.T)),
        ("permute", "cupy.copyto()", lambda: cupy.copyto(turned, x["cube"].transpose(2, 0, 1))),
        ("add", "cupy.add(out=)", lambda: cupy.add(a, b, out=out)),
        ("sgemm", "cupy.dot(out=)", lambda: cupy.dot(a, b, out=out)),
        ("matmul", "cupy.matmul(out=)", lambda: cupy.matmul(a, b, out=out)),
        ("gather", "cupy.take(out=)", take),
        ("gather", CHECKED, checked(row, x["index"], take)),
        (WRAPPED, "cupy.take(out=)", take),
        ("strided_read", "cupy.copyto(out, a[::2])", lambda: cupy.copyto(half, row[::2])),
        ("reduce", "cupy.sum(out=)", lambda: cupy.sum(row, out=x["number"])),
        ("scan", "cupy.cumsum(out=)", lambda: cupy.cumsum(row, out=x["row_out"])),
    )
    for function, by, job in jobs:
        yield Measured("CuPy", function, by, job)


def name_row_stack() -> None:
    """Give NumPy back a name that it dropped: numba-cuda 0.30 refers to it when it compiles."""
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack


def on_numbas(random: np.random.Generator) -> Iterator[Measured]:
    name_row_stack()
    from numba import cuda

    @cuda.jit
    def transpose(x, out):
        row, column = cuda.grid(2)
        out[column, row] = x[row, column]

    @cuda.jit
    def add(x, y, out):
        row, column = cuda.grid(2)
        out[row, column] = x[row, column] + y[row, column]

    x = arrays(cuda.to_device, random)
    yield from gpumems("Numba", x)
    a, b, out = x["a"], x["b"], x["out"]
    block = (SIDE, SIDE)
    jobs: tuple[tuple[str, str, Job], ...] = (
        ("copy", "out.copy_to_device(a)", lambda: out.copy_to_device(a)),
        ("transpose", "a @cuda.jit kernel", lambda: transpose[1, block](a, out)),
        ("add", "a @cuda.jit kernel", lambda: add[1, block](a, b, out)),
    )
    for function, by, job in jobs:
        yield Measured("Numba", function, by, job)


def everything(backend: str) -> list[Measured]:
    """Return all calls that can be made here, those on gpumem's own arrays first."""
    random = np.random.default_rng(0)
    found = list(on_gpumems(backend, random))
    for of_library in (on_pytorchs, on_cupys, on_numbas) if backend == "cuda" else ():
        try:
            found += of_library(random)
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
    """Yield the lines: a row for each function and library, and each call of its own for that."""
    found = {call[:3]: time * 1e6 for call, time in zip(calls, seconds, strict=True)}
    yield "| arrays of | gpumem's call | µs | the library's own | µs | ratio |"
    yield "| --- | --- | ---: | --- | ---: | ---: |"
    for library in dict.fromkeys(call.library for call in calls):
        for function in dict.fromkeys(call.function for call in calls):
            if (library, function, GPUMEM) not in found:
                continue
            ours = found[library, function, GPUMEM]
            own = [by for one, other, by in found if (one, other) == (library, function)][1:]
            call = function if "(" in function else f"{function}(..., out=)"
            row = f"| {library} | `{call}` | {ours:.2f} |"
            for by in own:
                theirs = found[library, function, by]
                yield f"{row} `{by}` | {theirs:.2f} | {ours / theirs:.2f} |"
            if not own:
                yield f"{row} – | – | – |"


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
