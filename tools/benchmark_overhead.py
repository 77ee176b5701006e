"""Measure the overhead of a call on the host: gpumem, CuPy and PyTorch in one run.

    python tools/benchmark_overhead.py [--json] [--batches 200]

Each contender copies 1 KiB from one device array to another. 200 calls are a batch; the wait for
the device between batches is not timed. Batches of the contenders are interleaved.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gpumem as gm

ELEMENTS = 256  # float32: 1 KiB
CALLS = 200  # per batch: fewer than the driver queues before a launch blocks


class Contender:
    """A copy, how to wait for it, and the nanoseconds per call of its batches."""

    def __init__(
        self, name: str, version: str, copy: Callable[[], Any], wait: Callable[[], Any]
    ) -> None:
        self.name, self.version, self.copy, self.wait = name, version, copy, wait
        self.nanoseconds: list[float] = []

    def batch(self) -> None:
        copy = self.copy
        self.wait()
        begin = time.perf_counter_ns()
        for _ in range(CALLS):
            copy()
        spent = time.perf_counter_ns() - begin
        self.wait()
        self.nanoseconds.append(spent / CALLS)


def ours(a: np.ndarray[Any, Any], backend: str) -> list[Contender]:
    x = gm.to_device(a, backend=backend)
    y = gm.DeviceArray(a.shape, a.dtype, backend=backend)
    gm.copy(x, out=y)
    assert y.to_host().tobytes() == a.tobytes()

    def wait() -> None:
        gm.synchronize(backend)

    return [
        Contender("gm.copy(x, out=y)", gm.__version__, lambda: gm.copy(x, out=y), wait),
        Contender(
            'gm.copy(x, variant="vec4", out=y)',
            gm.__version__,
            lambda: gm.copy(x, variant="vec4", out=y),
            wait,
        ),
    ]


def peers(a: np.ndarray[Any, Any]) -> tuple[list[Contender], list[str]]:
    """Return CuPy and PyTorch, and why one is missing."""
    found, missing = [], []
    try:
        import cupy

        x = cupy.asarray(a)
        y = cupy.empty_like(x)
        found.append(
            Contender(
                "cupy.copyto(y, x)",
                cupy.__version__,
                lambda: cupy.copyto(y, x),
                cupy.cuda.Device().synchronize,
            )
        )
    except Exception as error:  # not installed, or its CUDA libraries do not load
        missing.append(f"CuPy: {error}")
    try:
        import torch

        p = torch.from_numpy(a).cuda()
        q = torch.empty_like(p)
        found.append(
            Contender(
                "torch: y.copy_(x)", torch.__version__, lambda: q.copy_(p), torch.cuda.synchronize
            )
        )
    except Exception as error:
        missing.append(f"PyTorch: {error}")
    return found, missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument(
        "--backend", choices=("cuda", "sim"), default="cuda", help="sim only tries the script"
    )
    options = parser.parse_args()

    a = np.random.default_rng(0).random(ELEMENTS, dtype=np.float32)
    try:
        contenders = ours(a, options.backend)
    except gm.UnavailableError as error:
        print(error, file=sys.stderr)
        return 2
    missing: list[str] = []
    if options.backend == "cuda":
        others, missing = peers(a)
        contenders += others
    for contender in contenders:  # first calls load code
        contender.batch()
        contender.nanoseconds.clear()
    for turn in range(options.batches):
        first = turn % len(contenders)
        for contender in contenders[first:] + contenders[:first]:
            contender.batch()

    rows = []
    for contender in contenders:
        ordered = sorted(contender.nanoseconds)
        rows.append(
            {
                "call": contender.name,
                "version": contender.version,
                "median_ns": statistics.median(ordered),
                "p20_ns": ordered[len(ordered) // 5],
                "p80_ns": ordered[len(ordered) * 4 // 5],
                "batches": len(ordered),
            }
        )
    if options.json:
        device = gm.info()["backends"][options.backend]["devices"][0]["name"]
        print(json.dumps({"device": device, "rows": rows, "missing": missing}, indent=2))
        return 0
    for row in rows:
        print(
            f"{row['call']:36} {row['median_ns']:8.0f} ns  "
            f"(p20-p80 {row['p20_ns']:.0f}-{row['p80_ns']:.0f})  {row['version']}"
        )
    for line in missing:
        print(f"left out: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
