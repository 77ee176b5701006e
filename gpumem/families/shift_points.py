"""Array of structures or structure of arrays: `shift_points`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.lib.stride_tricks import as_strided

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
from .copy import copy
from .inputs import floats, read_and_written
from .keywords import real
from .protocol import Array, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call


def _parameters(dx: float = 1.0, dy: float = -1.0) -> tuple[float, ...]:
    return real("dx", dx), real("dy", dy)


def _with_dtype(p: Any) -> Any:
    """Return an array of what has no dtype, such as an object with __array__, if of structures."""
    if hasattr(p, "dtype"):
        return p
    try:
        made = np.asanyarray(p)  # a masked array stays one, so that it is refused
    except (TypeError, ValueError, OverflowError):
        return p  # the extension module's error names the argument
    return p if made.dtype.names is None else made


def _as_pairs(p: Any) -> Any:
    """View an array of structures (x, y) as floats of shape (n, 2); return others unchanged."""
    dtype = getattr(p, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.names is None or dtype.fields is None:
        return p
    names = dtype.names
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
        # A view and not a copy, since p may be the caller's out.
        first = p[:1].view(fields[0]) if len(p) else p.view(fields[0])
        # subok: a masked array stays one, so that it is refused.
        return as_strided(first, (len(p), 2), (p.strides[0], fields[0].itemsize), subok=True)
    return p.view(fields[0]).reshape(-1, 2)


def _check_same(p: Any, out: Any) -> None:
    """Check that p and out are structures alike; the extension module sees only their floats."""
    mine, given = getattr(p, "dtype", None), getattr(out, "dtype", None)
    if getattr(mine, "names", None) or getattr(given, "names", None):
        if mine != given:
            raise TypeError(f"out has dtype {given}, expected {mine}")
        if p.shape != out.shape:
            raise ValueError(f"out has shape {out.shape}, expected {p.shape}")


def _may_have_fields(a: Any) -> bool:
    """Return whether an argument may be structures: also what has no dtype yet, a list for one."""
    if a is None:
        return False
    dtype = getattr(a, "dtype", None)
    return dtype is None or getattr(dtype, "names", None) is not None


def _shift_structures(
    p: Any, parameters: tuple[float, ...], variant: str, out: Any, stream: Any, backend: str | None
) -> Any:
    """Do the job on structures, which are seen as pairs of numbers."""
    given = out
    points, out = _core.adopt_all("shift_points", (p,), out, stream)
    points = _with_dtype(points)
    if isinstance(points, DeviceArray) and points.dtype.names and not points.contiguous:
        # Structures with gaps between them have no view as pairs.
        if variant != "auto":
            raise ValueError(
                f'variant {variant} needs p C-contiguous (variant="auto" takes any layout)'
            )
        points = copy(points, stream=stream)
    if out is not None:
        _check_same(points, out)
    apart = isinstance(out, DeviceArray) and out.dtype.names and not out.contiguous
    into = None if apart else _as_pairs(out)
    result = _call("shift_points", variant, (_as_pairs(points),), into, stream, backend, parameters)
    if out is None:
        names = getattr(getattr(points, "dtype", None), "names", None)
        return result.reshape(-1).view(points.dtype) if names else result
    if apart:
        copy(result.reshape(-1).view(out.dtype), out=out, stream=stream)
    return given


@overload
def shift_points(p: AnyArray, dx: float, dy: float, *, out: Out, **how: Unpack[How]) -> Out: ...
@overload
def shift_points(
    p: DeviceArray, dx: float, dy: float, *, out: None = ..., **how: Unpack[How]
) -> DeviceArray: ...
@overload
def shift_points(
    p: NDArray[Scalar], dx: float, dy: float, *, out: None = ..., **how: Unpack[How]
) -> NDArray[Scalar]: ...
@overload
def shift_points(
    p: ForeignArray, dx: float, dy: float, *, out: None = ..., **how: Unpack[How]
) -> DeviceArray | Any: ...
@overload
def shift_points(
    p: ArrayLike, dx: float, dy: float, *, out: None = ..., **how: Unpack[How]
) -> NDArray[Any]: ...
def shift_points(
    p: AnyArray,
    dx: float,
    dy: float,
    *,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Move points of the plane: the result is `p` with dx added to every x and dy to every y.

    The layout of `p` is the lesson. In an array of structures the x and y of a point are
    neighbours; in a structure of arrays all x come first, then all y. If both fields are needed,
    as here, the width of an access matters more than the layout: compare variants of one width.

    Parameters
    ----------
    p : array_like or DeviceArray of float32 or float64
        The points: of shape (n, 2), an array of structures; or (2, n), a structure of arrays;
        or of shape (n,) with a structured dtype whose fields are x and y, of one type and
        without padding. Shape (2, 2) is read as (n, 2), except by the variants ``soa`` and
        ``soa_vec2``. On the device it is contiguous.
    dx, dy : float
        The distances; rounded to the type of the points.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest for this layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, with the shape and dtype of `p`, not overlapping it.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray
        A new array like `p`: on the host if `p` is on the host, on the device if `p` is on the
        device. It is `out` if that is given.

    Raises
    ------
    TypeError
        If `p` has another dtype or is a masked array, or dx or dy is not a number.
    ValueError
        If `p` has another shape, a named variant is for the other layout or cannot take these
        arrays, there is no such variant, or `out` does not fit or overlaps `p`.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    ``aos``
        an array of structures, field by field: half of each sector used
    ``aos_vec2``
        an array of structures, a whole point per access
    ``soa``
        a structure of arrays: each field is contiguous
    ``soa_vec2``
        a structure of arrays, two numbers of it per access
    ``vec4``
        either layout as one array of numbers, 128 bits per access

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
    parameters = _parameters(dx, dy)
    try:
        return _call("shift_points", variant, (p,), out, stream, backend, parameters)
    except (TypeError, ValueError):
        # It takes no structures, and has changed nothing. To look for them before every call
        # would take a quarter of it.
        if not (_may_have_fields(p) or _may_have_fields(out)):
            raise
    return _shift_structures(p, parameters, variant, out, stream, backend)


def _expected(p: Any, dx: float = 1.0, dy: float = -1.0, variant: str = "auto", **_: Any) -> Array:
    p = np.asarray(p)
    soa = p.shape[0] == 2 and (p.shape[1] != 2 or variant.startswith("soa"))
    with np.errstate(over="ignore", invalid="ignore"):
        shift = np.array([dx, dy]).astype(p.dtype)
        return np.asarray(p + (shift[:, None] if soa else shift))


def _bound(p: Any, **_: Any) -> Array:
    return np.zeros(np.shape(p))


def _aos_shape(nbytes: int, itemsize: int) -> Shape:
    return nbytes // itemsize // 2, 2


def _soa_shape(nbytes: int, itemsize: int) -> Shape:
    return 2, nbytes // itemsize // 2


FAMILY = Family(
    function=shift_points,
    parameters=_parameters,
    as_taken=lambda p: _as_pairs(_with_dtype(p)),
    oracle=Oracle(
        arguments=floats,
        expected=_expected,
        bound=_bound,
        work=read_and_written,
        shape=_aos_shape,
        shapes=((0, 2), (2, 0), (1, 2), (2, 1), (2, 2), (33, 2), (2, 33), (65537, 2), (2, 65537)),
        dtypes=("float32", "float64"),
        keywords=({"dx": 1.5, "dy": -0.1}, {"dx": 0.0, "dy": 1e300}),
        otherwise=("soa", "soa_vec2"),  # shape (2, 2) is points in columns
        shapes_of={"soa": _soa_shape, "soa_vec2": _soa_shape},
    ),
)
