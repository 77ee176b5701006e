"""Measure what a launch of a user's kernel costs the host, beside CuPy's RawKernel and cuda-core.

    python tools/launch_overhead.py

Needs a GPU and CuPy. All launch the same small kernel with two arrays and two scalars, in turns;
a figure is the median of many rounds, each the mean of launches in a row without waiting.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import gpumem as gm

SOURCE = """
extern "C" __global__ void saxpy(const float *x, float *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
N, GRID, BLOCK = 1024, 4, 256
ROUNDS = 100
LAUNCHES = 200  # fewer than the driver queues before a launch blocks


def contenders() -> dict[str, Callable[[], object]]:
    """Return what is measured, by name; the first is CuPy's."""
    import cupy

    module = gm.load(source=SOURCE, backend="cuda")
    kernel = module["saxpy"]
    ready = kernel[GRID, BLOCK]
    x, y = (gm.to_device(np.ones(N, np.float32)) for _ in range(2))
    cx, cy = cupy.ones(N, cupy.float32), cupy.ones(N, cupy.float32)
    raw = cupy.RawKernel(SOURCE, "saxpy")
    n, a = np.int32(N), np.float32(0.5)
    stream = gm.Stream(backend="cuda")
    found: dict[str, Callable[[], object]] = {
        "CuPy RawKernel": lambda: raw((GRID,), (BLOCK,), (cx, cy, n, a)),
        "k[grid, block](...), DeviceArrays": lambda: kernel[GRID, BLOCK](x, y, N, 0.5),
        "k[(grid,), (block,)](...)": lambda: kernel[(GRID,), (BLOCK,)](x, y, N, 0.5),
        "launch = k[grid, block]; launch(...)": lambda: ready(x, y, N, 0.5),
        "NumPy scalars": lambda: kernel[GRID, BLOCK](x, y, n, a),
        "on a stream": lambda: kernel[GRID, BLOCK, stream](x, y, N, 0.5),
        "CuPy arrays": lambda: kernel[GRID, BLOCK](cx, cy, N, 0.5),
    }
    try:
        import torch

        tx, ty = (torch.ones(N, device="cuda") for _ in range(2))
        found["PyTorch tensors"] = lambda: kernel[GRID, BLOCK](tx, ty, N, 0.5)
    except ImportError:
        pass
    found["cuda-core's launch"] = by_cuda_core(module, x.pointer, y.pointer)
    return found


def by_cuda_core(module: gm.Module, x: int, y: int) -> Callable[[], object]:
    """Return a launch of the same machine code by cuda-core itself."""
    from gpumem.cuda_c.nvrtc import core_library

    library = core_library()
    code = library.ObjectCode.from_cubin(module.side.compiled.path.read_bytes())
    kernel = code.get_kernel("saxpy")
    device = library.Device()
    device.set_current()
    stream = device.default_stream
    config = library.LaunchConfig(grid=GRID, block=BLOCK)
    n, a = np.int32(N), np.float32(0.5)
    return lambda: library.launch(stream, config, kernel, x, y, n, a)


def main() -> None:
    measured = contenders()
    times: dict[str, list[float]] = {name: [] for name in measured}
    for call in measured.values():
        call()
    for _ in range(ROUNDS):
        for name, call in measured.items():
            gm.synchronize("cuda")
            begin = time.perf_counter()
            for _ in range(LAUNCHES):
                call()
            times[name].append((time.perf_counter() - begin) / LAUNCHES)
    gm.synchronize("cuda")
    base = statistics.median(next(iter(times.values())))
    for name, each in times.items():
        middle = statistics.median(each)
        print(f"{name:40} {middle * 1e6:7.2f} us   {middle / base:5.2f}")


if __name__ == "__main__":
    main()
