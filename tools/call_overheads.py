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
from collections.abc import Iterator

import numpy as np
from small_calls import GPUMEM, SIDE, Measured, on_cupys, on_gpumems, on_numbas, on_pytorchs

import gpumem as gm

ROUNDS = 60
CALLS = 200  # in a row
WARM_UP = 20


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
