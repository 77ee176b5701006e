"""Access through an index: `gather`."""

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
from .copy import copy
from .index_modes import Mode, followed, mode_parameters
from .inputs import MOVED, random_bytes, vector_shape
from .protocol import Array, Dtype, Family, Oracle, Shape
from .raw_bytes import copied
from .slices import LENGTHS

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call


class _How(How, total=False):
    mode: Mode


def _is_packed(index: DeviceArray) -> bool:
    """Return whether an index is aligned and without gaps."""
    return index.contiguous and index.pointer % (index.itemsize or 1) == 0


@overload
def gather(a: AnyArray, index: AnyArray, *, out: Out, **how: Unpack[_How]) -> Out: ...
@overload
def gather(
    a: DeviceArray, index: AnyArray, *, out: None = ..., **how: Unpack[_How]
) -> DeviceArray: ...
@overload
def gather(
    a: NDArray[Scalar], index: AnyArray, *, out: None = ..., **how: Unpack[_How]
) -> NDArray[Scalar]: ...
@overload
def gather(
    a: ForeignArray, index: AnyArray, *, out: None = ..., **how: Unpack[_How]
) -> DeviceArray | Any: ...
@overload
def gather(
    a: ArrayLike, index: AnyArray, *, out: None = ..., **how: Unpack[_How]
) -> NDArray[Any]: ...
def gather(
    a: AnyArray,
    index: AnyArray,
    *,
    mode: Mode = "raise",
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Read elements through an index: the result is ``a[index]``.

    Parameters
    ----------
    a : array_like or DeviceArray, shape (n,)
        What to read: any stride of its own, any dtype of plain bytes in native order.
    index : array_like or DeviceArray of int32 or int64
        Where to read, in an array of any shape; negative values count from the end.
    mode : {"raise", "wrap", "clip"}, optional
        What a value of `index` outside ``-n`` to ``n - 1`` does, as in :func:`numpy.take`: it
        raises an error, is taken modulo ``n``, or becomes the nearest of 0 and ``n - 1``. With
        "clip", negative values become 0.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest for these arguments and takes
        every layout and every element size.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, with the shape of `index` and the dtype of `a`, not
        overlapping either.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray
        A contiguous array equal to ``numpy.take(a, index, mode=mode)``, which with "raise" is
        ``a[index]``, byte for byte: on the host if the inputs are on
        the host, on the device if they are on the device. It is `out` if that is given.

    Raises
    ------
    IndexError
        With "raise", if a value of `index` is outside ``-n`` to ``n - 1``. The whole index is
        checked before the first element is read, so nothing was written then. An error that is
        raised by the call cannot be known without waiting: on device arrays the call waits once,
        for a kernel that has read the index and for the work before it on the stream. With "wrap"
        or "clip" there is neither check nor wait; the error is raised only if `a` has no elements
        and `index` has some.
    TypeError
        If `a` holds Python objects, an array is a masked array, or `index` is not of int32 or
        int64.
    ValueError
        If `a` is not one-dimensional, there is no such mode or variant, a named variant cannot take
        these arrays, or `out` does not fit or overlaps an input.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    ``cached``
        loads that may stay in the L1
    ``uncached``
        loads that bypass the L1: only the L2 keeps the data
    ``readonly``
        loads through the read-only path
    ``unroll2``
        two independent loads per thread in flight
    ``unroll4``
        four independent loads per thread in flight
    ``unroll8``
        eight independent loads per thread in flight
    ``words``
        four neighbours of the result at a time: vectors of the index, one turn ahead

    Kernels that only serve ``auto``:

    ``any``
        any layout and element, split into power-of-two accesses
    ``checked``
        of up to 2048 indices each block checks all before it moves its elements

    References
    ----------
    .. [1] M. Harris, "How to Access Global Memory Efficiently in CUDA C/C++ Kernels", NVIDIA
       Technical Blog, 2013.
    .. [2] NVIDIA, "CUDA C++ Best Practices Guide", section Coalesced Access to Global Memory.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.gather(np.array([10, 20, 30]), np.array([[2, 0], [-1, 1]]))
    array([[30, 10],
           [30, 20]])
    >>> gm.gather(np.array([10, 20, 30]), np.array([4, -7]), mode="clip")
    array([30, 10])
    """
    parameters = mode_parameters(mode)
    if isinstance(variant, str) and variant == "any":  # of a, not of the index
        a, index, _ = _core.adopt_all("gather", (a, index), out, stream)
        if isinstance(index, _core.DeviceArray) and not _is_packed(index):
            index = copy(index, stream=stream)
    return _call("gather", variant, (a, index), out, stream, backend, parameters)


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """Return an array, and an index of the same size with values of both signs."""
    n = math.prod(shape)
    index = random.integers(-n, n, n) if n else np.empty(0, "i8")
    return random_bytes(shape, dtype, random), index


def _expected(a: Any, index: Any, mode: Mode = "raise", **_: Any) -> Array:
    return copied(copied(a)[followed(index, len(a), mode)])


def _work(shape: Shape, itemsize: int, **_: Any) -> tuple[int, None]:
    """Return the bytes of each element, read and written, and of its index, which is read."""
    return math.prod(shape) * (2 * itemsize + 8), None


def _in_order(inputs: tuple[Array, ...]) -> tuple[Any, ...]:
    return inputs[0], np.arange(inputs[0].size)


def _inputs(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    return (shape, dtype), ((math.prod(shape),), "int64")


def _by_torch(out: Any, a: Any, index: Any) -> None:
    import torch

    torch.take(a, index, out=out)


def _by_cupy(out: Any, a: Any, index: Any) -> None:
    a.take(index, out=out)


FAMILY = Family(
    function=gather,
    oracle=Oracle(
        arguments=_arguments,
        inputs=_inputs,
        expected=_expected,
        bound=None,
        work=_work,
        shape=vector_shape,
        shapes=LENGTHS,
        dtypes=MOVED,
        claimed=_in_order,
    ),
    parameters=mode_parameters,
    peers={"torch": _by_torch, "cupy": _by_cupy},
    peers_ignore_keywords=False,
)
