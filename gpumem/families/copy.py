"""Vectorised access: `copy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

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
from .inputs import MOVED, one_array, read_and_written, vector_shape
from .keywords import count
from .protocol import Array, Family, Oracle
from .raw_bytes import copied

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call

_STRUCTURES = 32 * 120  # bytes: whole structures of 12, 20 and 24 bytes for a warp


def _parameters(max_blocks: int | None = None) -> tuple[int, ...]:
    return (0 if max_blocks is None else count("max_blocks", max_blocks),)


class _How(How, total=False):
    max_blocks: int | None


@overload
def copy(a: AnyArray, *, out: Out, **how: Unpack[_How]) -> Out: ...
@overload
def copy(a: DeviceArray, *, out: None = ..., **how: Unpack[_How]) -> DeviceArray: ...
@overload
def copy(a: NDArray[Scalar], *, out: None = ..., **how: Unpack[_How]) -> NDArray[Scalar]: ...
@overload
def copy(a: ForeignArray, *, out: None = ..., **how: Unpack[_How]) -> DeviceArray | Any: ...
@overload
def copy(a: ArrayLike, *, out: None = ..., **how: Unpack[_How]) -> NDArray[Any]: ...
def copy(
    a: AnyArray,
    *,
    max_blocks: int | None = None,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Copy an array on the device.

    Parameters
    ----------
    a : array_like or DeviceArray
        What to copy: any shape, any strides, any dtype of plain bytes in native order (not
        object).
    max_blocks : int, optional
        The largest number of thread blocks to launch, at least 1. With fewer blocks each thread
        takes more steps of the grid-stride loop. By default, what suits the device.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest for these arguments and takes
        every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, with the shape and dtype of `a`, not overlapping it.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray
        A C-contiguous array equal to `a`, byte for byte: on the host if `a` is on the host, on
        the device if `a` is on the device. It is `out` if that is given.

    Raises
    ------
    TypeError
        If `a` holds Python objects or is a masked array, or `out` or `max_blocks` is of the wrong
        type.
    ValueError
        If there is no such variant, a named variant cannot take these arrays (not aligned to its
        vectors, not contiguous), `out` does not fit or overlaps `a`, or `max_blocks` is out of
        range.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    ``scalar``
        one 32-bit word per thread and step
    ``vec2``
        64 bits: half the instructions
    ``vec4``
        128 bits: a quarter of the instructions
    ``struct16``
        the same 128 bits through a 16-byte aligned struct
    ``struct12``
        a struct of three floats: three accesses, 12 bytes apart
    ``struct20``
        a struct of five floats: five accesses, 20 bytes apart
    ``struct24``
        a struct of three doubles: three accesses of 64 bits
    ``struct32``
        what 20 and 24 bytes are padded to: two accesses of 128 bits
    ``vec4_unrolled``
        four independent 128-bit loads in flight before the first store
    ``vec4_prefetch``
        long runs are prefetched to the L2, well ahead
    ``bulk``
        Hopper's copy engine: no registers on the way
    ``memcpy``
        the driver's own copy, as the reference

    Kernels that only serve ``auto``:

    ``shifted``
        arrays that begin anywhere: aligned vectors, joined in registers
    ``shifted:unrolled``
        two vectors per thread, for copies of less than two waves of threads
    ``shifted:stream``
        one vector per thread and vec4_prefetch's prefetches, for larger ones
    ``strided``
        any layout in and out: a division per dimension and element
    ``permuted``
        a view, or into one: the family permute

    References
    ----------
    .. [1] J. Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access",
       NVIDIA Technical Blog, 2013.
    .. [2] M. Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops",
       NVIDIA Technical Blog, 2013.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.copy(np.arange(4))
    array([0, 1, 2, 3])
    """
    parameters = (0,) if max_blocks is None else _parameters(max_blocks)
    return _call("copy", variant, (a,), out, stream, backend, parameters)


def _expected(a: Any, **_: Any) -> Array:
    return copied(a)


def _torch(out: Any, a: Any) -> None:
    out.copy_(a)


def _cupy(out: Any, a: Any) -> None:
    import cupy

    cupy.copyto(out, a)


def _whole_structures(inputs: tuple[Array, ...]) -> tuple[Any, ...]:
    """Return as much as is whole structures of 3, 5 and 6 words for all lanes of all warps."""
    (a,) = inputs
    return (a[: a.nbytes // _STRUCTURES * _STRUCTURES // a.itemsize],)


FAMILY = Family(
    function=copy,
    parameters=_parameters,
    oracle=Oracle(
        arguments=one_array,
        expected=_expected,
        bound=None,
        work=read_and_written,
        shape=vector_shape,
        shapes=((0,), (1,), (31,), (33,), (65537,), (2**20 + 3,)),
        dtypes=MOVED,
        keywords=({}, {"max_blocks": 3}),
        claimed_of=dict.fromkeys(("struct12", "struct20", "struct24"), _whole_structures),
    ),
    peers={"torch": _torch, "cupy": _cupy},
)
