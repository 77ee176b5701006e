"""Products of matrices: `sgemm` and `matmul`."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from ... import _core
from ._arguments import flag, real
from ._copy import copy
from ._packed import is_aligned

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..._core import AnyStream, DeviceArray

_call = _core.call


def _sgemm_parameters(
    alpha: float = 1.0, beta: float = 0.0, trans_a: bool = False, trans_b: bool = False
) -> tuple[float, ...]:
    return (
        real("alpha", alpha),
        real("beta", beta),
        flag("trans_a", trans_a),
        flag("trans_b", trans_b),
    )


def _as_rows(x: Any, transposed: bool) -> tuple[Any, bool]:
    """A matrix whose columns run on in memory is the transpose of one whose rows do."""
    rows, columns = x.strides
    if columns != x.itemsize == rows and min(x.shape) > 1:
        return x.T, not transposed
    return x, transposed


def _has_rows(x: DeviceArray) -> bool:
    """Whether a matrix is as most kernels want it: whole numbers, side by side in its rows."""
    return is_aligned(x) and (x.contiguous or x.shape[1] == 1 or x.strides[1] == x.itemsize)


def _with_rows(x: Any, stream: AnyStream | None) -> Any:
    """An argument as kernels take it: whole numbers in rows. What is not so goes through a copy."""
    if isinstance(x, _core.DeviceArray) and x.ndim == 2 and not _has_rows(x):
        return copy(x, stream=stream)
    return x


def sgemm(
    a: ArrayLike | DeviceArray,
    b: ArrayLike | DeviceArray,
    c: ArrayLike | DeviceArray | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Multiply matrices of single precision: ``alpha * op(a) @ op(b) + beta * c``.

    op(x) is `x`, or its transpose where `trans_a` or `trans_b` says so. The rules are those of
    BLAS: with a beta of 0 `c` is not read, with an alpha of 0 neither `a` nor `b`, and a product
    without terms leaves ``beta * c``. NaN and infinities travel as in NumPy.

    Parameters
    ----------
    a, b : array_like or DeviceArray of float32
        The factors: op(a) of shape (m, k), op(b) of shape (k, n), any strides. Rows may be
        padded, and a transposed view costs nothing.
    c : array_like or DeviceArray of float32, shape (m, n), optional
        What is added. It may be left out where beta is 0; it is not changed, unless it is `out`.
    alpha, beta : float
        The factors of the product and of `c`; rounded to single precision.
    trans_a, trans_b : bool
        Whether `a` and `b` are to be transposed.
    variant : str, optional
        Which kernel runs (see Notes). "auto" is the fastest of gpumem's own for these arguments
        and takes every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, float32, of shape (m, n), apart from `a` and `b`. It
        may be `c` itself, which is then updated in place.
    {call}

    Returns
    -------
    ndarray or DeviceArray of float32, shape (m, n)
        The product, summed up in single precision: on the host if the inputs are there, on the
        device if they are. It is `out` where that is given.

    Raises
    ------
    TypeError
        If an array is not of float32, or another argument is of the wrong type.
    ValueError
        If the shapes do not fit, `c` is missing and beta is not 0, a named variant cannot take
        these arrays, there is no such variant, or `out` does not fit.
    {failures}

    Notes
    -----
    ``tf32x3`` is as exact as the others from some hundred terms of a sum on, but for numbers below
    2**-113, which have 11 bits there; "auto" does not take it.

    {variants}

    References
    ----------
    .. [1] V. Volkov and J. W. Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra", SC 2008.
    .. [2] NVIDIA, "CUTLASS: Fast Linear Algebra in CUDA C++", NVIDIA Technical Blog, 2017.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> a = np.arange(6, dtype="f4").reshape(2, 3)
    >>> gm.sgemm(a, a, trans_b=True)
    array([[ 5., 14.],
           [14., 50.]], dtype=float32)
    """
    alpha, beta, left, right = _sgemm_parameters(alpha, beta, trans_a, trans_b)
    given = out
    a, b, c, out = _core.adopt_all("sgemm", (a, b, c), out, stream)
    strided = all(hasattr(x, "strides") and hasattr(x, "T") and x.ndim == 2 for x in (a, b))
    # Shapes that do not fit are told as they were given.
    if strided and a.shape[not left] == b.shape[right]:
        a, left = _as_rows(a, left)
        b, right = _as_rows(b, right)
    into = out
    if variant == "auto" and strided and isinstance(a, _core.DeviceArray):
        if out is not None and out is c and not _has_rows(c):
            into = None
        a, b, c = map(_with_rows, (a, b, c), repeat(stream))
        if isinstance(out, _core.DeviceArray) and not is_aligned(out):
            into = None
    parameters = (alpha, beta, int(left), int(right))
    result = _call("sgemm", variant, (a, b, c), into, stream, backend, parameters)
    if into is not out:
        copy(result, out=out, stream=stream)
    return result if given is None else given


def matmul(
    a: ArrayLike | DeviceArray,
    b: ArrayLike | DeviceArray,
    *,
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Any:
    """Multiply two matrices of single precision: ``a @ b``.

    This is :func:`sgemm` without the arguments of BLAS.

    Parameters
    ----------
    a, b : array_like or DeviceArray of float32
        The factors: of shape (m, k) and (k, n), any strides.
    variant : str, optional
        Which kernel of :func:`sgemm` runs. "auto" is the fastest for these arguments.
    out : ndarray or DeviceArray, optional
        Where the result goes: contiguous, float32, of shape (m, n), apart from `a` and `b`.
    {call}

    Returns
    -------
    ndarray or DeviceArray of float32, shape (m, n)
        The product: on the host if `a` and `b` are there, on the device if they are. It is
        `out` where that is given.

    Raises
    ------
    TypeError, ValueError, UnavailableError, CudaError, MemoryError
        As :func:`sgemm` does.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.matmul(np.eye(2, dtype="f4"), np.ones((2, 3), "f4"))
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    return sgemm(a, b, variant=variant, out=out, stream=stream, backend=backend)


PARAMETERS = {
    "sgemm": _sgemm_parameters,
}
