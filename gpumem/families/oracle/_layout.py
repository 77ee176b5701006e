"""`shift_points`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._family import Family, floats


def _soa_shape(nbytes: int, itemsize: int) -> tuple[int, ...]:
    return 2, nbytes // itemsize // 2


def _is_aos(shape: tuple[int, ...], _: Any) -> bool:
    return shape[1:] == (2,)


def _is_soa(shape: tuple[int, ...], _: Any) -> bool:
    return len(shape) == 2 and shape[0] == 2


def _shift_points_expected(
    p: Any, dx: float = 1.0, dy: float = -1.0, variant: str = "auto", **_: Any
) -> np.ndarray[Any, Any]:
    p = np.asarray(p)
    soa = p.shape[0] == 2 and (p.shape[1] != 2 or variant.startswith("soa"))
    with np.errstate(over="ignore", invalid="ignore"):
        shift = np.array([dx, dy]).astype(p.dtype)
        return p + (shift[:, None] if soa else shift)


FAMILIES = {
    "shift_points": Family(
        arguments=floats,
        expected=_shift_points_expected,
        bound=lambda p, **_: np.zeros(np.shape(p)),
        work=lambda shape, itemsize, **_: (2 * math.prod(shape) * itemsize, None),
        shape=lambda nbytes, itemsize: (nbytes // itemsize // 2, 2),
        reference=("copy", "memcpy"),
        shapes=((0, 2), (2, 0), (1, 2), (2, 1), (2, 2), (33, 2), (2, 33), (65537, 2), (2, 65537)),
        dtypes=("float32", "float64"),
        parameters=({"dx": 1.5, "dy": -0.1}, {"dx": 0.0, "dy": 1e300}),
        takes={
            "aos": _is_aos,
            "aos_vec2": _is_aos,
            "soa": _is_soa,
            "soa_vec2": _is_soa,
        },
        otherwise=("soa", "soa_vec2"),  # two by two: points in rows, or in columns
        shapes_of={"soa": _soa_shape, "soa_vec2": _soa_shape},
    ),
}
