"""Random inputs for the oracles, and the shapes and dtypes that several families share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .protocol import Array, Dtype, Shape

# For families that only move bytes: element sizes with and without a kernel of their own, and a
# structure with padding.
MOVED = (
    "bool",
    "int16",
    "float32",
    "float64",
    "complex128",
    "S3",
    np.dtype([("small", "u1"), ("large", "f8")], align=True),
)

# Random bytes repeat with this prime period, so that no two tiles of a large array are equal: a
# kernel that reads the wrong tile is found.
_PERIOD = 2**24 - 3


def _make_valid(a: Array, random: np.random.Generator) -> None:
    """Redraw bools and text, for which not every byte pattern is valid."""
    if a.dtype.names is not None:
        for name in a.dtype.names:
            _make_valid(a[name], random)
    elif a.dtype.kind == "b" and a.size:
        a[...] = random.integers(0, 2, a.shape, dtype=np.uint8)
        a.flat[0] = True
    elif a.dtype.kind == "U" and a.dtype.itemsize:
        letters = random.integers(97, 123, (*a.shape, a.dtype.itemsize // 4), dtype=np.uint32)
        a[...] = letters.view(f"U{letters.shape[-1]}")[..., 0]


def random_bytes(shape: Shape, dtype: Dtype, random: np.random.Generator) -> Array:
    """Return an array of random nonzero bytes that are valid values of the dtype."""
    a = np.empty(shape, dtype)
    if dtype.itemsize == 0:
        return a
    raw = a.reshape(-1).view(np.uint8)
    done = min(raw.size, _PERIOD)
    raw[:done] = random.integers(1, 256, done, dtype=np.uint8)
    while done < raw.size:  # double the number of whole periods
        more = min(done, raw.size - done)
        raw[done : done + more] = raw[:more]
        done += more
    _make_valid(a, random)
    return a


def one_array(shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any) -> tuple[Any, ...]:
    """Return one input of random bytes."""
    return (random_bytes(shape, dtype, random),)


def floats(shape: Shape, dtype: Dtype, random: np.random.Generator, **_: Any) -> tuple[Any, ...]:
    """Return one input of floats of all magnitudes, with infinities and NaN.

    If the dtype is not a float, the input is random bytes.
    """
    if dtype.kind != "f":
        return (random_bytes(shape, dtype, random),)
    with np.errstate(over="ignore"):  # of halves
        a = (random.standard_normal(shape) * 10.0 ** random.integers(-9, 9, shape)).astype(dtype)
    a[random.random(shape) < 0.01] = np.nan
    a[random.random(shape) < 0.01] = -np.inf
    return (a,)


def vector_shape(nbytes: int, itemsize: int) -> Shape:
    """Return the shape of a vector of about `nbytes` bytes."""
    return (nbytes // itemsize,)


def matrix_shape(nbytes: int, itemsize: int) -> tuple[int, int]:
    """Return the shape of a square matrix of about `nbytes` bytes.

    The side is a multiple of 64, unless it is smaller than that.
    """
    side = math.isqrt(nbytes // itemsize)
    side = side // 64 * 64 or side
    return side, side


def read_and_written(shape: Shape, itemsize: int, **_: Any) -> tuple[int, None]:
    """Return the work of reading each element once and writing it once."""
    return 2 * math.prod(shape) * itemsize, None


# For families that add numbers.
SUMMED = ("float32", "float64", "int32", "int64", "uint32", "uint64")


def numbers_to_sum(shape: Shape, dtype: Dtype, random: np.random.Generator) -> Array:
    """Return normal floats, a tenth of the time with an infinity or NaN, or random integers."""
    if dtype.kind != "f":
        return random_bytes(shape, dtype, random)
    a = np.asarray(random.standard_normal(shape)).astype(dtype)
    if a.size and random.random() < 0.1:
        a.flat[random.integers(a.size)] = random.choice([np.inf, -np.inf, np.nan])
    return a


def rounding_of_sums(dtype: Dtype, count: Any) -> Any:
    """Return the error allowed for a sum of floats in any order, over the sum of magnitudes.

    Rounding errors add up like a random walk: with the square root of their number, or of an array
    of numbers.
    """
    return float(np.finfo(dtype).eps) * (8 + np.sqrt(count))
