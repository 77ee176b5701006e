"""Vectorised access: `copy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _core
from ._arguments import count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..._core import AnyStream, DeviceArray

_call = _core.call


def _copy_parameters(max_blocks: int | None = None) -> tuple[int, ...]:
    return (0 if max_blocks is None else count("max_blocks", max_blocks),)


def copy(
    a: ArrayLike | DeviceArray,
    *,
    max_blocks: int | None = None,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Copy an array on the device.

    Parameters
    ----------
    a : array_like or DeviceArray
        What to copy: any shape, any strides, any dtype of plain bytes in native
        order (not object).
    max_blocks : int, optional
        The most thread blocks to launch, at least 1. Threads of a smaller grid take more
        steps of the grid-stride loop each. By default, what suits the device.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and takes
        every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of the shape and dtype of `a`, apart from it.
    {call}

    Returns
    -------
    ndarray or DeviceArray
        A C-contiguous array equal to `a`, byte for byte: on the host if `a` is there, on
        the device if `a` is. It is `out` where that is given.

    Raises
    ------
    TypeError
        If `a` holds Python objects, or `out` or `max_blocks` is of the wrong type.
    ValueError
        If there is no such variant, a named variant cannot take these arrays (not aligned
        to its vectors, not contiguous), `out` does not fit, or `max_blocks` is out of range.
    {failures}

    Notes
    -----
    {variants}

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
    parameters = (0,) if max_blocks is None else _copy_parameters(max_blocks)
    return _call("copy", variant, (a,), out, stream, backend, parameters)


PARAMETERS = {
    "copy": _copy_parameters,
}
