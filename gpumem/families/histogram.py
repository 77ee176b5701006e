"""How often each byte occurs: `histogram`."""

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
)
from .inputs import one_array, vector_shape
from .protocol import Array, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call

_BINS = 256


@overload
def histogram(a: AnyArray, *, out: Out, **how: Unpack[How]) -> Out: ...
@overload
def histogram(a: DeviceArray, *, out: None = ..., **how: Unpack[How]) -> DeviceArray: ...
@overload
def histogram(a: NDArray[Any], *, out: None = ..., **how: Unpack[How]) -> NDArray[np.uint64]: ...
@overload
def histogram(a: ForeignArray, *, out: None = ..., **how: Unpack[How]) -> DeviceArray | Any: ...
@overload
def histogram(a: ArrayLike, *, out: None = ..., **how: Unpack[How]) -> NDArray[np.uint64]: ...
def histogram(
    a: AnyArray,
    *,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Count how often each of the 256 values occurs in an array of bytes.

    Parameters
    ----------
    a : array_like or DeviceArray of uint8
        The bytes: any shape and layout.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks one in which lanes with
        equal bytes do not meet, and takes every layout.
    out : ndarray or DeviceArray of uint64, optional
        Where the result goes: any layout, of shape (256,), not overlapping `a`.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray of uint64, shape (256,)
        Element i is the number of bytes equal to i, as in ``np.bincount(a.ravel(),
        minlength=256)``: on the host if `a` is on the host, on the device if `a` is on the
        device. It is `out` if that is given. Counts have 64 bits, since a device can hold more
        than 2**32 bytes.

    Raises
    ------
    TypeError
        If `a` is not of uint8 or is a masked array.
    ValueError
        If there is no such variant, a named variant cannot take these arrays, or `out` does not
        fit or overlaps `a`.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    ``global_atomic``
        an atomic addition in global memory per byte
    ``shared``
        a histogram per block in shared memory
    ``per_warp``
        a histogram per warp: fewer threads meet at a counter
    ``vec16``
        16 bytes per load, counted from registers
    ``lane_banks``
        a copy per lane, in a bank of its own: equal bytes do not collide

    References
    ----------
    .. [1] V. Podlozhnyuk, "Histogram calculation in CUDA", NVIDIA, 2007.
    .. [2] N. Sakharnykh, "GPU Pro Tip: Fast Histograms Using Shared Atomics on Maxwell", NVIDIA
       Technical Blog, 2015.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.histogram(np.array([2, 0, 2, 2], np.uint8))[:4]
    array([1, 0, 3, 0], dtype=uint64)
    """
    return _call("histogram", variant, (a,), out, stream, backend, ())


def _expected(a: Any, **_: Any) -> Array:
    return np.bincount(np.asarray(a).reshape(-1), minlength=_BINS).astype(np.uint64)


def _work(shape: Shape, itemsize: int, **_: Any) -> tuple[int, None]:
    """Return the bytes that are read, and those of the counts."""
    return math.prod(shape) * itemsize + _BINS * 8, None


def _cupy(out: Any, a: Any) -> None:
    import cupy

    out[...] = cupy.bincount(a.reshape(-1), minlength=_BINS)


FAMILY = Family(
    function=histogram,
    oracle=Oracle(
        arguments=one_array,
        expected=_expected,
        bound=None,
        work=_work,
        shape=vector_shape,
        shapes=((), (0,), (1,), (3,), (31,), (257,), (4099,), (65537,), (3, 5, 7), (4, 0)),
        dtypes=("uint8",),
    ),
    peers={"cupy": _cupy},
)
