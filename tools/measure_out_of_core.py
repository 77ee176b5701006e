"""Measure gpumem.out_of_core on a disk, beside reading and writing a file in order.

    python tools/measure_out_of_core.py FOLDER [--size 4G] [--limit 1G] [--json FILE]

Every measurement has a process of its own, so that its peak of memory is its own, and begins with
files that the cache does not hold. A figure is bytes read and written over the time until all is
on the disk; for the product, in which factors are read several times, those of its three matrices.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import gpumem as gm
import gpumem.out_of_core as gmo
from gpumem.base import files, sizes

CHUNK = 2**24
JOBS = ("read and write in order", "copy", "transpose", "permute", "matmul")


def forget(*paths: Path) -> None:
    """Write files to the disk, and drop them from the cache."""
    for path in paths:
        file = os.open(path, os.O_RDWR)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def make(path: Path, shape: tuple[int, ...]) -> None:
    """Fill a file with random numbers, since some disks compress."""
    made = np.lib.format.open_memmap(path, "w+", dtype="f4", shape=shape)
    flat, random = made.reshape(-1), np.random.default_rng(0)
    for begin in range(0, flat.size, CHUNK):
        part = flat[begin : begin + CHUNK]
        part[...] = random.random(part.size, np.float32)


def in_order(source: Path, target: Path) -> None:
    """Read a file and write another in order."""
    with open(source, "rb", buffering=0) as old, open(target, "wb", buffering=0) as new:
        while chunk := old.read(CHUNK):
            new.write(chunk)
        os.fsync(new.fileno())


def memory(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        (line,) = (one for one in file if one.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def measured(job: str, folder: Path, nbytes: int, limit: int) -> dict[str, Any]:
    """Run a job; return its bytes, seconds and peak of memory."""
    a, b, out = folder / "a.npy", folder / "b.npy", folder / "out.npy"
    side = math.isqrt(nbytes // 4)
    shape = (side, max(1, side // 64), 64) if job == "permute" else (side, side)
    make(a, shape)
    if job == "matmul":
        make(b, shape)
    forget(*(path for path in (a, b) if path.exists()))
    one = np.ones((2, 2), np.float32)
    gmo.transpose(one, np.empty_like(one))  # starts the backend
    calls = {
        JOBS[0]: lambda: in_order(a, out),
        "copy": lambda: gmo.copy(a, out, limit=limit),
        "transpose": lambda: gmo.transpose(a, out, limit=limit),
        "permute": lambda: gmo.permute(a, (2, 0, 1), out, limit=limit),
        "matmul": lambda: gmo.matmul(a, b, out, limit=limit),
    }
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts over
    before, begin = memory("VmRSS"), time.perf_counter()
    calls[job]()
    seconds = time.perf_counter() - begin
    moved = (3 if job == "matmul" else 2) * 4 * math.prod(shape)
    return {
        "job": job,
        "shape": shape,
        "bytes": moved,
        "seconds": seconds,
        "gbps": moved / seconds / 1e9,
        "peak_bytes": memory("VmHWM") - before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="on the disk to measure")
    parser.add_argument("--size", default="4G", help="bytes of a matrix")
    parser.add_argument("--limit", default="1G", help="memory that a call may take")
    parser.add_argument("--jobs", default=",".join(JOBS), help="some of them, with commas")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    (nbytes,), (limit,) = sizes.parse_sizes(given.size), sizes.parse_sizes(given.limit)
    print(f"{gm.backend()}, limit {sizes.format_bytes(limit)}")
    found = []
    for job in given.jobs.split(","):
        if job not in JOBS:
            parser.error(f"there is no job {job!r}, expected some of {', '.join(JOBS)}")
        with (
            tempfile.TemporaryDirectory(dir=given.folder) as folder,
            multiprocessing.get_context("spawn").Pool(1) as process,
        ):
            one = process.apply(measured, (job, Path(folder), nbytes, limit))
        print(
            f"{job:23}  {'x'.join(map(str, one['shape'])):14}  {one['seconds']:6.2f} s"
            f"  {one['gbps']:6.2f} GB/s  peak {sizes.format_bytes(one['peak_bytes'])}",
            flush=True,
        )
        found.append(one)
    if given.json:
        record = {"gpumem": gm.info(), "limit": limit, "rows": found}
        files.write(given.json, json.dumps(record, indent=1, default=str))


if __name__ == "__main__":
    main()
