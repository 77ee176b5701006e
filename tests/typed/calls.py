"""Calls with the types that they should have; tools/check_types.py gives this to mypy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import assert_type

import gpumem as gm

Floats = NDArray[np.float32]
File = np.memmap[Any, np.dtype[np.float32]]


class Tensor:
    """An array of another library, which offers what PyTorch's tensors do."""

    def __dlpack__(self, *, stream: int | None = -1, copy: bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __array__(self, dtype: Any = None) -> NDArray[Any]:
        raise TypeError("it is on the device")


class Lent:
    """An array of a library that has no more than this."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {}


def moved(a: Floats, d: gm.DeviceArray, t: Tensor, n: Lent) -> None:
    """Functions that keep the dtype."""
    assert_type(gm.copy(a), Floats)
    assert_type(gm.copy(a, variant="vec4", max_blocks=3, backend="sim"), Floats)
    assert_type(gm.copy(d, stream=7), gm.DeviceArray)
    assert_type(gm.copy(t), gm.DeviceArray | Any)
    assert_type(gm.copy(n), gm.DeviceArray | Any)
    assert_type(gm.copy([1, 2]), NDArray[Any])
    assert_type(gm.copy(2.5), NDArray[Any])
    assert_type(gm.transpose(a, block=(32, 8)), Floats)
    assert_type(gm.transpose(d), gm.DeviceArray)
    assert_type(gm.permute(a, (1, 0)), Floats)
    assert_type(gm.permute(d, axes=[1, 0]), gm.DeviceArray)
    assert_type(gm.strided_read(a, 1, stride=3), Floats)
    assert_type(gm.strided_read(d), gm.DeviceArray)
    assert_type(gm.strided_read(a, threads=64), Floats)
    assert_type(gm.gather(a, [1, 2]), Floats)
    assert_type(gm.gather(d, t), gm.DeviceArray)
    assert_type(gm.stream(a, writes=2), Floats)
    assert_type(gm.stream(d, 0), gm.DeviceArray)
    assert_type(gm.chase(a, 5, start=2), Floats)
    assert_type(gm.chase(d), gm.DeviceArray)
    assert_type(gm.static_value(a), Floats)
    assert_type(gm.static_value(d), gm.DeviceArray)
    assert_type(gm.reduce(a), Floats)
    assert_type(gm.reduce(d), gm.DeviceArray)
    assert_type(gm.scan(a), Floats)
    assert_type(gm.scan(d), gm.DeviceArray)


def computed(a: Floats, d: gm.DeviceArray, t: Tensor) -> None:
    """Functions whose result has the dtype of the first array, or one of their own."""
    assert_type(gm.add(a, a), Floats)
    assert_type(gm.add(d, t), gm.DeviceArray)
    assert_type(gm.histogram(a), NDArray[np.uint64])
    assert_type(gm.histogram([1, 2]), NDArray[np.uint64])
    assert_type(gm.histogram(d), gm.DeviceArray)
    assert_type(gm.add(t, d), gm.DeviceArray | Any)
    assert_type(gm.shift_points(a, 1, 2.5), Floats)
    assert_type(gm.shift_points(d, 1, 2), gm.DeviceArray)
    assert_type(gm.polynomial(a, [1.0, 2.0], carveout=50), Floats)
    assert_type(gm.polynomial(d, d), gm.DeviceArray)
    assert_type(gm.sample(a, a), Floats)
    assert_type(gm.sample(d, d), gm.DeviceArray)
    assert_type(gm.prefetch_sum(a, padding="auto", sync=True), NDArray[np.float64])
    assert_type(gm.prefetch_sum(d, distance=4), gm.DeviceArray)
    assert_type(gm.sgemm(a, a, a, alpha=2, beta=1, trans_a=True), Floats)
    assert_type(gm.sgemm([[1.0]], a), Floats)
    assert_type(gm.sgemm(d, d, beta=1, c=d), gm.DeviceArray)
    assert_type(gm.matmul(a, a), Floats)
    assert_type(gm.matmul(d, t), gm.DeviceArray)


def into(
    a: Floats, d: gm.DeviceArray, t: Tensor, out: np.memmap[Any, np.dtype[np.float32]]
) -> None:
    """The result is `out` itself."""
    assert_type(gm.copy(a, out=out), File)
    assert_type(gm.transpose(t, out=d), gm.DeviceArray)
    assert_type(gm.permute(d, (1, 0), out=t), Tensor)
    assert_type(gm.strided_read([1, 2], out=a), Floats)
    assert_type(gm.gather(d, d, out=t), Tensor)
    assert_type(gm.static_value(a, out=a), Floats)
    assert_type(gm.add(d, d, out=t), Tensor)
    assert_type(gm.shift_points(a, 1, 2, out=a), Floats)
    assert_type(gm.polynomial(d, t, out=d), gm.DeviceArray)
    assert_type(gm.sample(d, d, out=t), Tensor)
    assert_type(gm.prefetch_sum(a, out=a), Floats)
    assert_type(gm.sgemm(d, d, out=t), Tensor)
    assert_type(gm.matmul(d, d, out=d), gm.DeviceArray)
    assert_type(gm.strided_write(a, [1, 2], 1, 3), Floats)
    assert_type(gm.strided_write(t, d), Tensor)
    assert_type(gm.strided_write(a, [1, 2], 1, 3, threads=64), Floats)
    assert_type(gm.scatter_add(a, [0, 0], [1, 2], mode="wrap"), Floats)
    assert_type(gm.scatter_add(d, t, t, variant="reduction", stream=7), gm.DeviceArray)
    assert_type(d.to_host(out=a), Floats)


def made(a: Floats, d: gm.DeviceArray, t: Tensor) -> None:
    """Arrays on the host and on the device, and what is lent."""
    assert_type(gm.to_device(a), gm.DeviceArray)
    assert_type(gm.to_device([1, 2]), gm.DeviceArray)
    assert_type(gm.to_device(t), gm.DeviceArray)
    assert_type(gm.from_dlpack(a, copy=True), gm.DeviceArray)
    assert_type(gm.from_dlpack(t, device=0), gm.DeviceArray)
    assert_type(gm.from_dlpack(np.from_dlpack(d)), gm.DeviceArray)
    assert_type(gm.empty(3), Floats)
    assert_type(gm.empty((3, 4), np.int16, kind="pinned"), NDArray[np.int16])
    assert_type(gm.empty([3], np.dtype(np.float32)), Floats)
    assert_type(gm.empty(3, "int32"), NDArray[Any])
    assert_type(d.to_host(), NDArray[Any])
    assert_type(d[1:, ::2].T.reshape(-1), gm.DeviceArray)


def reported() -> None:
    """Results and reports."""
    assert_type(gm.results["copy-h200"], gm.BenchResult)
    assert_type(gm.results.for_family("copy").filter(variant="auto"), gm.BenchResult)
    assert_type(list(gm.results), list[str])
    assert_type(gm.traffic("copy"), gm.Traffic)
    assert_type(gm.bench("copy"), gm.BenchResult)
    assert_type(gm.variants("copy"), list[gm.Variant])
    assert_type(gm.Stream.current(), gm.Stream | None)


def refused(a: Floats, d: gm.DeviceArray) -> None:
    """What is an error at run time, and for mypy."""
    gm.copy(object())  # type: ignore[call-overload]
    gm.copy(a, max_block=3)  # type: ignore[call-overload]
    gm.copy(a, out=[0, 0])  # type: ignore[call-overload]
    gm.transpose(d, block=32)  # type: ignore[call-overload]
    gm.strided_write([0, 0], a)  # type: ignore[type-var]
    gm.scatter_add([0, 0], [1], [2])  # type: ignore[type-var]
    gm.to_device(d, 0)  # type: ignore[call-arg]
    gm.from_dlpack([1, 2])  # type: ignore[arg-type]
    d.to_host(out=d)  # type: ignore[call-overload]
    _: ArrayLike = d  # type: ignore[assignment]
