"""Products with NumPy's shapes: `matmul`."""

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
from . import keywords
from .inputs import matrix_shape, random_bytes
from .protocol import Array, Dtype, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call


def _parameters(precision: str = "highest") -> tuple[int, ...]:
    return (keywords.precision(precision),)


class _How(How, total=False):
    precision: str


@overload
def matmul(a: AnyArray, b: AnyArray, *, out: Out, **how: Unpack[_How]) -> Out: ...
@overload
def matmul(a: DeviceArray, b: AnyArray, *, out: None = ..., **how: Unpack[_How]) -> DeviceArray: ...
@overload
def matmul(
    a: NDArray[Any], b: AnyArray, *, out: None = ..., **how: Unpack[_How]
) -> NDArray[np.float32]: ...
@overload
def matmul(
    a: ForeignArray, b: AnyArray, *, out: None = ..., **how: Unpack[_How]
) -> DeviceArray | Any: ...
@overload
def matmul(
    a: ArrayLike, b: AnyArray, *, out: None = ..., **how: Unpack[_How]
) -> NDArray[np.float32]: ...
def matmul(
    a: AnyArray,
    b: AnyArray,
    *,
    precision: str = "highest",
    variant: str = "auto",
    out: Any = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Multiply matrices of single precision, or stacks of them: ``a @ b`` with NumPy's shapes.

    A vector is a row if it is `a`, a column if it is `b`, and that axis is not in the result. Of
    arrays with more than two axes the last two are matrices, and the others are those of a stack,
    which broadcast: a matrix that is needed for many products is not copied. A whole stack is one
    launch, except where each product is large enough for a launch of its own.

    Parameters
    ----------
    a, b : array_like or DeviceArray of float32
        The factors: of shapes (..., m, k) and (..., k, n), or (k,), any strides.
    precision : {"highest", "high"}, optional
        Which kernels "auto" may take, named as by `jax.default_matmul_precision` and
        `torch.set_float32_matmul_precision`. "highest", the default: products and sums in FP32.
        "high": also ``fp16x3`` of :func:`sgemm`, on the tensor cores of Hopper,
        where it is faster. Its errors are of the size of those of FP32. A named variant runs
        whatever the precision.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks by a model of the device and takes every
        layout.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, float32, of the shape of the result, not overlapping
        `a` and `b`.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray of float32, shape (..., m, n)
        The products, each summed in single precision, always in the same order: on the host if
        `a` and `b` are on the host, on the device if they are on the device. It is `out` if that
        is given. The product of two vectors has shape ().

    Raises
    ------
    TypeError
        If an array is not of float32 or is a masked array, or another argument is of the wrong
        type.
    ValueError
        If the shapes do not fit, a named variant cannot take these arrays, there is no such
        variant, or `out` does not fit or overlaps `a` or `b`.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    The variants, each with the idea that it adds:

    ``naive``
        one element per thread, whatever the stack
    ``tiles``
        tiles in shared memory, all products of the stack in one launch
    ``tiles:32x32``
        32 x 32: eight warps share the depth of a tile
    ``tiles:16x64``
        16 x 64 or 64 x 16: eight warps share the depth of a tile
    ``tiles:64x64``
        64 x 64: four pairs of warps share the depth
    ``tiles:p64x32``
        64 x 32 per pair of warps, which is a block: many tiles, few lines
    ``tiles:w32x32``
        32 x 32 per warp: small matrices, eight products per block
    ``warp_tiles``
        tiles of warps: up to 8 x 16 sums per thread, and no number is waited for
    ``warp_tiles:32x32``
        32 x 32: two warps share the depth
    ``warp_tiles:32x64``
        32 x 64 per warp, which is a block
    ``warp_tiles:64x64``
        64 x 64: two pairs of warps share the depth
    ``warp_tiles:p64x64``
        64 x 64 per pair of warps, which is a block: many tiles
    ``warp_tiles:q64x64``
        64 x 64 per four warps: 16 to 20 per multiprocessor, by pairs 12
    ``warp_tiles:128x128``
        128 x 128 per four warps
    ``tma``
        the tensor copy engine loads the tiles: almost all instructions are products
    ``thin``
        a matrix and up to four vectors: each number is loaded once, as part of a vector
    ``thin:one``
        one vector
    ``thin:two``
        two vectors
    ``thin:four``
        up to four vectors
    ``narrow``
        a matrix and up to 32 vectors: each number of the matrix is loaded once
    ``narrow:8``
        up to 8 vectors
    ``narrow:16``
        up to 16 vectors
    ``narrow:24``
        up to 24 vectors
    ``narrow:32``
        up to 32 vectors
    ``whole``
        small matrices, a product or a part of it per block, by the bulk copy engine
    ``whole:16``
        sides up to 16
    ``whole:32``
        sides up to 32
    ``whole:48``
        sides up to 48
    ``whole:32x96``
        up to 32 rows and 96 columns
    ``whole:96x32``
        up to 96 rows and 32 columns
    ``whole:80x80``
        sides up to 80

    Kernels that only serve ``auto``:

    ``sgemm``
        a large product: the family sgemm has kernels for it

    References
    ----------
    .. [1] M. Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix
       Multiplication on the GPU", PPoPP 2023.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> stack = np.arange(12, dtype="f4").reshape(2, 2, 3)
    >>> gm.matmul(stack, np.ones(3, "f4"))
    array([[ 3., 12.],
           [21., 30.]], dtype=float32)
    """
    return _call("matmul", variant, (a, b), out, stream, backend, _parameters(precision))


def _sides(shape: Shape) -> tuple[int, ...]:
    if len(shape) < 3:
        raise ValueError(f"shape is {shape}, expected (..., m, n, k): m x k and k x n, in stacks")
    return shape


def _inputs(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    *stack, m, n, k = _sides(shape)
    return ((*stack, m, k), dtype), ((*stack, k, n), dtype)


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """Return normal numbers; a hundredth of those of small products are infinities or NaN."""
    share = 0.0003 if math.prod(_sides(shape)) < 2**26 else 0.0
    arrays = []
    for sides, _dtype in _inputs(shape, dtype):
        if dtype.kind != "f":
            arrays.append(random_bytes(sides, dtype, random))
            continue
        a = random.standard_normal(sides, np.float32).astype(dtype, copy=False)
        chosen = random.random(sides) < share
        a[chosen] = random.choice([np.inf, -np.inf, np.nan], int(chosen.sum()))
        arrays.append(a)
    return tuple(arrays)


def _expected(a: Any, b: Any, **_: Any) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        product = np.matmul(np.asarray(a, np.float64), np.asarray(b, np.float64))
        return np.asarray(product).astype(np.float32)


def _bound(a: Any, b: Any, **_: Any) -> Array:
    """Allow for sums in any order, with products rounded or not: see the bound of `sgemm`."""
    eps, least = np.finfo(np.float32).eps, float(np.finfo(np.float32).smallest_subnormal)
    depth = np.shape(a)[-1]
    with np.errstate(invalid="ignore", over="ignore"):
        product = np.matmul(*(np.abs(np.asarray(x, np.float64)) for x in (a, b)))
        error = np.asarray((depth + 3) * eps * product + (depth + 3) * least)
    return np.where(np.isfinite(error), error, 0.0)


def _work(shape: Shape, itemsize: int, **_: Any) -> tuple[int, int]:
    """Count each array once, and a multiplication and an addition per term of each sum."""
    *stack, m, n, k = _sides(shape)
    count = math.prod(stack)
    return count * (m * k + k * n + m * n) * itemsize, 2 * count * m * n * k


def _shape(nbytes: int, itemsize: int) -> Shape:
    side, _ = matrix_shape(nbytes, itemsize)
    return side, side, side


def _vector(nbytes: int, itemsize: int) -> Shape:
    side, _ = matrix_shape(nbytes, itemsize)
    return side, 1, side


def _few_vectors(nbytes: int, itemsize: int) -> Shape:
    side, _ = matrix_shape(nbytes, itemsize)
    return side, min(side, 8), side  # of the smallest instance of `narrow`


def _small(nbytes: int, itemsize: int) -> Shape:
    side = min(matrix_shape(nbytes, itemsize)[0], 16)  # of the smallest instance of `whole`
    return side, side, side


def _whole_tiles(inputs: tuple[Array, ...]) -> tuple[Any, ...]:
    """Return a product of whole tiles of every size."""
    a, b = inputs
    return np.ascontiguousarray(a[:128, :64]), np.ascontiguousarray(b[:64, :128])


def _torch(out: Any, a: Any, b: Any) -> None:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.matmul(a, b, out=out)


def _cupy(out: Any, a: Any, b: Any) -> None:
    import cupy

    cupy.matmul(a, b, out=out)  # in TF32 only if CUPY_TF32 asks for it


FAMILY = Family(
    function=matmul,
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
            (5, 3, 0),
            (0, 4, 4, 4),
            (1, 1, 1),
            (70, 1, 33),
            (1, 70, 33),
            (65, 3, 131),
            (33, 31, 17),
            (7, 5, 6, 3),
            (5, 33, 35, 40),
            (128, 128, 64),
            (2, 3, 128, 64, 16),
            (20, 30, 4099),
            (2, 2, 9000),
            (129, 130, 131),
            (300, 200, 513),
        ),
        dtypes=("float32",),
        shapes_of={"thin": _vector, "narrow": _few_vectors, "whole": _small},
        claimed=_whole_tiles,
        traffic=2**16,
    ),
    peers={"torch": _torch, "cupy": _cupy},
)
