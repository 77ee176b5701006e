"""Tiles in shared memory: `transpose`."""

from __future__ import annotations

from collections.abc import Sequence
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
from ..base.messages import quoted
from .inputs import MOVED, matrix_shape, one_array, read_and_written
from .keywords import count
from .protocol import Array, Family, Oracle, Shape
from .raw_bytes import copied, opaque

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call

_COPIES = ("copy_row", "copy_col")  # they transpose nothing, and bound the others
_BLOCK = 512  # rows and columns that the oracle transposes at a time, to stay in the cache


def _parameters(block: tuple[int, int] | None = None) -> tuple[int, ...]:
    if block is None:
        return (0, 0)
    if isinstance(block, str | bytes) or not isinstance(block, Sequence) or len(block) != 2:
        raise TypeError(f"block must be a pair (x, y) of integers or None, not {quoted(block)}")
    return (count("block[0]", block[0]), count("block[1]", block[1]))


class _How(How, total=False):
    block: tuple[int, int] | None


@overload
def transpose(a: AnyArray, *, out: Out, **how: Unpack[_How]) -> Out: ...
@overload
def transpose(a: DeviceArray, *, out: None = ..., **how: Unpack[_How]) -> DeviceArray: ...
@overload
def transpose(a: NDArray[Scalar], *, out: None = ..., **how: Unpack[_How]) -> NDArray[Scalar]: ...
@overload
def transpose(a: ForeignArray, *, out: None = ..., **how: Unpack[_How]) -> DeviceArray | Any: ...
@overload
def transpose(a: ArrayLike, *, out: None = ..., **how: Unpack[_How]) -> NDArray[Any]: ...
def transpose(
    a: AnyArray,
    *,
    block: tuple[int, int] | None = None,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Transpose a matrix, or each matrix of a stack: rows become columns.

    Parameters
    ----------
    a : array_like or DeviceArray, shape (..., m, n)
        The matrix: any strides, any dtype of plain bytes in native order (not object). With more
        than two dimensions it is a stack of matrices, which "auto" and ``strided`` take.
    block : (int, int), optional
        Threads per block in x and y, at most 1024 together, for the variants without shared
        memory. In variants whose names end in ``row`` x runs along a row of `a`, in those whose
        names end in ``col`` down a column. By default (32, 8).
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest for these arguments and takes
        every layout and every element size.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, of shape (..., n, m) and the dtype of `a`, not
        overlapping it.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray, shape (..., n, m)
        A C-contiguous array equal to ``a.T``, of a stack to ``a.mT``, byte for byte: on the host
        if `a` is on the host, on the device if `a` is on the device. It is `out` if that is
        given. ``copy_row`` and ``copy_col`` only copy, for comparison: they return an array
        equal to `a`, of shape (m, n). ``geam`` computes with numbers: a NaN may come back as
        another NaN.

    Raises
    ------
    TypeError
        If `a` holds Python objects or is a masked array, or `out` or `block` is of the wrong
        type.
    ValueError
        If `a` has fewer than two dimensions, there is no such variant, a named variant cannot take
        these arrays (element size, alignment, rows that are not contiguous), `block` is too
        large or the variant has a block of its own, or `out` does not fit or overlaps `a`.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    ``copy_row``
        rows in, rows out by 32 bits: the naive ones at their best; the result is a
    ``copy_col``
        columns in, columns out by 32 bits: they at their worst; the result is a
    ``naive_row``
        reads rows, writes columns
    ``naive_col``
        reads columns, writes rows: caches forgive scattered reads sooner
    ``unroll4_row``
        reads rows, writes columns, four elements per thread
    ``unroll4_col``
        reads columns, writes rows, four elements per thread
    ``diagonal_row``
        blocks along diagonals, rows to columns
    ``diagonal_col``
        blocks along diagonals, columns to rows
    ``tile``
        a tile in shared memory: rows on both sides, 32-way bank conflicts
    ``tile_padded``
        one spare column: no bank conflicts
    ``tile_swizzled``
        the words of a row change places: no conflicts, no spare bytes
    ``tile_vector``
        128-bit accesses: squares transposed in registers, tiles in shared memory
    ``tile_vector:b32``
        elements of 4 bytes: 4 x 4 in registers, 64 x 64 in shared memory
    ``tile_vector:b32_wide``
        b32 in longer runs, for matrices that are much larger than the L2
    ``tile_vector:b64``
        elements of 8 bytes
    ``tile_vector:b128``
        elements of 16 bytes
    ``tile_vector:b16``
        elements of 2 bytes, rows of whole vectors
    ``tile_vector:b8``
        elements of 1 byte, rows of whole vectors
    ``tma``
        Hopper's tensor copy engine in and out
    ``geam``
        cuBLAS, as the reference: it moves numbers, not bits

    Kernels that only serve ``auto``:

    ``shifted``
        tiles shifted row by row, so that misaligned rows are written in whole sectors
    ``shifted:b32``
        elements of 4 bytes
    ``shifted:b32_tall``
        b32 for matrices that are narrower than its tiles
    ``shifted:b16``
        elements of 2 bytes
    ``shifted:b8``
        elements of 1 byte
    ``shifted:b8_wide``
        b8 in longer runs, for matrices that are much larger than the L2
    ``narrow``
        few columns, or few rows: whole runs of them, in the order of memory
    ``narrow_words``
        narrow for elements of 1 or 2 bytes, joined to words in registers
    ``narrow_vectors``
        narrow for elements of 1 or 2 bytes, gathered to vectors from shared memory
    ``strided``
        any layout and element: the transposed view is copied

    References
    ----------
    .. [1] G. Ruetsch and P. Micikevicius, "Optimizing Matrix Transpose in CUDA", NVIDIA, 2009.
    .. [2] M. Harris, "An Efficient Matrix Transpose in CUDA C/C++", NVIDIA Technical Blog, 2013.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.transpose(np.arange(6).reshape(2, 3))
    array([[0, 3],
           [1, 4],
           [2, 5]])
    """
    parameters = (0, 0) if block is None else _parameters(block)
    return _call("transpose", variant, (a,), out, stream, backend, parameters)


def _expected(a: Any, variant: str = "auto", **_: Any) -> Array:
    source = copied(a)
    if variant in _COPIES:
        return source
    result: Array = np.empty(source.shape[::-1], source.dtype)
    if source.dtype.itemsize:
        to, of = opaque(result), opaque(source)
        for row in range(0, source.shape[0], _BLOCK):
            for column in range(0, source.shape[1], _BLOCK):
                rows, columns = slice(row, row + _BLOCK), slice(column, column + _BLOCK)
                to[columns, rows] = of[rows, columns].T
    return result


def _sixteen_columns(nbytes: int, itemsize: int) -> Shape:
    return nbytes // itemsize // 16, 16


def _thirty_two_columns(nbytes: int, itemsize: int) -> Shape:
    return nbytes // itemsize // 32, 32


def _whole_tiles(inputs: tuple[Array, ...]) -> tuple[Any, ...]:
    """Return the upper left corner whose sides are powers of two, so that every tile is full."""
    rows, columns = (1 << n.bit_length() - 1 for n in inputs[0].shape)
    return (np.ascontiguousarray(inputs[0][:rows, :columns]),)


def _torch(out: Any, a: Any) -> None:
    out.copy_(a.t())


def _cupy(out: Any, a: Any) -> None:
    import cupy

    cupy.copyto(out, a.T)


FAMILY = Family(
    function=transpose,
    parameters=_parameters,
    oracle=Oracle(
        arguments=one_array,
        expected=_expected,
        bound=None,
        work=read_and_written,
        shape=matrix_shape,
        shapes=(
            (0, 0),
            (0, 5),
            (7, 0),
            (1, 1),
            (1, 70),
            (70, 1),
            (31, 33),
            (64, 64),
            (127, 257),
            (5, 4099),
            (4099, 3),
            (640, 384),
        ),
        dtypes=MOVED,
        bounds=_COPIES,
        shapes_of={
            "narrow": _sixteen_columns,
            "narrow_words": _sixteen_columns,
            "narrow_vectors": _thirty_two_columns,
        },
        claimed=_whole_tiles,
    ),
    peers={"torch": _torch, "cupy": _cupy},
)
