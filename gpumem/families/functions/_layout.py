"""Array of structures or structure of arrays: `shift_points`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _core
from ._arguments import real
from ._copy import copy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..._core import AnyStream, DeviceArray

_call = _core.call


def _shift_points_parameters(dx: float = 1.0, dy: float = -1.0) -> tuple[float, ...]:
    return real("dx", dx), real("dy", dy)


def _is_numbers(a: DeviceArray) -> bool:
    """Whether every number of an array of floats, or of pairs of them, is aligned to its size."""
    return a.pointer % (a.itemsize // (2 if a.dtype.names else 1) or 1) == 0


def as_pairs(p: Any) -> Any:
    """An array of structures with the fields x and y as one of shape (n, 2); others as they are."""
    dtype = getattr(p, "dtype", None)
    names = getattr(dtype, "names", None)
    if names is None:
        return p
    fields = list(map(dtype.__getitem__, names))
    if (
        names != ("x", "y")
        or fields[0] != fields[1]
        or fields[0].kind != "f"
        or dtype.fields["x"][1] != 0
        or dtype.itemsize != 2 * fields[0].itemsize
    ):
        raise TypeError(
            f"p has dtype {dtype}, accepted are float32, float64, and structures of two of them "
            "named x and y, without padding"
        )
    if p.ndim != 1:
        raise ValueError(f"p has {p.ndim} dimensions, expected 1 for structures")
    if p.strides[0] != dtype.itemsize and not isinstance(p, _core.DeviceArray):
        from numpy.lib.stride_tricks import as_strided

        first = p[:1].view(fields[0]) if len(p) else p.view(fields[0])  # no copy: out may be one
        # A masked array stays one, so that it is refused.
        return as_strided(first, (len(p), 2), (p.strides[0], fields[0].itemsize), subok=True)
    return p.view(fields[0]).reshape(-1, 2)


def _check_same(p: Any, out: Any) -> None:
    """What the extension module does not see of structures: it is shown numbers."""
    mine, given = getattr(p, "dtype", None), getattr(out, "dtype", None)
    if getattr(mine, "names", None) or getattr(given, "names", None):
        if mine != given:
            raise TypeError(f"out has dtype {given}, expected {mine}")
        if p.shape != out.shape:
            raise ValueError(f"out has shape {out.shape}, expected {p.shape}")


def shift_points(
    p: ArrayLike | DeviceArray,
    dx: float,
    dy: float,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Move points of the plane: the result is `p` with dx added to every x, dy to every y.

    The layout of `p` is the lesson: as an array of structures x and y of a point are
    neighbours, as a structure of arrays all x are, and then all y. Where both fields are needed,
    as here, the width of an access counts for more than the layout: compare variants of one width.

    Parameters
    ----------
    p : array_like or DeviceArray of float32 or float64
        The points: of shape (n, 2), an array of structures; or (2, n), a structure of arrays;
        or of shape (n,) with a structured dtype whose fields are x and y, of one type and
        without padding. (2, 2) is read as (n, 2), but by the variants ``soa`` and ``soa_vec2``.
        On the device it is contiguous.
    dx, dy : float
        How far; rounded to the type of the points.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest for this layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, of the shape and dtype of `p`, apart from it.
    {call}

    Returns
    -------
    ndarray or DeviceArray
        A new array like `p`: on the host if `p` is there, on the device if `p` is. It is `out`
        where that is given.

    Raises
    ------
    TypeError
        If `p` has another dtype, or dx or dy is no number.
    ValueError
        If `p` has another shape, a named variant is for the other layout or cannot take these
        arrays, there is no such variant, or `out` does not fit.
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
    >>> gm.shift_points(np.zeros((2, 2), "f4"), 1, 0.5)
    array([[1. , 0.5],
           [1. , 0.5]], dtype=float32)
    """
    parameters = _shift_points_parameters(dx, dy)
    given = out
    p, out = _core.adopt_all("shift_points", (p,), out, stream)
    told = out
    if isinstance(p, _core.DeviceArray) and variant == "auto":
        # Kernels take whole points without gaps: what is not so goes through a copy.
        if not p.contiguous or not _is_numbers(p):
            p = copy(p, stream=stream)
        if isinstance(out, _core.DeviceArray) and not _is_numbers(out):
            told = None
    elif isinstance(p, _core.DeviceArray) and p.dtype.names and not p.contiguous:
        raise ValueError(
            f'variant {variant} needs p C-contiguous (variant="auto" takes any layout)'
        )
    if told is not None:
        _check_same(p, told)
    into = told if told is None else as_pairs(told)
    result = _call("shift_points", variant, (as_pairs(p),), into, stream, backend, parameters)
    if out is None:
        pairs = getattr(getattr(p, "dtype", None), "names", None)
        return result.reshape(-1).view(p.dtype) if pairs else result
    if told is None:
        copy(result, out=as_pairs(out), stream=stream)
    return given


PARAMETERS = {
    "shift_points": _shift_points_parameters,
}
