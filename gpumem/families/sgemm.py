"""Products of matrices by the rules of BLAS: `sgemm`."""

from __future__ import annotations

from collections.abc import Callable
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
from . import keywords
from .inputs import matrix_shape, random_bytes
from .keywords import flag, real
from .protocol import Array, Dtype, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call


def _parameters(
    alpha: float = 1.0,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    precision: str = "highest",
) -> tuple[float, float, int, int, int]:
    if type(alpha) is float and type(beta) is float and trans_a is False and trans_b is False:
        return alpha, beta, 0, 0, keywords.precision(precision)  # the usual case
    return (
        real("alpha", alpha),
        real("beta", beta),
        flag("trans_a", trans_a),
        flag("trans_b", trans_b),
        keywords.precision(precision),
    )


def _turned(x: Any, transposed: int) -> tuple[Any, int]:
    """Replace a matrix whose columns are contiguous by its transpose, whose rows are."""
    rows, columns = x.strides
    if columns != x.itemsize == rows and min(x.shape) > 1:
        return x.T, 1 - transposed
    return x, transposed


class _How(How, total=False):
    alpha: float
    beta: float
    trans_a: bool
    trans_b: bool
    precision: str


@overload
def sgemm(
    a: AnyArray, b: AnyArray, c: AnyArray | None = ..., *, out: Out, **how: Unpack[_How]
) -> Out: ...
@overload
def sgemm(
    a: DeviceArray, b: AnyArray, c: AnyArray | None = ..., *, out: None = ..., **how: Unpack[_How]
) -> DeviceArray: ...
@overload
def sgemm(
    a: NDArray[Any], b: AnyArray, c: AnyArray | None = ..., *, out: None = ..., **how: Unpack[_How]
) -> NDArray[np.float32]: ...
@overload
def sgemm(
    a: ForeignArray, b: AnyArray, c: AnyArray | None = ..., *, out: None = ..., **how: Unpack[_How]
) -> DeviceArray | Any: ...
@overload
def sgemm(
    a: ArrayLike, b: AnyArray, c: AnyArray | None = ..., *, out: None = ..., **how: Unpack[_How]
) -> NDArray[np.float32]: ...
def sgemm(
    a: AnyArray,
    b: AnyArray,
    c: AnyArray | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    precision: str = "highest",
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Multiply matrices of single precision: ``alpha * op(a) @ op(b) + beta * c``.

    op(x) is `x`, or its transpose if `trans_a` or `trans_b` is set. The rules are those of BLAS:
    `c` is not read if beta is 0, `a` and `b` are not read if alpha is 0, and a product without
    terms leaves ``beta * c``. NaN and infinities propagate as in NumPy.

    Parameters
    ----------
    a, b : array_like or DeviceArray of float32
        The factors: op(a) of shape (m, k), op(b) of shape (k, n), any strides. Rows may be
        padded, and a transposed view costs nothing.
    c : array_like or DeviceArray of float32, shape (m, n), optional
        The matrix to add. Needed only if beta is not 0; it is not changed, unless it is `out`.
    alpha, beta : float
        The factors of the product and of `c`; rounded to single precision.
    trans_a, trans_b : bool
        Whether to transpose `a` and `b`.
    precision : {"highest", "high"}, optional
        Which kernels "auto" may take, named as by `jax.default_matmul_precision` and
        `torch.set_float32_matmul_precision`. "highest", the default: products and sums in FP32.
        "high": also ``fp16x3``, on the tensor cores of Hopper,
        where it is faster. Its errors are of the size of those of FP32. A named variant runs
        whatever the precision.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest of gpumem's own for these
        arguments and takes every layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, float32, of shape (m, n), not overlapping `a` and `b`.
        It may be `c` itself, which is then updated in place.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray of float32, shape (m, n)
        The product, summed in single precision: on the host if the inputs are on the host, on
        the device if they are on the device. It is `out` if that is given.

    Raises
    ------
    TypeError
        If an array is not of float32 or is a masked array, or another argument is of the wrong
        type.
    ValueError
        If the shapes do not fit, `c` is missing and beta is not 0, a named variant cannot take
        these arrays, there is no such variant, or `out` does not fit or overlaps `a` or `b`.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    ``tf32x3`` is as accurate as the others for sums of a hundred terms or more, except for
    numbers below 2**-113, of which it keeps 11 bits; "auto" does not take it.

    ``fp16x3`` splits each number into two halves. A kernel on the device checks whether they keep
    enough bits: numbers of a row of op(a), or of a column of op(b), may differ by 27 binades, and
    a few by more. Where they do not suffice, or a number is not finite, the product is computed by
    ``tf32x3``, or in FP32 if its sums have less than 2048 terms; those of less than 128 terms
    always are. It allocates as much memory as the factors have. "auto" takes it with
    ``precision="high"`` only.

    The variants, each with the idea that it adds:

    ``naive_col``
        one element of C per thread, a warp down a column: 33 sectors for 32 products
    ``naive``
        one element of C per thread, a warp along a row: two loads for each product
    ``vec4``
        4 x 4 per thread, by 128-bit loads: eight loads for 64 products
    ``thread_tile``
        8 x 8 per thread, as 2 x 2 of 4 x 4: sixteen loads for 256 products
    ``smem``
        128 x 128 x 16 in shared memory: a block loads what its threads share once
    ``smem_transposed``
        A's tile column by column: fewer registers, two blocks per multiprocessor
    ``hide_smem_latency``
        the next step is read from shared memory while this one is computed
    ``hide_global_latency``
        the next tile is loaded while this one is computed; one barrier per tile
    ``warp_tile``
        8 x 16 per thread, tiles of warps, three stages of asynchronous copies ahead
    ``warp_tile_tma``
        the tensor copy engine loads the tiles: almost all instructions are products
    ``stream_k``
        blocks share out all steps of all tiles alike: no multiprocessor ends early
    ``tf32x3``
        FP32 accuracy on the tensor cores: three TF32 products for each
    ``fp16x3``
        the same by halves, at twice the rate, where the device finds that they suffice
    ``fp16x3_multicast``
        two blocks load the columns that both need once: 0.7 times the reads of the L2
    ``cublas``
        cuBLAS on the plain FP32 units, as the reference

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
    alpha, beta, turned_a, turned_b, level = _parameters(alpha, beta, trans_a, trans_b, precision)
    # On the device the extension module does this. If the shapes do not fit, the error message has
    # to show them as they were given.
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.ndim == b.ndim == 2:
        if a.shape[1 - turned_a] == b.shape[turned_b]:
            a, turned_a = _turned(a, turned_a)
            b, turned_b = _turned(b, turned_b)
    parameters = alpha, beta, turned_a, turned_b, level
    return _call("sgemm", variant, (a, b, c), out, stream, backend, parameters)


def _sides(shape: Shape) -> tuple[int, int, int]:
    if len(shape) != 3:
        raise ValueError(f"shape is {shape}, expected (m, n, k): a is m x k, b is k x n")
    return shape


def _arguments(
    shape: Shape,
    dtype: Dtype,
    random: np.random.Generator,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    **_: Any,
) -> tuple[Any, ...]:
    """Return normal numbers; a hundredth of the rows of small matrices have an infinity or NaN."""
    m, n, k = _sides(shape)
    share = 0.01 if m * n * k < 2**26 else 0.0
    sides = [(k, m) if trans_a else (m, k), (n, k) if trans_b else (k, n)]
    sides += [(m, n)] if beta != 0 else []
    if dtype.kind != "f":
        return tuple(random_bytes(side, dtype, random) for side in sides)
    arrays = []
    for side in sides:
        a = random.standard_normal(side, np.float32).astype(dtype, copy=False)
        for row in np.flatnonzero(random.random(side[0]) < share):
            if a[row].size:
                column = random.integers(a[row].size)
                a[row, column] = random.choice([np.inf, -np.inf, np.nan])
        arrays.append(a)
    return tuple(arrays)


def _terms(
    arrays: tuple[Any, ...],
    change: Callable[[Any], Any],
    alpha: float,
    beta: float,
    trans_a: bool,
    trans_b: bool,
) -> tuple[Array, Array]:
    """Return ``alpha * op(a) @ op(b)`` and ``beta * c`` in double precision, of changed numbers."""
    a, b, *c = (np.asarray(x) for x in arrays)
    a, b = (x.T if transposed else x for x, transposed in ((a, trans_a), (b, trans_b)))
    shape = a.shape[0], b.shape[1]
    with np.errstate(invalid="ignore", over="ignore"):
        alpha, beta = (change(float(np.float32(x))) for x in (alpha, beta))
        product, added = np.zeros(shape), np.zeros(shape)
        if alpha != 0 and a.shape[1] != 0:
            product = alpha * (change(a.astype(np.float64)) @ change(b.astype(np.float64)))
        if beta != 0:
            added = beta * change(c[0].astype(np.float64))
    return product, added


def _itself(x: Any) -> Any:
    return x


def _expected(
    *arrays: Any,
    alpha: float = 1.0,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    **_: Any,
) -> Array:
    product, added = _terms(arrays, _itself, alpha, beta, trans_a, trans_b)
    with np.errstate(invalid="ignore", over="ignore"):
        return (product + added).astype(np.float32)


def _bound(
    a: Any,
    *others: Any,
    alpha: float = 1.0,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    **_: Any,
) -> Array:
    """Allow for sums in any order, with products rounded or not.

    A term is rounded as a product, in each of the at most k sums, by alpha, and in the last
    sum: k + 3 times half a unit in the last place, taken here as a whole one. Rounding to a
    subnormal number has an error of half the smallest one, which alpha and beta may enlarge.
    Results that are infinite or NaN must be exact.
    """
    depth = np.shape(a)[0 if trans_a else 1]
    product, added = _terms((a, *others), np.abs, alpha, beta, trans_a, trans_b)
    eps, least = np.finfo(np.float32).eps, float(np.finfo(np.float32).smallest_subnormal)
    alpha, beta = (abs(float(np.float32(x))) for x in (alpha, beta))
    with np.errstate(invalid="ignore", over="ignore"):
        tiny = ((depth + 1) * alpha + beta + 3) * least
        error = (depth + 3) * eps * product + 2 * eps * (added + product) + tiny
    return np.where(np.isfinite(error), error, 0.0)


def _work(shape: Shape, itemsize: int, beta: float = 0.0, **_: Any) -> tuple[int, int]:
    """Count each array once, and a multiplication and an addition per term of each sum."""
    m, n, k = _sides(shape)
    elements = m * k + k * n + (2 if beta != 0 else 1) * m * n
    return elements * itemsize, 2 * m * n * k


def _shape(nbytes: int, itemsize: int) -> Shape:
    side, _ = matrix_shape(nbytes, itemsize)
    return side, side, side


def _one_tile(inputs: tuple[Array, ...]) -> tuple[Any, ...]:
    a, b = inputs
    return np.ascontiguousarray(a[:128, :32]), np.ascontiguousarray(b[:32, :128])


def _torch(out: Any, a: Any, b: Any) -> None:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.mm(a, b, out=out)


def _cupy(out: Any, a: Any, b: Any) -> None:
    import cupy

    cupy.matmul(a, b, out=out)  # in TF32 only if CUPY_TF32 asks for it


def _inputs(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    m, n, k = _sides(shape)
    return ((m, k), dtype), ((k, n), dtype)


FAMILY = Family(
    function=sgemm,
    parameters=_parameters,
    oracle=Oracle(
        arguments=_arguments,
        inputs=_inputs,
        expected=_expected,
        bound=_bound,
        work=_work,
        shape=_shape,
        reference=("sgemm", "cublas"),
        shapes=(
            (0, 0, 0),
            (0, 5, 3),
            (5, 0, 3),
            (5, 3, 0),
            (1, 1, 1),
            (1, 70, 33),
            (70, 1, 33),
            (33, 31, 17),
            (127, 129, 5),
            (128, 128, 16),
            (128, 256, 64),
            (129, 130, 131),
            (300, 200, 513),
        ),
        dtypes=("float32",),
        keywords=(
            {},
            {"trans_a": True},
            {"trans_b": True},
            {"trans_a": True, "trans_b": True, "alpha": -0.5, "beta": 2.0},
            {"alpha": 0.0, "beta": 1.5},
            {"alpha": 3.0, "beta": 1.0},
        ),
        claimed=_one_tile,
        traffic=2**16,
    ),
    peers={"torch": _torch, "cupy": _cupy},
    peers_ignore_keywords=False,
)
