"""What every family should compute, in NumPy: arguments, results, and how near is equal.

One entry per family. ``verify``, ``traffic(shape=)``, ``bench`` and the tests live on it and
know no family by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ... import _core
from ...base import sizes
from ...base.messages import quoted, unknown
from ..table import Variant, find, variants
from . import _access, _copy, _layout, _memory, _prefetch, _sgemm, _spaces, _transpose
from ._family import Family, opaque

_MODULES = (_copy, _access, _layout, _spaces, _prefetch, _transpose, _memory, _sgemm)
_FAMILIES: dict[str, Family] = {
    name: family for module in _MODULES for name, family in module.FAMILIES.items()
}


class Case(NamedTuple):
    """One call for ``verify``: made by :func:`cases`."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    parameters: dict[str, Any]


def _bytes(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements in a row as unsigned integers, or as rows of bytes: equal means equal."""
    flat = np.ascontiguousarray(opaque(a)).reshape(-1)
    if a.dtype.itemsize in (1, 2, 4, 8):
        return flat.view(f"u{a.dtype.itemsize}")
    return flat.view(np.uint8).reshape(flat.size, a.dtype.itemsize)


def _raw(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """All bytes in a row."""
    return np.ascontiguousarray(opaque(a)).reshape(-1).view(np.uint8)


def _show(a: np.ndarray[Any, Any], place: int) -> str:
    one = a.reshape(-1)[place : place + 1]  # a scalar would not keep every bit
    raw = one.tobytes()
    return f"{one[0]} (bytes {raw[:16].hex()}{'…' if len(raw) > 16 else ''})"


def _rungs(family: str) -> list[str]:
    return [variant.name for variant in variants(family)]


def _find(family: str) -> Family:
    try:
        return _FAMILIES[family]
    except (KeyError, TypeError):
        message = unknown("there is no family", family, _FAMILIES, "; the families are")
        raise ValueError(message) from None


def dtype_for(family: str, dtype: Any = None) -> np.dtype[Any]:
    """Return a dtype; None is the one that the family is told by, float32 if it takes that."""
    if dtype is None:
        known = _find(family).dtypes
        dtype = "float32" if "float32" in known else known[0]
    try:
        dtype = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        raise TypeError(f"dtype is {quoted(dtype)}, which NumPy does not know") from None
    if dtype.hasobject:
        raise TypeError(f"dtype {dtype} holds Python objects, which no device can read")
    return dtype


def arguments(
    family: str, shape: Any, dtype: Any = None, seed: int | None = None, **parameters: Any
) -> tuple[Any, ...]:
    """Return fresh random input arrays for a family.

    Parameters
    ----------
    family : str
        Which family.
    shape : int or tuple of int
        The shape that the family is told by: for copy, that of `a`.
    dtype : dtype, optional
        Of the inputs. Any but object: numbers are random bytes, NaN and infinities
        included, none of them 0, where the family does not compute with them. By default
        float32, or what the family takes instead.
    seed : int, optional
        The same seed gives the same arrays.
    **parameters
        The keywords of the family's function, where they decide on the size of an array.

    Raises
    ------
    ValueError
        If the family is unknown, or `shape` is no shape or too large.
    TypeError
        If `dtype` is no dtype, or holds objects.
    """
    entry, dtype = _find(family), dtype_for(family, dtype)
    sides = sizes.check_shape(shape, dtype.itemsize)
    return entry.arguments(sides, dtype, np.random.default_rng(seed), **parameters)


def placed(variant: Variant, a: np.ndarray[Any, Any], backend: str) -> np.ndarray[Any, Any]:
    """Return the array in the kind of host memory that the variant needs, copied if need be."""
    if variant.memory is None:
        return a
    there = _core.empty(a.shape, a.dtype, kind=variant.memory, backend=backend)
    there[...] = a
    return there


def told_dtype(variant: Variant) -> str:
    """Return the dtype that a variant is told by: the family's, or one of a size that it takes."""
    dtype = dtype_for(variant.family)
    if variant.itemsizes and dtype.itemsize not in variant.itemsizes:
        return {1: "uint8", 2: "uint16", 8: "float64", 16: "complex128"}[variant.itemsizes[0]]
    return dtype.name


def claimed_arguments(variant: Variant, nbytes: int) -> tuple[Any, ...]:
    """Return arguments of about so many bytes for which the variant's claims hold."""
    entry, dtype = _find(variant.family), told_dtype(variant)
    shape = shape_for(variant.family, nbytes, dtype, variant.name)
    return entry.claimed(arguments(variant.family, shape, dtype, seed=3))


def expected(
    family: str, *arguments: Any, variant: str = "auto", **parameters: Any
) -> np.ndarray[Any, Any]:
    """Return what the family's function should return, computed by NumPy.

    Parameters
    ----------
    family : str
        Which family.
    *arguments : array_like
        Its inputs, on the host; they are not changed.
    variant : str
        Which kernel: those that only bound the others do another job.
    **parameters
        The keywords of its function that change the meaning or the way.
    """
    return _find(family).expected(*arguments, variant=variant, **parameters)


def bound(
    family: str, *arguments: Any, variant: str = "auto", **parameters: Any
) -> np.ndarray[Any, Any] | None:
    """Return the largest error allowed per element, None where not a bit may differ."""
    function = _find(family).bound
    if function is not None:
        return function(*arguments, variant=variant, **parameters)
    if variant != "auto" and find(family, variant).kinds:  # moves numbers: NaN is any NaN
        return np.zeros(expected(family, *arguments, variant=variant, **parameters).shape)
    return None


def job(family: str, variant: str) -> str:
    """Return a name that variants with the same result have in common."""
    entry = _find(family)
    return variant if variant in (*entry.bounds, *entry.otherwise) else "auto"


def ignores(family: str, variant: str) -> tuple[str, ...]:
    """Return the parameters that mean nothing to a variant."""
    return _find(family).ignores.get(variant, ())


def accuracy(family: str, variant: str) -> str:
    """Return a name that variants with the same result and the same bound have in common."""
    if variant in _find(family).coarse:
        return variant
    numbers = variant != "auto" and variant in _rungs(family) and find(family, variant).kinds
    return f"{job(family, variant)}{' of numbers' if numbers else ''}"


def takes(variant: Variant, shape: Any, dtype: Any) -> bool:
    """Return whether a variant promises to take arrays of this shape and dtype.

    What it does not take it refuses with a ValueError. Alignment and layout are not asked
    after: arrays are taken to be whole and contiguous.
    """
    dtype = dtype_for(variant.family, dtype)
    if variant.itemsizes and dtype.itemsize not in variant.itemsizes:
        return False
    if variant.kinds and dtype.kind not in variant.kinds:
        return False
    special = _find(variant.family).takes.get(variant.name)
    return special is None or special(sizes.check_shape(shape, dtype.itemsize), dtype.itemsize)


def compare(family: str, got: Any, wanted: Any, within: Any = None) -> None:
    """Raise AssertionError with the first index at which two arrays differ.

    Parameters
    ----------
    family : str
        For the message.
    got, wanted : ndarray
        Must agree in shape and dtype.
    within : ndarray, optional
        The largest absolute error per element; NaN equals NaN then. By default, every byte
        must be the same, so the payload of a NaN and the sign of a zero count.
    """
    if not isinstance(got, np.ndarray):
        raise AssertionError(f"{family}: got {type(got).__name__}, expected an ndarray")
    if got.shape != wanted.shape:
        raise AssertionError(f"{family}: got shape {got.shape}, expected {wanted.shape}")
    if got.dtype != wanted.dtype:
        raise AssertionError(f"{family}: got dtype {got.dtype}, expected {wanted.dtype}")
    if got.dtype.itemsize == 0 or got.size == 0:
        return
    if within is None:
        if np.array_equal(_raw(got), _raw(wanted)):  # the usual case, and the cheapest to tell
            return
        differs = _bytes(got) != _bytes(wanted)
        if differs.ndim == 2:
            differs = differs.any(axis=1)
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            near = abs(got - wanted) <= within
        near |= (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        differs = ~near.reshape(-1)
    count = int(np.count_nonzero(differs))
    if count:
        place = int(differs.argmax())
        index = tuple(map(int, np.unravel_index(place, got.shape)))
        raise AssertionError(
            f"{family}: {count} of {got.size} elements differ, the first at index {index}: "
            f"got {_show(got, place)}, expected {_show(wanted, place)}"
        )


def check(family: str, got: Any, *arguments: Any, variant: str = "auto", **parameters: Any) -> None:
    """Raise AssertionError unless a result is right.

    Moves must be equal byte for byte; sums lie within the family's stated bound.

    Parameters
    ----------
    family : str
        Which family.
    got : ndarray
        The result to check.
    *arguments, variant, **parameters
        What the family's function was called with.
    """
    wanted = expected(family, *arguments, variant=variant, **parameters)
    compare(family, got, wanted, bound(family, *arguments, variant=variant, **parameters))


def work(family: str, shape: Any, dtype: Any, **parameters: Any) -> tuple[int, int | None]:
    """Return bytes read plus written, and floating-point operations or None, of one call."""
    entry, itemsize = _find(family), dtype_for(family, dtype).itemsize
    return entry.work(sizes.check_shape(shape, itemsize), itemsize, **parameters)


def shape_for(
    family: str, nbytes: int, dtype: Any = None, variant: str = "auto"
) -> tuple[int, ...]:
    """Return the shape, as a variant takes it, whose first input holds about `nbytes` bytes.

    Raises
    ------
    ValueError
        If that is less than one element.
    """
    entry, dtype = _find(family), dtype_for(family, dtype)
    if dtype.itemsize == 0 or nbytes < dtype.itemsize:
        raise ValueError(f"sizes: {nbytes} bytes hold not one element of {dtype}")
    return entry.shapes_of.get(variant, entry.shape)(nbytes, dtype.itemsize)


def traffic_shape(family: str, dtype: Any = None, variant: str = "auto") -> tuple[int, ...]:
    """Return the shape, as a variant takes it, by which its traffic is told."""
    return shape_for(family, _find(family).traffic, dtype, variant)


def reference(family: str) -> tuple[str, str]:
    """Return the family and the variant that a benchmark measures beside this family."""
    return _find(family).reference


def cases(family: str) -> Iterator[Case]:
    """Yield the calls that ``verify`` makes: awkward sizes, dtypes and parameters."""
    entry = _find(family)
    for shape in entry.shapes:
        for dtype in entry.dtypes:
            for parameters in entry.parameters:
                yield Case(shape, np.dtype(dtype), parameters)
