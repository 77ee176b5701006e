"""`add`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._family import Family, floats


def _addends(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    flat = (math.prod(shape),)
    return tuple(floats(flat, dtype, random)[0].reshape(shape) for _ in range(2))


def _add_expected(a: Any, b: Any) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.asarray(a) + np.asarray(b))


FAMILIES = {
    "add": Family(
        arguments=_addends,
        expected=lambda a, b, **_: _add_expected(a, b),
        bound=lambda a, b, **_: np.zeros(np.shape(a)),
        work=lambda shape, itemsize, **_: (3 * math.prod(shape) * itemsize, math.prod(shape)),
        shape=lambda nbytes, itemsize: (nbytes // itemsize,),
        reference=("copy", "memcpy"),
        shapes=((), (0,), (1,), (3,), (31,), (33,), (65537,), (2**20 + 3,), (3, 5, 7), (4, 0)),
        dtypes=("float32", "float64", "int32", "int64", "uint32", "uint64"),
        parameters=({},),
    ),
}
