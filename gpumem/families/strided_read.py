"""Coalescing of loads: `strided_read`."""

from __future__ import annotations

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
from .inputs import MOVED, one_array, vector_shape
from .protocol import Array, Family, Oracle
from .raw_bytes import copied
from .slices import KEYWORDS, LENGTHS, slice_parameters, slice_work

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call


class _How(How, total=False):
    threads: int | None


@overload
def strided_read(
    a: AnyArray, offset: int = ..., stride: int = ..., *, out: Out, **how: Unpack[_How]
) -> Out: ...
@overload
def strided_read(
    a: DeviceArray, offset: int = ..., stride: int = ..., *, out: None = ..., **how: Unpack[_How]
) -> DeviceArray: ...
@overload
def strided_read(
    a: NDArray[Scalar],
    offset: int = ...,
    stride: int = ...,
    *,
    out: None = ...,
    **how: Unpack[_How],
) -> NDArray[Scalar]: ...
@overload
def strided_read(
    a: ForeignArray, offset: int = ..., stride: int = ..., *, out: None = ..., **how: Unpack[_How]
) -> DeviceArray | Any: ...
@overload
def strided_read(
    a: ArrayLike, offset: int = ..., stride: int = ..., *, out: None = ..., **how: Unpack[_How]
) -> NDArray[Any]: ...
def strided_read(
    a: AnyArray,
    offset: int = 1,
    stride: int = 2,
    *,
    threads: int | None = None,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Read every stride-th element: the result is ``a[offset::stride]``.

    An offset moves the requests of a warp off the boundaries of sectors; a stride spreads them
    over more sectors.

    Parameters
    ----------
    a : array_like or DeviceArray, shape (n,)
        What to read: any stride of its own, any dtype of plain bytes in native order.
    offset, stride : int
        As in a slice: negative values count from the end and go backwards, and what lies past
        the ends is cut off. `stride` is not 0.
    threads : int, optional
        Threads per block, 32 to 1024, a multiple of 32, for the variants with a kernel. By default
        256. With it "auto" takes one of these, which need `a` contiguous on the device and elements
        of 1, 2, 4, 8 or 16 bytes.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest for these arguments and takes
        every layout and every element size.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, with the result's shape and dtype, not overlapping `a`.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray
        A contiguous array equal to ``a[offset::stride]``, byte for byte: on the host if `a` is on
        the host, on the device if `a` is on the device. It is `out` if that is given.

    Raises
    ------
    TypeError
        If `a` holds Python objects or is a masked array, or another argument is of the wrong
        type.
    ValueError
        If `a` is not one-dimensional, `stride` is 0, `threads` is out of range or the variant has
        a block of its own, there is no such variant, a named variant cannot take these arrays, or
        `out` does not fit or overlaps `a`.
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
        whole words of the result, of smaller elements

    Kernels that only serve ``auto``:

    ``strided``
        any layout and element: the view is copied

    References
    ----------
    .. [1] M. Harris, "How to Access Global Memory Efficiently in CUDA C/C++ Kernels", NVIDIA
       Technical Blog, 2013.
    .. [2] NVIDIA, "CUDA C++ Best Practices Guide", section Coalesced Access to Global Memory.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.strided_read(np.arange(10), 1, 3)
    array([1, 4, 7])
    """
    parameters = slice_parameters(offset, stride, threads)
    return _call("strided_read", variant, (a,), out, stream, backend, parameters)


def _expected(a: Any, offset: int = 1, stride: int = 2, **_: Any) -> Array:
    return copied(np.asarray(a)[offset::stride])


FAMILY = Family(
    function=strided_read,
    parameters=slice_parameters,
    oracle=Oracle(
        arguments=one_array,
        expected=_expected,
        bound=None,
        work=slice_work,
        shape=vector_shape,
        shapes=LENGTHS,
        dtypes=MOVED,
        keywords=KEYWORDS,
    ),
)
