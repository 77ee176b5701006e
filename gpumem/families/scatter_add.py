"""Atomic additions through an index: `scatter_add`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..base.arrays import AnyArray, AnyStream, Out
from .index_modes import Mode, followed, mode_parameters
from .inputs import SUMMED, numbers_to_sum, rounding_of_sums, vector_shape
from .protocol import Array, Dtype, Family, Oracle, Shape

_call = _core.call

_SHARED = 4096  # elements of out, of which a block of `shared` has room for 48 KiB


def scatter_add(
    out: Out,
    index: AnyArray,
    a: AnyArray,
    *,
    mode: Mode = "raise",
    variant: str = "auto",
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Out:
    """Add elements where an index says, in place: ``out[index] += a``, also for repeated indices.

    Parameters
    ----------
    out : ndarray or DeviceArray of int32, int64, uint32, uint64, float32 or float64, shape (n,)
        What to add to: any stride.
    index : array_like or DeviceArray of int32 or int64
        Where to add, in an array of any shape and layout; negative values count from the end.
    a : array_like or DeviceArray
        What to add: of the shape of `index` and the dtype of `out`, in any layout. Neither it nor
        `index` may overlap `out`.
    mode : {"raise", "wrap", "clip"}, optional
        What a value of `index` outside ``-n`` to ``n - 1`` does, as in :func:`gpumem.gather`: it
        raises an error, is taken modulo ``n``, or becomes the nearest of 0 and ``n - 1``. With
        "clip", negative values become 0.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks one by the dtype and the sizes, and takes every
        layout.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray
        `out`, to which every element of `a` has been added, as ``np.add.at(out, index, a)`` does
        once the mode has changed the index. Integers wrap around.

    Raises
    ------
    IndexError
        With "raise", if a value of `index` is outside ``-n`` to ``n - 1``. The whole index is
        checked before the first element is added, so nothing was written then. On device arrays
        the call waits for that once, as :func:`gpumem.gather` does. With "wrap" or "clip" there is
        neither check nor wait; the error is raised only if `out` has no elements and `index` has
        some.
    TypeError
        If `out` is not an array, an array is of another dtype or a masked array, or `a` is not of
        the dtype of `out`.
    ValueError
        If `out` is not one-dimensional, is read-only or overlaps another array, `a` does not have
        the shape of `index`, there is no such mode or variant, or a named variant cannot take these
        arrays.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    Floats are added in their own precision and in the order of arrival, so that results differ
    from run to run by rounding. Of k numbers whose magnitudes add up to s, one of them the old
    value, ``verify`` allows a sum an error of eps (8 + sqrt(k)) s: rounding errors add up like a
    random walk. In the memory of a device the additions of float32 also take subnormal numbers for
    zero, which is less than 2**-126 for each of the k.

    The variants, each with the idea that it adds:

    ``returning``
        atomic additions that return the old value: threads wait for it
    ``reduction``
        nothing is returned: the addition is sent to the L2
    ``system``
        atomic for the host and other devices too
    ``warp_aggregated``
        one addition for all lanes of a warp with the same index
    ``runs``
        one addition for neighbours with the same index
    ``shared``
        sums per block in shared memory, for an out of at most 48 KiB

    Kernels that only serve ``auto``:

    ``checked``
        of up to 2048 indices each block checks all before it adds its elements

    References
    ----------
    .. [1] NVIDIA, "CUDA C++ Programming Guide", section Atomic Functions.
    .. [2] A. Adinets, "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics", NVIDIA
       Technical Blog, 2014.
    .. [3] E. Westphal, "Voting and Shuffling to Optimize Atomic Operations", NVIDIA Technical
       Blog, 2015.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.scatter_add(np.zeros(4, int), np.array([2, 0, 2, -1]), np.array([1, 10, 100, 1000]))
    array([  10,    0,  101, 1000])
    >>> gm.scatter_add(np.zeros(4, int), np.array([5, -9]), np.array([1, 10]), mode="wrap")
    array([ 0,  1,  0, 10])
    """
    parameters = mode_parameters(mode)
    added: Out = _call("scatter_add", variant, (out, index, a), None, stream, backend, parameters)
    return added


def _sizes(shape: Shape) -> tuple[int, int]:
    """Return the length of `out` and the number of additions: the same if only one is given."""
    if len(shape) not in (1, 2):
        raise ValueError(f"shape is {shape}, expected (n,) or (length of out, number of additions)")
    length, count = shape[0], shape[-1]
    if length == 0 < count:
        raise ValueError(f"shape is {shape}, and out would have no element to add to")
    return length, count


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """Return an array, a random index and numbers to add.

    The index has no negative values, which peers do not take.
    """
    length, count = _sizes(shape)
    index = random.integers(0, max(length, 1), count)
    return (
        numbers_to_sum((length,), dtype, random),
        index,
        numbers_to_sum((count,), dtype, random),
    )


def _added(out: Array, index: Array, a: Array) -> Array:
    """Return what ``np.add.at`` makes of a copy of `out`."""
    result: Array = out.copy()
    with np.errstate(invalid="ignore", over="ignore"):
        np.add.at(result, index, a)
    return result


def _expected(out: Any, index: Any, a: Any, mode: Mode = "raise", **_: Any) -> Array:
    out, a = map(np.asarray, (out, a))
    index = followed(index, len(out), mode)
    if out.dtype.kind != "f":
        return _added(out, index, a)
    exact = _added(out.astype(np.longdouble), index, a.astype(np.longdouble))
    with np.errstate(over="ignore"):
        return np.asarray(exact.astype(out.dtype))


def _bound(out: Any, index: Any, a: Any, mode: Mode = "raise", **_: Any) -> Array:
    """Allow the rounding of a sum of the old value and what is added, in any order.

    Global atomics of float32 take subnormal numbers for zero.
    """
    out, a = map(np.asarray, (out, a))
    index = followed(index, len(out), mode)
    if out.dtype.kind != "f":
        return np.zeros(out.shape)
    old, new = (np.where(np.isfinite(x), abs(x.astype(np.float64)), 0) for x in (out, a))
    sums = _added(old, index, new)
    terms = _added(np.ones(out.shape), index, np.ones(a.shape))
    flushed = terms * float(np.finfo(out.dtype).tiny) if out.dtype.itemsize == 4 else 0
    return np.asarray(rounding_of_sums(out.dtype, terms) * sums + flushed)


def _work(shape: Shape, itemsize: int, **_: Any) -> tuple[int, None]:
    """Return the bytes of index and elements, which are read, and of `out`, read and written."""
    length, count = _sizes(shape)
    return count * (itemsize + 8) + 2 * min(length, count) * itemsize, None


def _inputs(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    length, count = _sizes(shape)
    return ((length,), dtype), ((count,), "int64"), ((count,), dtype)


def _in_order(inputs: tuple[Array, ...]) -> tuple[Any, ...]:
    out, _, a = inputs
    return out, np.arange(a.size) % max(out.size, 1), a


def _few(nbytes: int, itemsize: int) -> Shape:
    """Return a shape with as many additions, whose `out` fits in shared memory."""
    count = nbytes // itemsize
    return min(count, _SHARED), count


def _torch(out: Any, _: Any, index: Any, a: Any) -> None:
    out.index_add_(0, index, a)


def _cupy(out: Any, _: Any, index: Any, a: Any) -> None:
    import cupyx

    cupyx.scatter_add(out, index, a)


FAMILY = Family(
    function=scatter_add,
    oracle=Oracle(
        arguments=_arguments,
        inputs=_inputs,
        expected=_expected,
        bound=_bound,
        work=_work,
        shape=vector_shape,
        shapes=(
            (0,),
            (5, 0),
            (1,),
            (31,),
            (33,),
            (257,),
            (4099,),
            (1, 4099),
            (7, 65537),
            (300, 33333),
            (65537, 300),
        ),
        dtypes=SUMMED,
        shapes_of={"shared": _few},
        claimed=_in_order,
    ),
    parameters=mode_parameters,
    peers={"torch": _torch, "cupy": _cupy},
    peers_ignore_keywords=False,
)
