"""`sgemm`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._family import Family, matrix_shape, random_bytes


def _sgemm_sides(shape: tuple[int, ...]) -> tuple[int, int, int]:
    if len(shape) != 3:
        raise ValueError(f"shape is {shape}, expected (m, n, k): a is m x k, b is k x n")
    return shape


def _sgemm_arguments(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    random: np.random.Generator,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    **_: Any,
) -> tuple[Any, ...]:
    """Normal numbers; infinities and NaN in few lines, as one spoils a whole one.

    Large products have none: they are there to be measured.
    """
    m, n, k = _sgemm_sides(shape)
    share = 0.01 if m * n * k < 2**26 else 0.0
    sides = [(k, m) if trans_a else (m, k), (n, k) if trans_b else (k, n)]
    sides += [(m, n)] if beta != 0 else []
    if dtype.kind != "f":
        return tuple(random_bytes(side, dtype, random) for side in sides)
    arrays = []
    for side in sides:
        a = random.standard_normal(side, np.float32).astype(dtype, copy=False)
        for line in np.flatnonzero(random.random(side[0]) < share):
            if a[line].size:
                place = random.integers(a[line].size)
                a[line, place] = random.choice([np.inf, -np.inf, np.nan])
        arrays.append(a)
    return tuple(arrays)


def _sgemm_terms(
    arrays: tuple[Any, ...],
    change: Callable[[Any], Any],
    alpha: float,
    beta: float,
    trans_a: bool,
    trans_b: bool,
) -> tuple[np.ndarray[Any, Any], Any]:
    """The product and what is added to it, in double precision, of changed numbers."""
    a, b, c = (*(np.asarray(x) for x in arrays), None, None)[:3]
    a, b = (x.T if turned else x for x, turned in ((a, trans_a), (b, trans_b)))
    shape = a.shape[0], b.shape[1]
    with np.errstate(invalid="ignore", over="ignore"):
        alpha, beta = (change(float(np.float32(x))) for x in (alpha, beta))
        product, added = np.zeros(shape), np.zeros(shape)
        if alpha != 0 and a.shape[1] != 0:
            product = alpha * (change(a.astype(np.float64)) @ change(b.astype(np.float64)))
        if beta != 0:
            added = beta * change(np.asarray(c).astype(np.float64))
    return product, added


def _sgemm_expected(
    *arrays: Any,
    alpha: float = 1.0,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    **_: Any,
) -> np.ndarray[Any, Any]:
    product, added = _sgemm_terms(arrays, lambda x: x, alpha, beta, trans_a, trans_b)
    with np.errstate(invalid="ignore", over="ignore"):
        return (product + added).astype(np.float32)


def _sgemm_bound(
    a: Any,
    *others: Any,
    alpha: float = 1.0,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    **_: Any,
) -> np.ndarray[Any, Any]:
    """Sums in any order, with products rounded or not.

    A term is rounded as a product, in each of the at most k sums, by alpha, and in the last
    sum: k + 3 times half a unit in the last place, taken here as a whole one. A rounding to a
    subnormal number errs by half the smallest, which alpha and beta may enlarge. What comes of
    infinities and NaN is exact.
    """
    depth = np.shape(a)[0 if trans_a else 1]
    product, added = _sgemm_terms((a, *others), np.abs, alpha, beta, trans_a, trans_b)
    eps, least = np.finfo(np.float32).eps, float(np.finfo(np.float32).smallest_subnormal)
    with np.errstate(invalid="ignore", over="ignore"):
        tiny = (
            (depth + 1) * abs(float(np.float32(alpha))) + abs(float(np.float32(beta))) + 3
        ) * least
        error = (depth + 3) * eps * product + 2 * eps * (added + product) + tiny
    return np.where(np.isfinite(error), error, 0.0)


def _sgemm_work(shape: tuple[int, ...], itemsize: int, beta: float = 0.0, **_: Any) -> Any:
    """Each array once, and a multiplication and an addition per term of each sum."""
    m, n, k = _sgemm_sides(shape)
    elements = m * k + k * n + (2 if beta != 0 else 1) * m * n
    return elements * itemsize, 2 * m * n * k


def _sgemm_shape(nbytes: int, itemsize: int) -> tuple[int, int, int]:
    side, _ = matrix_shape(nbytes, itemsize)
    return side, side, side


FAMILIES = {
    "sgemm": Family(
        arguments=_sgemm_arguments,
        expected=_sgemm_expected,
        bound=_sgemm_bound,
        work=_sgemm_work,
        shape=_sgemm_shape,
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
        parameters=(
            {},
            {"trans_a": True},
            {"trans_b": True},
            {"trans_a": True, "trans_b": True, "alpha": -0.5, "beta": 2.0},
            {"alpha": 0.0, "beta": 1.5},
            {"alpha": 3.0, "beta": 1.0},
        ),
        claimed=lambda arguments: tuple(
            np.ascontiguousarray(x) for x in (arguments[0][:128, :32], arguments[1][:32, :128])
        ),
        traffic=2**16,
    ),
}
