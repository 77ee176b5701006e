"""The sum of all elements: `reduce`."""

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
from .inputs import SUMMED, numbers_to_sum, rounding_of_sums, vector_shape
from .protocol import Array, Dtype, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call


@overload
def reduce(a: AnyArray, *, out: Out, **how: Unpack[How]) -> Out: ...
@overload
def reduce(a: DeviceArray, *, out: None = ..., **how: Unpack[How]) -> DeviceArray: ...
@overload
def reduce(a: NDArray[Scalar], *, out: None = ..., **how: Unpack[How]) -> NDArray[Scalar]: ...
@overload
def reduce(a: ForeignArray, *, out: None = ..., **how: Unpack[How]) -> DeviceArray | Any: ...
@overload
def reduce(a: ArrayLike, *, out: None = ..., **how: Unpack[How]) -> NDArray[Any]: ...
def reduce(
    a: AnyArray,
    *,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Add up all elements of an array.

    Parameters
    ----------
    a : array_like or DeviceArray of int32, int64, uint32, uint64, float32 or float64
        The elements: any shape and layout.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks one whose sums of floats are the same bits
        each time, and takes every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: of shape () and the dtype of `a`, not overlapping it.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray, shape ()
        The sum, of the dtype of `a`: on the host if `a` is on the host, on the device if `a` is
        on the device. It is `out` if that is given. Integers wrap around, as in
        ``np.sum(a, dtype=a.dtype)``. The sum of no elements is 0.

    Raises
    ------
    TypeError
        If `a` is of another dtype, or is a masked array.
    ValueError
        If there is no such variant, a named variant cannot take these arrays, or `out` does not
        fit or overlaps `a`.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    Floats are added in their own precision. ``two_pass``, ``last_block`` and ``cluster`` add them
    in an order that depends on nothing but the length, the address modulo 16 and the number of
    multiprocessors: many short sums, then the sum of these. The others end in atomic additions,
    whose order is that of arrival, and so is the rounding.

    The variants, each with the idea that it adds:

    ``atomic``
        an atomic addition per element, all to one address
    ``warp_atomic``
        shuffles add up a warp: an atomic addition per 32 elements
    ``block_atomic``
        warps meet in shared memory: an atomic addition per 256 elements
    ``grid_stride``
        threads add many elements each: an atomic addition per resident block
    ``vec4``
        128-bit loads, four in flight per thread
    ``two_pass``
        a second launch adds the blocks' sums in a fixed order: the same bits each time
    ``last_block``
        the block that ends last adds the sums: one pass, the same bits each time
    ``cluster``
        one cluster: sums meet in shared memory, in one launch; the same bits each time

    References
    ----------
    .. [1] M. Harris, "Optimizing Parallel Reduction in CUDA", NVIDIA, 2007.
    .. [2] J. Luitjens, "Faster Parallel Reductions on Kepler", NVIDIA Technical Blog, 2014.
    .. [3] NVIDIA, "CUDA C++ Programming Guide", section Memory Fence Functions.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.reduce(np.arange(5.0))
    array(10.)
    >>> int(gm.reduce(np.array([2**31, 2**31 + 1], np.uint32)))  # wraps around
    1
    """
    return _call("reduce", variant, (a,), out, stream, backend, ())


def _expected(a: Any, **_: Any) -> Array:
    a = np.asarray(a)
    if a.dtype.kind != "f":
        return np.asarray(a.sum(dtype=a.dtype))
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(a.sum(dtype=np.longdouble).astype(a.dtype))


def _bound(a: Any, **_: Any) -> Array:
    """Allow the rounding of a sum of this many terms in any order."""
    a = np.asarray(a)
    if a.dtype.kind != "f":
        return np.zeros(())
    magnitudes = np.abs(a[np.isfinite(a)], dtype=np.float64)
    return np.asarray(rounding_of_sums(a.dtype, a.size) * magnitudes.sum())


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    return (numbers_to_sum(shape, dtype, random),)


def _work(shape: Shape, itemsize: int, **_: Any) -> tuple[int, None]:
    """Return the bytes of the elements and of the sum."""
    return (math.prod(shape) + 1) * itemsize, None


def _torch(out: Any, a: Any) -> None:
    import torch

    torch.sum(a.reshape(-1), dim=0, dtype=a.dtype, out=out)


def _cupy(out: Any, a: Any) -> None:
    a.sum(dtype=a.dtype, out=out)


FAMILY = Family(
    function=reduce,
    oracle=Oracle(
        arguments=_arguments,
        expected=_expected,
        bound=_bound,
        work=_work,
        shape=vector_shape,
        shapes=((), (0,), (1,), (3,), (31,), (33,), (257,), (4099,), (65537,), (3, 5, 7), (4, 0)),
        dtypes=SUMMED,
    ),
    peers={"torch": _torch, "cupy": _cupy},
)
