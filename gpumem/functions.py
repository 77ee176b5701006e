"""The family functions: what each operation means, its arguments and its defaults.

A function turns its keywords into the integers of the family's row and calls the extension
module; everything else (dtypes, shapes, layout, the choice of a variant) is checked there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._core import DeviceArray, Stream

__all__ = ["copy", "transpose"]

_call = _core.call


def _count(name: str, value: Any) -> int:
    """Return an integer of at least 1; the row of the family knows the most."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer or None, not a bool")
    try:
        number = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{name} must be an integer or None, not {kind}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, not {number}")
    return number


def _copy_parameters(max_blocks: int | None = None) -> tuple[int, ...]:
    return (0 if max_blocks is None else _count("max_blocks", max_blocks),)


def copy(
    a: ArrayLike | DeviceArray,
    *,
    max_blocks: int | None = None,
    variant: str = "auto",
    out: Any = None,
    stream: Stream | None = None,
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
    stream : Stream, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.

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
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

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


def _transpose_parameters(block: tuple[int, int] | None = None) -> tuple[int, ...]:
    if block is None:
        return (0, 0)
    if isinstance(block, str | bytes) or not isinstance(block, Sequence) or len(block) != 2:
        raise TypeError(f"block must be a pair (x, y) of integers or None, not {block!r}")
    return (_count("block[0]", block[0]), _count("block[1]", block[1]))


def transpose(
    a: ArrayLike | DeviceArray,
    *,
    block: tuple[int, int] | None = None,
    variant: str = "auto",
    out: Any = None,
    stream: Stream | None = None,
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
    stream : Stream, optional
        The queue that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` says. Device
        arrays are worked on where they are.

    Returns
    -------
    ndarray or DeviceArray, shape (n, m)
        A C-contiguous array equal to ``a.T``, byte for byte: on the host if `a` is there, on
        the device if `a` is. It is `out` where that is given. ``copy_row`` and ``copy_col``
        bound the others: they return `a` itself, of shape (m, n). ``geam`` computes with
        numbers: a NaN may come back as another NaN.

    Raises
    ------
    TypeError
        If `a` holds Python objects, or `out` or `block` is of the wrong type.
    ValueError
        If `a` is not two-dimensional, there is no such variant, a named variant cannot take
        these arrays (element size, alignment, rows that are not contiguous), `block` is too
        large or the variant has one of its own, or `out` does not fit.
    UnavailableError
        If the backend or the variant is not here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

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


# ---- for the instruments ------------------------------------------------------------------

_PARAMETERS: dict[str, Callable[..., tuple[int, ...]]] = {
    "copy": _copy_parameters,
    "transpose": _transpose_parameters,
}


def parameters(family: str, keywords: dict[str, Any]) -> tuple[int, ...]:
    """Return the integers of a family's row for the keywords of its function.

    Raises
    ------
    TypeError
        If a keyword is unknown; the message names those that the family takes.
    """
    convert = _PARAMETERS[family]
    known = convert.__code__.co_varnames[: convert.__code__.co_argcount]
    for name in keywords:
        if name not in known:
            takes = ", ".join(known) or "none"
            raise TypeError(f"{family} has no parameter {name!r}; its parameters: {takes}")
    return convert(**keywords)


def _write_variants_into_docstrings() -> None:
    """Put each family's rows where its docstring says ``{variants}``."""
    for family in _core.families():
        function = globals().get(family["name"])
        if function is None or not function.__doc__:
            continue
        head, mark, tail = function.__doc__.partition("{variants}")
        if mark:
            indent = head[head.rfind("\n") + 1 :]
            rows = [f"``{row['name']}``\n{indent}    {row['doc']}" for row in family["variants"]]
            function.__doc__ = head + f"\n{indent}".join(rows) + tail


_write_variants_into_docstrings()
