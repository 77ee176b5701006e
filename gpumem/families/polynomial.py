"""Memory spaces for values that all threads read: `polynomial`."""

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
    Scalar,
)
from .inputs import random_bytes, vector_shape
from .keywords import integer_within
from .protocol import Array, Dtype, Family, Oracle, Shape

if TYPE_CHECKING:
    from typing_extensions import Unpack

_call = _core.call

_TERMS = 16  # coefficients in the oracle's arguments
_PIECE = 2**16  # elements that the oracle computes at a time, to stay in a processor's cache


def _parameters(carveout: int | None = None) -> tuple[int, ...]:
    if carveout is None:
        return (-1,)
    return (integer_within("carveout", carveout, 0, 100, "an integer or None"),)


class _How(How, total=False):
    carveout: int | None


@overload
def polynomial(x: AnyArray, coefficients: AnyArray, *, out: Out, **how: Unpack[_How]) -> Out: ...
@overload
def polynomial(
    x: DeviceArray, coefficients: AnyArray, *, out: None = ..., **how: Unpack[_How]
) -> DeviceArray: ...
@overload
def polynomial(
    x: NDArray[Scalar], coefficients: AnyArray, *, out: None = ..., **how: Unpack[_How]
) -> NDArray[Scalar]: ...
@overload
def polynomial(
    x: ForeignArray, coefficients: AnyArray, *, out: None = ..., **how: Unpack[_How]
) -> DeviceArray | Any: ...
@overload
def polynomial(
    x: ArrayLike, coefficients: AnyArray, *, out: None = ..., **how: Unpack[_How]
) -> NDArray[Any]: ...
def polynomial(
    x: AnyArray,
    coefficients: AnyArray,
    *,
    carveout: int | None = None,
    variant: str = "auto",
    out: Result | None = None,
    stream: AnyStream | None = None,
    backend: str | None = None,
) -> Result:
    """Evaluate a polynomial at many points, by Horner's rule.

    The result is ``c[0] + c[1]*x + c[2]*x**2 + ...``. Every thread needs the same coefficient
    at the same time; the variants hold them in different memory spaces.

    Parameters
    ----------
    x : array_like or DeviceArray of float32 or float64
        The points: any shape, any strides.
    coefficients : array_like or DeviceArray, shape (n,)
        Of the dtype of `x`, the constant term first, as in :mod:`numpy.polynomial`. The variants
        take at most 16 in registers, 64 in local memory, 32 KiB in constant memory (1 KiB if
        each lane has its own copy), and what a block can have of shared memory.
    carveout : int, optional
        Per cent of a multiprocessor's on-chip memory requested as shared memory, 0 to 100; the
        rest is L1 cache. A hint, for this call only, without effect on the simulator. By default
        the driver chooses.
    variant : str, optional
        Which kernel runs (see Notes). "auto" picks the fastest for these arguments and takes
        every layout and any number of coefficients.
    out : ndarray or DeviceArray, optional
        Where the result goes: any layout, with the shape and dtype of `x`, not overlapping an
        input.
    stream : Stream, int or stream of another library, optional
        The stream that a call on device arrays joins; by default, the default stream.
    backend : {"cuda", "sim"}, optional
        Where host arrays are sent; by default what :func:`gpumem.backend` returns. Device arrays
        are processed where they are.

    Returns
    -------
    ndarray or DeviceArray
        Of the shape and dtype of `x`: on the host if `x` is on the host, on the device if `x` is
        on the device. It is `out` if that is given. Without coefficients it is 0.

    Raises
    ------
    TypeError
        If `x` or `coefficients` is of another dtype or a masked array, or `carveout` is not an
        integer.
    ValueError
        If `coefficients` is not one-dimensional or too long for the variant, there is no such
        variant, a named variant cannot take these arrays, or `out` does not fit or overlaps an
        input.
    UnavailableError
        If the backend or the variant is not available here.
    CudaError, MemoryError
        If the device fails, or has too little free memory.

    Notes
    -----
    With one coefficient the result is that coefficient, also at a NaN. The compiler decides
    whether a product and a sum are rounded once (fused) or twice: the error is at most
    ``2 n eps (|c[0]| + |c[1] x| + ...)``.

    The variants, each with the idea that it adds:

    ``global``
        coefficients in global memory: a load per step
    ``readonly``
        coefficients through the read-only path
    ``local``
        a private array with an index: local memory
    ``shared``
        a copy per block in shared memory: one word for all lanes
    ``constant``
        constant memory: one broadcast per step
    ``constant_divergent``
        constant memory, a different address in each lane: 32 passes
    ``register``
        a register per coefficient, 16 at most
    ``register_bounded``
        limited to 32 registers by launch bounds: the rest is spilled
    ``register_vec4``
        128 bits of points per access, in the order of addresses: memory is the limit
    ``shared_vec4``
        128 bits of coefficients serve many points: arithmetic is the limit

    References
    ----------
    .. [1] NVIDIA, "CUDA C++ Best Practices Guide", chapter Memory Optimizations, section Device
       Memory Spaces.

    Examples
    --------
    >>> import numpy as np, gpumem as gm
    >>> gm.polynomial(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 3.0]))
    array([ 1.,  4., 13.])
    """
    parameters = _parameters(carveout)
    return _call("polynomial", variant, (x, coefficients), out, stream, backend, parameters)


def _arguments(
    shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    if dtype.kind != "f":
        return random_bytes(shape, dtype, random), random_bytes((_TERMS,), dtype, random)
    x = random.uniform(-1.5, 1.5, shape).astype(dtype)
    x[random.random(shape) < 0.01] = np.nan
    x[random.random(shape) < 0.01] = np.inf
    return x, random.standard_normal(_TERMS).astype(dtype)


def _horner(x: Any, coefficients: Any) -> Array:
    """Compute in floats wider than `x`: in float64, or in long double for float64."""
    x, coefficients = np.asarray(x), np.asarray(coefficients)
    value: Array = np.zeros(x.shape, np.float64 if x.dtype.itemsize < 8 else np.longdouble)
    flat, out = x.reshape(-1), value.reshape(-1)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        for first in range(0, flat.size, _PIECE):
            piece = flat[first : first + _PIECE].astype(value.dtype)
            sums = out[first : first + _PIECE]
            for i, c in enumerate(coefficients[::-1]):
                if i:
                    sums *= piece
                sums += c
    return value


def _expected(x: Any, coefficients: Any, **_: Any) -> Array:
    with np.errstate(over="ignore"):
        return _horner(x, coefficients).astype(np.asarray(x).dtype)


def _bound(x: Any, coefficients: Any, **_: Any) -> Array:
    """Allow a rounding per product and per sum, one of the expected result, and subnormals."""
    x, coefficients = np.abs(x), np.abs(coefficients)
    finfo = np.finfo(x.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = _horner(x, coefficients) * (2 * len(coefficients) + 1) * finfo.eps
        return np.asarray(sizes + len(coefficients) * finfo.smallest_subnormal, np.float64)


def _work(shape: Shape, itemsize: int, **_: Any) -> tuple[int, int]:
    return 2 * math.prod(shape) * itemsize, 2 * _TERMS * math.prod(shape)


def _inputs(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    return (shape, dtype), ((_TERMS,), dtype)


FAMILY = Family(
    function=polynomial,
    parameters=_parameters,
    oracle=Oracle(
        arguments=_arguments,
        inputs=_inputs,
        expected=_expected,
        bound=_bound,
        work=_work,
        shape=vector_shape,
        shapes=((0,), (1,), (31,), (33,), (65537,), (2**20 + 3,), (3, 5, 7)),
        dtypes=("float32", "float64"),
        keywords=({}, {"carveout": 50}),
    ),
)
