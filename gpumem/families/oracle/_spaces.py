"""`polynomial`, `sample` and `static_value`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._family import Family, matrix_shape, random_bytes

_TERMS = 16  # coefficients of the polynomial that the family is told by
_PIECE = 2**16  # elements that are computed at a time: they stay in a processor's cache


def _polynomial_arguments(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    if dtype.kind != "f":
        return random_bytes(shape, dtype, random), random_bytes((_TERMS,), dtype, random)
    x = random.uniform(-1.5, 1.5, shape).astype(dtype)
    x[random.random(shape) < 0.01] = np.nan
    x[random.random(shape) < 0.01] = np.inf
    return x, random.standard_normal(_TERMS).astype(dtype)


def _horner(x: Any, coefficients: Any) -> np.ndarray[Any, Any]:
    """In floats that are wider than those of `x`, the widest that NumPy has here if need be."""
    x, steps = np.asarray(x), np.asarray(coefficients)[::-1]
    value = np.zeros(x.shape, np.float64 if x.dtype.itemsize < 8 else np.longdouble)
    flat, out = x.reshape(-1), value.reshape(-1)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        for first in range(0, flat.size, _PIECE):
            piece = flat[first : first + _PIECE].astype(value.dtype)
            found = out[first : first + _PIECE]
            for i, c in enumerate(steps):
                if i:
                    found *= piece
                found += c
    return value


def _polynomial_expected(x: Any, coefficients: Any, **_: Any) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        return _horner(x, coefficients).astype(np.asarray(x).dtype)


def _polynomial_bound(x: Any, coefficients: Any, **_: Any) -> np.ndarray[Any, Any]:
    """A rounding per product and per sum of each step, the last of the expected one, subnormals."""
    x, coefficients = np.abs(x), np.abs(coefficients)
    finfo = np.finfo(x.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = _horner(x, coefficients) * (2 * len(coefficients) + 1) * finfo.eps
        return (sizes + len(coefficients) * finfo.smallest_subnormal).astype(np.float64)


def _sample_arguments(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """An image, and as many points as pixels: in between, on pixels, and outside."""
    image = random.standard_normal(shape).astype(dtype)
    count = math.prod(shape)
    xy = random.uniform(-2, np.maximum(shape[::-1], 1) + 2.0, (count, 2)).astype("f4")
    on_pixel = random.random(count) < 0.1
    xy[on_pixel] = np.rint(xy[on_pixel])
    return image, xy


def _corners(image: Any, xy: Any) -> tuple[Any, Any, Any]:
    """The four pixels around each point, in float64, and the shares of the right and lower ones."""
    last = np.array(image.shape[::-1]) - 1
    at = np.clip(np.nan_to_num(xy.astype(np.float64), nan=0.0), 0, last)
    low = np.minimum(np.floor(at).astype(np.int64), last)
    high = np.minimum(low + 1, last)
    (left, top), (right, below) = low.T, high.T
    pixels = image[top, left], image[top, right], image[below, left], image[below, right]
    return np.array(pixels, np.float64), *(at - low).T


def _mix(a: Any, b: Any, share: Any) -> Any:
    return np.where(share == 0, a, (1 - share) * a + share * b)


def _by_points(image: Any, xy: Any, dtype: str, compute: Any) -> np.ndarray[Any, Any]:
    """What is computed from the corners and shares of each point."""
    image, xy = np.asarray(image), np.asarray(xy)
    found = np.empty(len(xy), dtype)
    with np.errstate(invalid="ignore"):
        for first in range(0, len(xy), _PIECE):
            part = slice(first, first + _PIECE)
            found[part] = compute(*_corners(image, xy[part]))
    return found


def _sample_expected(image: Any, xy: Any, **_: Any) -> np.ndarray[Any, Any]:
    def mixed(pixels: Any, across: Any, down: Any) -> Any:
        a, b, c, d = pixels
        return _mix(_mix(a, b, across), _mix(c, d, across), down)

    return _by_points(image, xy, "f4", mixed)


def _sample_bound(image: Any, xy: Any, variant: str = "auto", **_: Any) -> np.ndarray[Any, Any]:
    """Roundings of three interpolations; the texture unit's shares are off by up to 1/256 each."""

    def bound(pixels: Any, across: Any, down: Any) -> Any:
        rounded = 8 * np.finfo("f4").eps * np.abs(pixels).max(axis=0)
        return rounded + np.ptp(pixels, axis=0) / 120 if variant == "texture" else rounded

    return _by_points(image, xy, "f8", bound)


def _number(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """One number, whatever the shape."""
    return (random.integers(-1000, 1000, ()).astype(dtype),)


def _static_value_expected(x: Any, **_: Any) -> np.ndarray[Any, Any]:
    x = np.asarray(x)
    with np.errstate(over="ignore"):
        return np.asarray(x + x.dtype.type(2))


FAMILIES = {
    "polynomial": Family(
        arguments=_polynomial_arguments,
        expected=_polynomial_expected,
        bound=_polynomial_bound,
        work=lambda shape, itemsize, **_: (
            2 * math.prod(shape) * itemsize,
            2 * _TERMS * math.prod(shape),
        ),
        shape=lambda nbytes, itemsize: (nbytes // itemsize,),
        reference=("copy", "memcpy"),
        shapes=((0,), (1,), (31,), (33,), (65537,), (2**20 + 3,), (3, 5, 7)),
        dtypes=("float32", "float64"),
        parameters=({}, {"carveout": 50}),
    ),
    "sample": Family(
        arguments=_sample_arguments,
        expected=_sample_expected,
        bound=_sample_bound,
        # A point and its value; how often a pixel is read depends on the points.
        work=lambda shape, itemsize, **_: (math.prod(shape) * (itemsize + 12), None),
        shape=matrix_shape,
        reference=("copy", "memcpy"),
        shapes=((0, 0), (1, 1), (1, 9), (9, 1), (2, 2), (31, 33), (257, 130)),
        dtypes=("float32",),
        parameters=({},),
        coarse=("texture",),
    ),
    "static_value": Family(
        arguments=_number,
        expected=_static_value_expected,
        bound=None,
        work=lambda shape, itemsize, **_: (2 * itemsize, None),
        shape=lambda nbytes, itemsize: (),
        reference=("copy", "memcpy"),
        shapes=((),),
        dtypes=("float64", "float32", "int32", "int64"),
        parameters=({},),
    ),
}
