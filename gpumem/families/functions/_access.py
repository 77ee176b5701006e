"""Alignment and coalescing: `strided_read`, `strided_write` and `gather`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _core
from ._arguments import integer, none
from ._copy import copy
from ._packed import is_aligned

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..._core import AnyStream, DeviceArray

_call = _core.call


def _slice_parameters(offset: int = 1, stride: int = 2) -> tuple[int, ...]:
    return integer("offset", offset), integer("stride", stride)


def strided_read(
    a: ArrayLike | DeviceArray,
    offset: int = 1,
    stride: int = 2,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Read every so many elements: the result is ``a[offset::stride]``.

    An offset moves the requests of a warp off the boundaries of sectors, a stride spreads
    them over more sectors.

    Parameters
    ----------
    a : array_like or DeviceArray, shape (n,)
        What to read: any stride of its own, any dtype of plain bytes in native order.
    offset, stride : int
        As in a slice: negative ones count from the end and go backwards, what is past the ends
        is cut off. `stride` is not 0.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and takes
        every layout and every element size.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of its shape and dtype, apart from `a`.
    {call}

    Returns
    -------
    ndarray or DeviceArray
        A contiguous array equal to ``a[offset::stride]``, byte for byte: on the host if `a` is
        there, on the device if `a` is. It is `out` where that is given.

    Raises
    ------
    TypeError
        If `a` holds Python objects, or another argument is of the wrong type.
    ValueError
        If `a` is not one-dimensional, `stride` is 0, there is no such variant, a named variant
        cannot take these arrays, or `out` does not fit.
    {failures}

    Notes
    -----
    {variants}

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
    parameters = _slice_parameters(offset, stride)
    return _call("strided_read", variant, (a,), out, stream, backend, parameters)


def strided_write(
    out: Any,
    a: ArrayLike | DeviceArray,
    offset: int = 1,
    stride: int = 2,
    *,
    variant: str = "auto",
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Write every so many elements, in place: ``out[offset::stride] = a``.

    Parameters
    ----------
    out : ndarray or DeviceArray, shape (n,)
        What to write to; its other elements stay. On the host any stride of its own.
    a : array_like or DeviceArray
        As many elements as the slice has, of the dtype of `out`, apart from it in memory.
    offset, stride : int
        As in a slice: negative ones count from the end and go backwards, what is past the ends
        is cut off. `stride` is not 0.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and takes
        every layout and every element size.
    {call}

    Returns
    -------
    ndarray or DeviceArray
        `out`.

    Raises
    ------
    TypeError
        If `out` is no array, the dtypes differ, or another argument is of the wrong type.
    ValueError
        If an array is not one-dimensional, `a` has not the slice's length, `stride` is 0, the
        arrays overlap, `out` cannot be written, there is no such variant, or a named variant
        cannot take these arrays. Nothing was written then.
    {failures}

    Notes
    -----
    {variants}

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
    parameters = _slice_parameters(offset, stride)
    return _call("strided_write", variant, (out, a), None, stream, backend, parameters)


def _is_run(index: DeviceArray) -> bool:
    """Whether places are as kernels take them: whole numbers, one run of them."""
    return is_aligned(index) and (index.ndim <= 1 or index.contiguous)


def gather(
    a: ArrayLike | DeviceArray,
    index: ArrayLike | DeviceArray,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Read elements by their places: the result is ``a[index]``.

    Parameters
    ----------
    a : array_like or DeviceArray, shape (n,)
        What to read: any stride of its own, any dtype of plain bytes in native order.
    index : array_like or DeviceArray of int32 or int64
        The places, in an array of any shape; negative ones count from the end.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and takes
        every layout and every element size.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of the shape of `index` and the dtype of `a`, apart
        from both.
    {call}

    Returns
    -------
    ndarray or DeviceArray
        A contiguous array equal to ``a[index]``, byte for byte: on the host if the inputs are
        there, on the device if they are. It is `out` where that is given.

    Raises
    ------
    IndexError
        If a place is outside of ``-n`` to ``n - 1``. Every place is looked at before the first
        is read, so nothing was written then; on device arrays the call waits for that.
    TypeError
        If `a` holds Python objects, or `index` is not of int32 or int64.
    ValueError
        If `a` is not one-dimensional, there is no such variant, a named variant cannot take
        these arrays, or `out` does not fit.
    {failures}

    Notes
    -----
    {variants}

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
    """
    if variant in ("auto", "any"):
        a, index, _ = _core.adopt_all("gather", (a, index), out, stream)
        if isinstance(index, _core.DeviceArray) and not _is_run(index):
            index = copy(index, stream=stream)
    return _call("gather", variant, (a, index), out, stream, backend, ())


PARAMETERS = {
    "strided_read": _slice_parameters,
    "strided_write": _slice_parameters,
    "gather": none,
}
