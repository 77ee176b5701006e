"""Measure what it costs the host to take an array, for each kind of array that is installed.

    python tools/argument_overhead.py            # arrays of the host; with a GPU, the GPU's too

For arrays of the host: memory_kind only looks at the array, from_dlpack keeps it, copy runs on the
simulator. For arrays of a GPU: copy and a launch of a loaded kernel, both with two arrays; the last
column is what each of the two costs beyond a DeviceArray. Figures are the least of several rounds.
"""

from __future__ import annotations

import os
import timeit
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import gpumem as gm

LOOPS, ROUNDS = 200, 100  # fewer calls in a row than the driver queues before one blocks
N = 6
SOURCE = "__global__ void nothing(const float *x, float *y) {}"


class ByProtocol:
    """An array that is read by __dlpack__, in Python."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class ByInterface:
    """An array of a GPU that is read by a dict, which is made each time as CuPy makes it."""

    def __init__(self, array: gm.DeviceArray) -> None:
        self.array = array
        self.said = array.__cuda_array_interface__ | {"stream": 1}

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return dict(self.said)


def on_the_host(a: np.ndarray[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield arrays of the host by the name of their library."""
    yield "NumPy", a
    yield "only __dlpack__", ByProtocol(a)
    try:
        import torch

        yield "PyTorch", torch.from_numpy(a)
    except ImportError:
        pass
    try:
        import tvm_ffi

        yield "TVM FFI", tvm_ffi.from_dlpack(a)
    except ImportError:
        pass
    try:
        import jax

        yield "JAX", jax.device_put(a, jax.devices("cpu")[0])
    except ImportError:
        pass


def on_the_gpu(a: np.ndarray[Any, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield two arrays of the GPU by the name of their library; the first are gpumem's."""
    x, y = gm.to_device(a, backend="cuda"), gm.to_device(a, backend="cuda")
    yield "DeviceArray", x, y
    yield "only __dlpack__", ByProtocol(x), ByProtocol(y)
    yield "only __cuda_array_interface__", ByInterface(x), ByInterface(y)
    try:
        import torch

        yield "PyTorch", torch.tensor(a, device="cuda"), torch.tensor(a, device="cuda")
    except ImportError:
        pass
    try:
        import cupy

        yield "CuPy", cupy.array(a), cupy.array(a)
    except ImportError:
        pass
    try:
        from numba import cuda

        yield "Numba", cuda.to_device(a), cuda.to_device(a)
    except ImportError:
        pass


def nanoseconds(call: Callable[[], object], backend: str = "cuda") -> float:
    """Return what a call takes; the queue of the GPU is empty before each round."""
    seconds = []
    for _ in range(ROUNDS):
        gm.synchronize(backend)
        seconds.append(timeit.timeit(call, number=LOOPS))
    return min(seconds) / LOOPS * 1e9


def report_host() -> None:
    print(f"{'on the host, ns':32}{'memory_kind':>14}{'from_dlpack':>14}{'copy':>14}")
    for name, x in on_the_host(np.arange(N, dtype="f4")):
        calls: list[Callable[[], object]] = [
            lambda x=x: gm.memory_kind(x),
            lambda x=x: gm.from_dlpack(x),
            lambda x=x: gm.copy(x, backend="sim"),
        ]
        row = []
        for call in calls:
            try:
                call()
                row.append(f"{nanoseconds(call, 'sim'):14.0f}")
            except (TypeError, ValueError, RuntimeError, BufferError):
                row.append(f"{'-':>14}")
        print(f"{name:32}" + "".join(row))


def report_gpu() -> None:
    kernel = gm.load(source=SOURCE, backend="cuda")["nothing"]
    print(f"\n{'on the GPU, ns':32}{'copy(x, out=y)':>16}{'k[1, 1](x, y)':>16}{'each array':>14}")
    base = 0.0
    for name, x, y in on_the_gpu(np.arange(N, dtype="f4")):
        copied = nanoseconds(lambda x=x, y=y: gm.copy(x, out=y))
        launched = nanoseconds(lambda x=x, y=y: kernel[1, 1](x, y))
        base = base or launched
        print(f"{name:32}{copied:16.0f}{launched:16.0f}{(launched - base) / 2:14.0f}")


def main() -> None:
    with_gpu = gm.info()["backends"]["cuda"]["available"]
    os.environ["GPUMEM_BACKEND"] = "sim"  # from_dlpack takes arrays of the host there
    report_host()
    if with_gpu:
        report_gpu()


if __name__ == "__main__":
    main()
