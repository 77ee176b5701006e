"""`transpose`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _core
from ...base.messages import quoted
from ._arguments import count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..._core import AnyStream, DeviceArray

_call = _core.call


def _transpose_parameters(block: tuple[int, int] | None = None) -> tuple[int, ...]:
    if block is None:
        return (0, 0)
    if isinstance(block, str | bytes) or not isinstance(block, Sequence) or len(block) != 2:
        raise TypeError(f"block must be a pair (x, y) of integers or None, not {quoted(block)}")
    return (count("block[0]", block[0]), count("block[1]", block[1]))


def transpose(
    a: ArrayLike | DeviceArray,
    *,
    block: tuple[int, int] | None = None,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Turn a matrix: rows become columns.

    Parameters
    ----------
    a : array_like or DeviceArray, shape (m, n)
        The matrix: any strides, any dtype of plain bytes in native order (not object).
    block : (int, int), optional
        Threads per block in x and y, at most 1024 together, for the variants without shared
        memory. In those that end in ``row`` x runs along a row of `a`, in those that end in
        ``col`` down a column. By default (32, 8).
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for these arguments and takes
        every layout and every element size.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of shape (n, m) and the dtype of `a`, apart from it.
    {call}

    Returns
    -------
    ndarray or DeviceArray, shape (n, m)
        A C-contiguous array equal to ``a.T``, byte for byte: on the host if `a` is there, on
        the device if `a` is. It is `out` where that is given. ``copy_row`` and ``copy_col``
        turn nothing, to be compared with: they return `a` itself, of shape (m, n). ``geam``
        computes with numbers: a NaN may come back as another NaN.

    Raises
    ------
    TypeError
        If `a` holds Python objects, or `out` or `block` is of the wrong type.
    ValueError
        If `a` is not two-dimensional, there is no such variant, a named variant cannot take
        these arrays (element size, alignment, rows that are not contiguous), `block` is too
        large or the variant has one of its own, or `out` does not fit.
    {failures}

    Notes
    -----
    {variants}

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
    parameters = (0, 0) if block is None else _transpose_parameters(block)
    return _call("transpose", variant, (a,), out, stream, backend, parameters)


PARAMETERS = {
    "transpose": _transpose_parameters,
}
