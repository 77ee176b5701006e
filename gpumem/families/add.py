"""Kinds of host memory: `add`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .. import _core
from ..base.arrays import (
    AnyArray,
    AnyStream,
    ArrayLike,
    DeviceArray,
    ForeignArray,
    How,
    NDArray,
    Out,
    Result,
    Scalar,
)
from .inputs import floats, vector_shape
from .protocol import Array, Dtype, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call


@overload
def add(a: AnyArray, b: AnyArray, *, out: Out, **how: Unpack[How]) -> Out: ...
@overload
def add(a: DeviceArray, b: AnyArray, *, out: None = ..., **how: Unpack[How]) -> DeviceArray: ...
@overload
def add(
    a: NDArray[Scalar], b: AnyArray, *, out: None = ..., **how: Unpack[How]
) -> NDArray[Scalar]: ...
@overload
def add(
    a: ForeignArray, b: AnyArray, *, out: None = ..., **how: Unpack[How]
) -> DeviceArray | Any: ...
@overload
def add(a: ArrayLike, b: AnyArray, *, out: None = ..., **how: Unpack[How]) -> NDArray[Any]: ...
def add(
    a: AnyArray,
    b: AnyArray,
    *,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Add two arrays, which may be in any kind of memory.

    Parameters
    ----------
    a, b : array_like or DeviceArray
        Numbers of 32 or 64 bits: int32, int64, uint32, uint64, float32 or float64, both of one
        dtype and shape.
    variant : str, optional
        How the arrays reach the device (see Notes). "auto" uses them in place if all of them,
        the result included, are in mapped memory, or all in managed memory; others are copied.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, with the shape and dtype of `a`, not overlapping
        either.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray
        ``a + b``: on the host if they are on the host, on the device if they are on the device.
        Integers wrap around. A new array on the host is mapped or managed if `a` is and was used
        in place.

    Raises
    ------
    TypeError
        If a dtype is not one of these, the dtypes differ, or an array is a masked array.
    ValueError
        If the shapes differ, `out` does not fit or overlaps an input, there is no such variant,
        or a named variant cannot take these arrays: "zero_copy" needs all three in page-locked
        memory, "managed" in managed memory.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    ``explicit``
        the arrays are copied to the device, and the sum back
    ``zero_copy``
        the kernel uses page-locked memory of the host in place, over the bus
    ``managed``
        one pointer for both sides: pages migrate when the kernel touches them
    ``managed_prefetch``
        all pages are prefetched before the kernel

    Kernels that only serve ``auto``:

    ``shifted``
        arrays that begin anywhere: aligned vectors, joined in registers

    References
    ----------
    .. [1] J. Cheng, M. Grossman and T. McKercher, "Professional CUDA C Programming", 2014,
       chapter 4: pinned, zero-copy and unified memory.
    .. [2] NVIDIA, "CUDA C++ Programming Guide", chapters Page-Locked Host Memory and Unified
       Memory Programming.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> a = gm.empty(3, kind="mapped")
    >>> a[:] = [1, 2, 3]
    >>> gm.add(a, a, variant="zero_copy")
    array([2., 4., 6.], dtype=float32)
    """
    return _call("add", variant, (a, b), out, stream, backend, ())


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    length = (math.prod(shape),)
    return tuple(floats(length, dtype, random)[0].reshape(shape) for _ in range(2))


def _expected(a: Any, b: Any, **_: Any) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.asarray(a) + np.asarray(b))


def _bound(a: Any, b: Any, **_: Any) -> Array:
    return np.zeros(np.shape(a))


def _work(shape: Shape, itemsize: int, **_: Any) -> tuple[int, int]:
    return 3 * math.prod(shape) * itemsize, math.prod(shape)


def _inputs(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    return (shape, dtype), (shape, dtype)


FAMILY = Family(
    function=add,
    oracle=Oracle(
        arguments=_arguments,
        inputs=_inputs,
        expected=_expected,
        bound=_bound,
        work=_work,
        shape=vector_shape,
        shapes=((), (0,), (1,), (3,), (31,), (33,), (65537,), (2**20 + 3,), (3, 5, 7), (4, 0)),
        dtypes=("float32", "float64", "int32", "int64", "uint32", "uint64"),
    ),
)
