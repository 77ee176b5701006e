"""Coalescing of stores: `strided_write`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from ..base.arrays import AnyArray, AnyStream, Out
from .inputs import MOVED, random_bytes, vector_shape
from .protocol import Array, Dtype, Family, Oracle, Shape
from .raw_bytes import copied, opaque
from .slices import KEYWORDS, LENGTHS, slice_length, slice_parameters, slice_work

_call = _core.call


def strided_write(
    out: Out,
    a: AnyArray,
    offset: int = 1,
    stride: int = 2,
    *,
    threads: int | None = None,
    variant: str = "auto",
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Out:
    """Write every stride-th element, in place: ``out[offset::stride] = a``.

    Parameters
    ----------
    out : ndarray or DeviceArray, shape (n,)
        What to write to; its other elements keep their values. On the host, any stride of its own.
    a : array_like or DeviceArray
        As many elements as the slice has, of the dtype of `out`, not overlapping it.
    offset, stride : int
        As in a slice: negative values count from the end and go backwards, and what lies past
        the ends is cut off. `stride` is not 0.
    threads : int, optional
        Threads per block, 32 to 1024, a multiple of 32, for the variants with a kernel. By default
        256. With it "auto" takes one of these.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest for these arguments and takes
        every layout and every element size.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray
        `out`.

    Raises
    ------
    TypeError
        If `out` is not an array, the dtypes differ, an array is a masked array, or another
        argument is of the wrong type.
    ValueError
        If an array is not one-dimensional, `a` does not have the slice's length, `stride` is 0,
        `threads` is out of range or the variant has a block of its own, the arrays overlap, `out`
        is read-only, there is no such variant, or a named variant cannot take these arrays. Nothing
        was written then.
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

    Kernels that only serve ``auto``:

    ``any``
        any layout and element, split into power-of-two accesses
    ``strided``
        any layout and element; a slice without steps is a copy

    References
    ----------
    .. [1] M. Harris, "How to Access Global Memory Efficiently in CUDA C/C++ Kernels", NVIDIA
       Technical Blog, 2013.
    .. [2] NVIDIA, "CUDA C++ Best Practices Guide", section Coalesced Access to Global Memory.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.strided_write(np.zeros(5, int), np.array([7, 8]), 1, 2)
    array([0, 7, 0, 8, 0])
    """
    parameters = slice_parameters(offset, stride, threads)
    written: Out = _call("strided_write", variant, (out, a), None, stream, backend, parameters)
    return written


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **keywords: Any
) -> tuple[Any, ...]:
    if len(shape) != 1:
        raise ValueError(f"shape is {shape}, expected one dimension")
    lengths = (shape[0], slice_length(shape[0], **keywords))
    return tuple(random_bytes((length,), dtype, random) for length in lengths)


def _expected(out: Any, a: Any, offset: int = 1, stride: int = 2, **_: Any) -> Array:
    result = copied(out)
    if result.dtype.itemsize:
        opaque(result)[offset::stride] = opaque(np.ascontiguousarray(a))
    return result


def _inputs(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    return (shape, dtype), ((slice_length(math.prod(shape)),), dtype)


FAMILY = Family(
    function=strided_write,
    parameters=slice_parameters,
    oracle=Oracle(
        arguments=_arguments,
        inputs=_inputs,
        expected=_expected,
        bound=None,
        work=slice_work,
        shape=vector_shape,
        shapes=LENGTHS,
        dtypes=MOVED,
        keywords=KEYWORDS,
    ),
)
