"""Kinds of host memory: `add`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._arguments import none
from ._packed import call_packed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..._core import AnyStream, DeviceArray


def add(
    a: ArrayLike | DeviceArray,
    b: ArrayLike | DeviceArray,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Add two arrays, which may be in any kind of memory.

    Parameters
    ----------
    a, b : array_like or DeviceArray
        Numbers of 32 or 64 bits: int32, int64, uint32, uint64, float32 or float64, both of one
        dtype and shape.
    variant : str, optional
        Which way they go (see Notes). "auto" uses arrays where they are if all of them, the
        result as well, are in mapped memory, or all in managed memory; others are copied.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of the shape and dtype of `a`, apart from both.
    {call}

    Returns
    -------
    ndarray or DeviceArray
        ``a + b``: on the host if they are there, on the device if they are. Integers wrap
        around. A new array on the host is mapped or managed if `a` is and stayed where it was.

    Raises
    ------
    TypeError
        If the dtypes are others, or differ.
    ValueError
        If the shapes differ, there is no such variant, or a named variant cannot take these
        arrays: "zero_copy" needs all three in page-locked, "managed" in managed memory.
    {failures}

    Notes
    -----
    {variants}

    References
    ----------
    .. [1] J. Cheng, M. Grossman and T. McKercher, "Professional CUDA C Programming", 2014,
       chapter 4: pinned, zero-copy and unified memory.
    .. [2] NVIDIA, "CUDA C++ Programming Guide", chapters Page-Locked Host Memory and Unified
       Memory Programming.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> a = gm.empty(3, kind="mapped")
    >>> a[:] = [1, 2, 3]
    >>> gm.add(a, a, variant="zero_copy")
    array([2., 4., 6.], dtype=float32)
    """
    return call_packed("add", variant, (a, b), out, stream, backend, ())


PARAMETERS = {
    "add": none,
}
