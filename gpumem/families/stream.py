"""Reads and writes of memory, in any mix: `stream`."""

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
from .inputs import random_bytes
from .keywords import integer_within
from .protocol import Array, Dtype, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call

_MOST_ROWS = 4


def _parameters(writes: int = 1) -> tuple[int, ...]:
    """Return writes as the extension module takes it."""
    return (integer_within("writes", writes, 0, _MOST_ROWS),)


@overload
def stream(a: AnyArray, writes: int = ..., *, out: Out, **how: Unpack[How]) -> Out: ...
@overload
def stream(
    a: DeviceArray, writes: int = ..., *, out: None = ..., **how: Unpack[How]
) -> DeviceArray: ...
@overload
def stream(
    a: NDArray[Scalar], writes: int = ..., *, out: None = ..., **how: Unpack[How]
) -> NDArray[Scalar]: ...
@overload
def stream(
    a: ForeignArray, writes: int = ..., *, out: None = ..., **how: Unpack[How]
) -> DeviceArray | Any: ...
@overload
def stream(
    a: ArrayLike, writes: int = ..., *, out: None = ..., **how: Unpack[How]
) -> NDArray[Any]: ...
def stream(
    a: AnyArray,
    writes: int = 1,
    *,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Read the rows of an array and write others: memory traffic in any mix.

    The rows of `a` are what is read, `writes` is how many are written. Row w of the result is w
    xor all rows of `a`, word by word. So ``a`` of shape (1, n) is copied, (2, n) has the traffic
    of an addition or a triad, (0, n) is only written, and ``writes=0`` only reads: its result is
    the xor of all words.

    Parameters
    ----------
    a : array_like or DeviceArray of int32 or uint32, shape (reads, n)
        The rows: at most 4, any strides. Without rows, n still says how much is written.
    writes : int
        Rows of the result, 0 to 4.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest for these arguments and takes
        every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, with the shape of the result and the dtype of `a`, not
        overlapping it.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray, shape (writes, n), or () if `writes` is 0
        Of the dtype of `a`: on the host if `a` is on the host, on the device if `a` is on the
        device. It is `out` if that is given.

    Raises
    ------
    TypeError
        If `a` is of another dtype or is a masked array, or `writes` is not an integer.
    ValueError
        If `a` is not two-dimensional or has more than 4 rows, `writes` is out of range, there is
        no such variant, a named variant cannot take these arrays, or `out` does not fit or
        overlaps `a`.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    Why xor: it costs nothing beside memory, every word of the result depends on every word that is
    read, so no load can be left out, and in any order it has the same bits, so that NumPy can
    check them. :func:`gpumem.copy`, :func:`gpumem.add` and :func:`gpumem.reduce` are the fastest
    ways to do those jobs; ``stream`` compares mixes of reads and writes by one and the same kernel.

    The variants, each with the idea that it adds:

    ``scalar``
        one 32-bit word per thread and step
    ``vec4``
        128-bit accesses, four loads in flight per thread
    ``tiles``
        blocks take contiguous tiles of 32 KiB, one after the other

    References
    ----------
    .. [1] J. D. McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance
       Computers", IEEE TCCA Newsletter, 1995.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> a = np.array([[1, 2, 4], [1, 1, 1]], np.uint32)
    >>> gm.stream(a, writes=2)
    array([[0, 3, 5],
           [1, 2, 4]], dtype=uint32)
    >>> gm.stream(a, writes=0)
    array(6, dtype=uint32)
    """
    return _call("stream", variant, (a,), out, stream, backend, _parameters(writes))


def _rows(shape: Shape) -> Shape:
    """Return two dimensions: a shape of any other number of them is one row."""
    return shape if len(shape) == 2 else (1, math.prod(shape))


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    taken = dtype if dtype.kind in "iu" and dtype.itemsize == 4 else np.dtype("uint32")
    return (random_bytes(_rows(shape), taken, random),)


def _expected(a: Any, writes: int = 1, **_: Any) -> Array:
    a = np.asarray(a)
    if writes == 0:
        return np.asarray(np.bitwise_xor.reduce(a, axis=None))
    row = np.bitwise_xor.reduce(a, axis=0)
    return np.stack([row ^ row.dtype.type(w) for w in range(writes)])


def _work(shape: Shape, itemsize: int, writes: int = 1, **_: Any) -> tuple[int, None]:
    """Return the bytes of all rows, or of those read and of the one word."""
    reads, length = _rows(shape)
    return ((reads + writes) * length + (writes == 0)) * itemsize, None


def _shape(nbytes: int, itemsize: int) -> Shape:
    """Return one row, of whole vectors of 16 bytes if it is not shorter."""
    length = nbytes // itemsize
    return (1, length // 4 * 4 or length)


def _inputs(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    return ((_rows(shape), dtype),)


FAMILY = Family(
    function=stream,
    parameters=_parameters,
    oracle=Oracle(
        arguments=_arguments,
        inputs=_inputs,
        expected=_expected,
        bound=None,
        work=_work,
        shape=_shape,
        shapes=(
            *((1, n) for n in (0, 1, 3, 33, 1027, 8192, 65537)),
            *((rows, n) for rows in (0, 2, 3, 4) for n in (1, 4, 1028, 33_001, 40_000)),
        ),
        dtypes=("uint32", "int32"),
        keywords=({}, {"writes": 0}, {"writes": 3}),
    ),
    peers_ignore_keywords=False,
)
