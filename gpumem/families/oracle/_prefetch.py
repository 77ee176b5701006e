"""`prefetch_sum`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._family import Family, random_bytes

_ROW = 8192  # elements of a row by which prefetch_sum is told, if there are as many


def _prefetch_sum_arguments(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """Numbers on which f is lively; infinities and NaN in some rows, as one spoils a sum."""
    if dtype.kind != "f":
        return (random_bytes(shape, dtype, random),)
    a = random.standard_normal(shape).astype(dtype)
    for row in np.flatnonzero(random.random(shape[:1]) < 0.1):
        if a[row].size:
            a[row].flat[random.integers(a[row].size)] = random.choice([np.inf, -np.inf, np.nan])
    return (a,)


def _prefetch_sum_terms(a: Any, work: int = 2) -> np.ndarray[Any, Any]:
    y = np.array(a, np.float64)
    with np.errstate(over="ignore", under="ignore"):
        for _ in range(work):
            y = np.exp(-y * y) + 0.25 * y
    return y


def _prefetch_sum_expected(a: Any, work: int = 2, **_: Any) -> np.ndarray[Any, Any]:
    with np.errstate(invalid="ignore", over="ignore"):
        return _prefetch_sum_terms(a, work).sum(axis=1)


def _prefetch_sum_bound(a: Any, work: int = 2, **_: Any) -> np.ndarray[Any, Any]:
    """Sums in another order, and an exp of another library: 1e-12 of the terms' magnitudes."""
    with np.errstate(over="ignore"):
        return 1e-12 * np.abs(_prefetch_sum_terms(a, work)).sum(axis=1)


FAMILIES = {
    "prefetch_sum": Family(
        arguments=_prefetch_sum_arguments,
        expected=_prefetch_sum_expected,
        bound=_prefetch_sum_bound,
        work=lambda shape, itemsize, **_: ((math.prod(shape) + shape[0]) * itemsize, None),
        shape=lambda nbytes, itemsize: (
            max(1, nbytes // itemsize // _ROW),
            min(nbytes // itemsize, _ROW),
        ),
        reference=("prefetch_sum", "baseline"),
        shapes=((0, 5), (3, 0), (1, 1), (2, 31), (3, 127), (5, 128), (7, 1000), (2, 12345)),
        dtypes=("float64",),
        parameters=(
            {},
            {"distance": 1, "padding": 0},
            {"distance": 16, "padding": 0, "threads": 32, "sync": True},
            {"distance": 9, "work": 1, "threads": 96},
            {"distance": 5, "work": 0, "sync": True},
        ),
        ignores={"baseline": ("distance", "padding"), "any": ("distance", "padding")}
        | dict.fromkeys(
            (
                "unroll",
                "scalar_batch",
                "scalar_rolling",
                "smem_rolling_async_interleaved",
                "l2",
                "bulk",
            ),
            ("padding",),
        ),
    ),
}
