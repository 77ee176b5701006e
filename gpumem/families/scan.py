"""All sums of the first elements: `scan`."""

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
from .inputs import SUMMED, numbers_to_sum, read_and_written, rounding_of_sums, vector_shape
from .protocol import Array, Dtype, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call


@overload
def scan(a: AnyArray, *, out: Out, **how: Unpack[How]) -> Out: ...
@overload
def scan(a: DeviceArray, *, out: None = ..., **how: Unpack[How]) -> DeviceArray: ...
@overload
def scan(a: NDArray[Scalar], *, out: None = ..., **how: Unpack[How]) -> NDArray[Scalar]: ...
@overload
def scan(a: ForeignArray, *, out: None = ..., **how: Unpack[How]) -> DeviceArray | Any: ...
@overload
def scan(a: ArrayLike, *, out: None = ..., **how: Unpack[How]) -> NDArray[Any]: ...
def scan(
    a: AnyArray,
    *,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Sum up the elements of an array, with all sums on the way.

    Parameters
    ----------
    a : array_like or DeviceArray of int32, int64, uint32, uint64, float32 or float64
        The elements: any shape and layout.
    variant : str, optional
        Which kernel runs (see Notes). "auto" reads each element once, and takes
        every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, of shape (a.size,) and the dtype of `a`, not
        overlapping it.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray, shape (a.size,)
        Element i is the sum of the first i + 1 elements of `a`, in C order, as in ``np.cumsum(a,
        dtype=a.dtype)``: on the host if `a` is on the host, on the device if `a` is on the
        device. It is `out` if that is given. Integers wrap around.

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
    Floats are added in their own precision. With ``look_back`` the order of the additions depends
    on which blocks run when: results may differ in their last bits from run to run. The others add
    in a fixed order, and so does "auto" on devices of compute capability 9.0 or later, and on
    others up to 3 MiB.

    The variants, each with the idea that it adds:

    ``hillis_steele``
        eight steps in shared memory per tile, and three launches
    ``blelloch``
        up and down a tree: two additions per element, and bank conflicts
    ``shuffles``
        128-bit loads, scanned in registers by shuffles; the same bits each time
    ``look_back``
        one pass: tiles add up what the tiles before them have published
    ``all_sums``
        one pass: tiles add up the sums of all before them; the same bits each time
    ``pipelined``
        tiles arrive while sums are awaited; the same bits each time
    ``pipelined:k32``
        tiles of 32 KiB, two blocks per multiprocessor
    ``pipelined:k64``
        tiles of 64 KiB, one block per multiprocessor
    ``cluster``
        one cluster: sums go from block to block, in one launch; the same bits each time

    References
    ----------
    .. [1] W. D. Hillis and G. L. Steele, "Data parallel algorithms", CACM 29(12), 1986.
    .. [2] G. E. Blelloch, "Prefix Sums and Their Applications", CMU-CS-90-190, 1990.
    .. [3] D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back",
       NVIDIA Technical Report NVR-2016-002, 2016.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.scan(np.array([[1, 2], [3, 4]], np.int32))
    array([ 1,  3,  6, 10], dtype=int32)
    """
    return _call("scan", variant, (a,), out, stream, backend, ())


def _expected(a: Any, **_: Any) -> Array:
    a = np.asarray(a)
    if a.dtype.kind != "f":
        return np.asarray(a.cumsum(dtype=a.dtype))
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(a.cumsum(dtype=np.longdouble).astype(a.dtype))


def _bound(a: Any, **_: Any) -> Array:
    """Allow the rounding of sums of so many terms in any order."""
    a = np.asarray(a)
    if a.dtype.kind != "f":
        return np.zeros(a.size)
    magnitudes = np.where(np.isfinite(a), np.abs(a), 0).cumsum(dtype=np.float64)
    return np.asarray(rounding_of_sums(a.dtype, a.size) * magnitudes)


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    return (numbers_to_sum(shape, dtype, random),)


def _torch(out: Any, a: Any) -> None:
    import torch

    torch.cumsum(a.reshape(-1), dim=0, dtype=a.dtype, out=out)


def _cupy(out: Any, a: Any) -> None:
    a.cumsum(dtype=a.dtype, out=out)


FAMILY = Family(
    function=scan,
    oracle=Oracle(
        arguments=_arguments,
        expected=_expected,
        bound=_bound,
        work=read_and_written,
        shape=vector_shape,
        shapes=((), (0,), (1,), (3,), (31,), (33,), (257,), (4099,), (65537,), (3, 5, 7), (4, 0)),
        dtypes=SUMMED,
    ),
    peers={"torch": _torch, "cupy": _cupy},
)
