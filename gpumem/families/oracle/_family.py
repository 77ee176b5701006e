"""What there is to say of a family, and what several of them are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

# Of plain moves: sizes with and without a kernel of their own, and a structure with padding.
MOVED = (
    "bool",
    "int16",
    "float32",
    "float64",
    "complex128",
    "S3",
    np.dtype([("small", "u1"), ("large", "f8")], align=True),
)


_NONE: Mapping[str, Any] = MappingProxyType({})


def _as_they_are(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return arguments


class Family(NamedTuple):
    """The row of a family."""

    # Fresh random input arrays, from shape, dtype, random generator and the keywords.
    arguments: Callable[..., tuple[Any, ...]]
    # The result, from the inputs, `variant` and the keywords of the family's function.
    expected: Callable[..., np.ndarray[Any, Any]]
    # Largest error allowed per element of the result; None: equal byte for byte.
    bound: Callable[..., np.ndarray[Any, Any]] | None
    # Bytes read and written, and floating-point operations or None, of one call.
    work: Callable[..., tuple[int, int | None]]
    # The shape whose first input has about so many bytes.
    shape: Callable[[int, int], tuple[int, ...]]
    # What bench holds the family against: another variant's GB/s in the same run.
    reference: tuple[str, str]
    # For verify: sizes at and past every edge, element sizes, keywords.
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[Any, ...]
    parameters: tuple[dict[str, Any], ...]
    # Variants that take not every shape: those they take, from shape and element size.
    takes: Mapping[str, Callable[[tuple[int, ...], int], bool]] = _NONE
    # Variants that only bound the others, and do another job.
    bounds: tuple[str, ...] = ()
    # Variants that read some arguments, which may mean two things, in the other way.
    otherwise: tuple[str, ...] = ()
    # `shape` for variants that want their arrays in another one.
    shapes_of: Mapping[str, Callable[[int, int], tuple[int, ...]]] = _NONE
    # Bytes of the first input by which traffic is told, where no shape is given.
    traffic: int = 2**22
    # Variants with a bound of their own.
    coarse: tuple[str, ...] = ()
    # Parameters that mean nothing to a variant. They never change what any variant returns.
    ignores: Mapping[str, tuple[str, ...]] = _NONE
    # The arguments for which the claims of the table hold, where the usual ones will not do.
    claimed: Callable[[tuple[np.ndarray[Any, Any], ...]], tuple[Any, ...]] = _as_they_are


# Random bytes repeat after a prime number of them, so that no two tiles of a large array
# are alike: a kernel that reads the wrong one is found out.
_PERIOD = 2**24 - 3


def _mend(a: np.ndarray[Any, Any], random: np.random.Generator) -> None:
    """Draw again what not every pattern of bytes is a value of: truth values and text."""
    if a.dtype.names is not None:
        for name in a.dtype.names:
            _mend(a[name], random)
    elif a.dtype.kind == "b" and a.size:
        a[...] = random.integers(0, 2, a.shape, dtype=np.uint8)
        a.flat[0] = True
    elif a.dtype.kind == "U" and a.dtype.itemsize:
        letters = random.integers(97, 123, (*a.shape, a.dtype.itemsize // 4), dtype=np.uint32)
        a[...] = letters.view(f"U{letters.shape[-1]}")[..., 0]


def random_bytes(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator
) -> np.ndarray[Any, Any]:
    """Return an array of random bytes, none of them 0, that NumPy can also print."""
    a = np.empty(shape, dtype)
    if dtype.itemsize == 0:
        return a
    raw = a.reshape(-1).view(np.uint8)
    done = min(raw.size, _PERIOD)
    raw[:done] = random.integers(1, 256, done, dtype=np.uint8)
    while done < raw.size:  # doubling whole periods
        more = min(done, raw.size - done)
        raw[done : done + more] = raw[:more]
        done += more
    _mend(a, random)
    return a


def opaque(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A view of elements as so many bytes, which NumPy moves whole.

    Copying a structure as such, it may leave the padding between the fields behind.
    """
    return a.view(f"V{a.dtype.itemsize}")


def floats(
    shape: tuple[int, ...], dtype: np.dtype[Any], random: np.random.Generator, **_: Any
) -> tuple[Any, ...]:
    """Numbers of every size, infinities and NaN; random bytes if it is no float at all."""
    if dtype.kind != "f":
        return (random_bytes(shape, dtype, random),)
    a = (random.standard_normal(shape) * 10.0 ** random.integers(-9, 9, shape)).astype(dtype)
    a[random.random(shape) < 0.01] = np.nan
    a[random.random(shape) < 0.01] = -np.inf
    return (a,)


def matrix_shape(nbytes: int, itemsize: int) -> tuple[int, int]:
    """The square of about so many bytes, a multiple of 64 wide if it is that wide at all."""
    side = math.isqrt(nbytes // itemsize)
    side = side // 64 * 64 or side
    return side, side
