"""Measure reduce, scan and histogram beside CUB, PyTorch and CuPy.

    python tools/measure_sums.py [--sizes 1M:1G:x4] [--variants NAMES] [--rounds 9] [--json FILE]

Needs a GPU, nvcc, whose toolkit has CUB, PyTorch and CuPy. Contenders take turns at random; a time
is that of one call between two events, behind a kernel that keeps the GPU busy meanwhile, and after
the L2 has been overwritten. `gpumem` is what `auto` takes; --variants cluster,last_block measures
these beside it, where the family has them and the GPU can run them. A figure is the median of
several rounds in GB/s: of what a sum or a histogram reads, of what a scan reads and writes. `copy`
is the driver's copy of as many bytes.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from single_calls import measure

import gpumem as gm
from gpumem.base import files, sizes

TYPES = {"int32": 0, "int64": 1, "float32": 2, "float64": 3}
SOURCE = Path(__file__).with_name("cub_sums.cu")

Call = Callable[[], object]


def compile_cub(folder: str) -> Any:
    """Return CUB's functions, compiled for the GPU that is here."""
    made = Path(folder) / "cub_sums.so"
    flags = ("-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC")
    subprocess.run(["nvcc", *flags, "-o", made, SOURCE], check=True)
    return ctypes.CDLL(str(made))


def of_cub(function: Any, a: Any, out: Any) -> Call:
    """Return a call of one of CUB's functions, with the memory that it needs."""
    import torch

    def call(memory: Any) -> None:
        pointers = [None if x is None else ctypes.c_void_p(x.data_ptr()) for x in (memory, a, out)]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        number = TYPES[str(out.dtype).removeprefix("torch.")]
        count = ctypes.c_int64(a.numel())
        error = function(number, pointers[0], ctypes.byref(needed), *pointers[1:], count, stream)
        if error:
            raise SystemExit(f"CUB failed: cudaError_t {error}")

    needed = ctypes.c_size_t()
    call(None)
    memory = torch.empty(max(1, needed.value), dtype=torch.uint8, device="cuda")
    return lambda: call(memory)


def numbers(nbytes: int, dtype: str) -> Any:
    import torch

    n = nbytes // np.dtype(dtype).itemsize
    if dtype.startswith("float"):
        return torch.rand(n, dtype=getattr(torch, dtype), device="cuda")
    return torch.randint(0, 256, (n,), dtype=getattr(torch, dtype), device="cuda")


def of_variants(names: list[str], family: str, a: Any, **how: Any) -> dict[str, Call]:
    """Return calls of a family's variants of these names, of those that this GPU can run."""
    rows = {row.name: row for row in gm.variants(family) if row.reason_on("cuda") is None}
    return {name: partial(rows[name], a, **how) for name in names if name in rows}


def jobs(nbytes: int, dtype: str, cub: Any, variants: list[str]) -> dict[str, dict[str, Call]]:
    """Return the contenders of each job, by name."""
    import cupy
    import torch

    a = numbers(nbytes, dtype)
    ours, stream = gm.from_dlpack(a), torch.cuda.current_stream()
    if dtype == "uint8":
        counts = gm.DeviceArray((256,), np.uint64, backend="cuda")
        theirs = torch.empty(256, dtype=torch.int32, device="cuda")
        return {
            "histogram": {
                "gpumem": lambda: gm.histogram(ours, out=counts, stream=stream),
                **of_variants(variants, "histogram", ours, out=counts, stream=stream),
                "CUB": of_cub(cub.cub_histogram, a, theirs),
                "PyTorch": lambda: torch.bincount(a, minlength=256),
                "CuPy": lambda: cupy.bincount(cupy.from_dlpack(a), minlength=256),
            }
        }
    total, sums = torch.empty_like(a[0]), torch.empty_like(a)
    our_total, our_sums = gm.from_dlpack(total), gm.from_dlpack(sums)
    cupys = [cupy.from_dlpack(x) for x in (a, total, sums)]
    return {
        "reduce": {
            "gpumem": lambda: gm.reduce(ours, out=our_total, stream=stream),
            **of_variants(variants, "reduce", ours, out=our_total, stream=stream),
            "CUB": of_cub(cub.cub_reduce, a, total),
            "PyTorch": lambda: torch.sum(a, 0, dtype=a.dtype, out=total),
            "CuPy": lambda: cupy.sum(cupys[0], out=cupys[1]),
        },
        "scan": {
            "gpumem": lambda: gm.scan(ours, out=our_sums, stream=stream),
            **of_variants(variants, "scan", ours, out=our_sums, stream=stream),
            "CUB": of_cub(cub.cub_scan, a, sums),
            "PyTorch": lambda: torch.cumsum(a, 0, out=sums),
            "CuPy": lambda: cupy.cumsum(cupys[0], out=cupys[2]),
            "copy": lambda: gm.copy(ours, variant="memcpy", out=our_sums, stream=stream),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1M:1G:x4", help="bytes of the array")
    parser.add_argument("--variants", default="", help="variants to measure beside auto")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    import cupy
    import torch

    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        cub = compile_cub(folder)
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            for dtype in (*TYPES, "uint8"):
                for nbytes in sizes.parse_sizes(given.sizes):
                    contenders = jobs(nbytes, dtype, cub, given.variants.split(","))
                    for job, calls in contenders.items():
                        moved = nbytes * (2 if job == "scan" else 1)
                        times = measure(calls, given.rounds)
                        rates = {name: moved / ms / 1e6 for name, ms in times.items()}
                        rows.append({"job": job, "dtype": dtype, "bytes": nbytes, "rates": rates})
                        found = "  ".join(f"{name} {rate:.4g}" for name, rate in rates.items())
                        size = sizes.format_bytes(nbytes)
                        print(f"{job:9} {dtype:7} {size:>8}  {found}", flush=True)
    if given.json:
        files.write(given.json, json.dumps({"gpumem": gm.info(), "rows": rows}, default=str))


if __name__ == "__main__":
    main()
