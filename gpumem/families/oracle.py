"""What a family should compute, in NumPy: arguments, the result, and how far off it may be.

Every question names a family; the answers are in the families' files. ``verify``,
``traffic(shape=)``, ``bench`` and the tests ask here, and know no family by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..base import sizes
from ..base.messages import quoted, unknown
from .equality import compare
from .protocol import Array, Dtype, Oracle, Shape
from .table import FAMILIES, Variant, find, variants
from .table import parameters as parameters_of

__all__ = [
    "Case",
    "accuracy",
    "arguments",
    "bound",
    "cases",
    "check",
    "claimed_arguments",
    "compare",
    "dtype_for",
    "dtype_of",
    "expected",
    "ignores",
    "job",
    "placed",
    "reference",
    "shape_for",
    "takes",
    "traffic_shape",
    "work",
]


class Case(NamedTuple):
    """One call that ``verify`` makes; :func:`cases` lists them."""

    shape: Shape
    dtype: Dtype
    parameters: dict[str, Any]


def _oracle(family: str) -> Oracle:
    try:
        return FAMILIES[family].oracle
    except (KeyError, TypeError):
        message = unknown("there is no family", family, FAMILIES, "; the families are")
        raise ValueError(message) from None


def dtype_for(family: str, dtype: Any = None) -> Dtype:
    """Return a dtype as NumPy has it; for None the family's usual one, if possible float32."""
    if dtype is None:
        known = _oracle(family).dtypes
        dtype = "float32" if "float32" in known else known[0]
    try:
        found: Dtype = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        raise TypeError(f"dtype is {quoted(dtype)}, which NumPy does not know") from None
    if found.hasobject:
        raise TypeError(f"dtype {found} holds Python objects, which no device can read")
    return found


def arguments(
    family: str, shape: Any, dtype: Any = None, seed: int | None = None, **parameters: Any
) -> tuple[Any, ...]:
    """Return fresh random input arrays for a family.

    Parameters
    ----------
    family : str
        The family's name.
    shape : int or tuple of int
        The problem size: for copy the shape of `a`, for sgemm (m, n, k).
    dtype : dtype, optional
        Of the inputs; any but object. If the family only moves elements, they are random nonzero
        bytes, NaN and infinities included. By default float32, or what the family takes instead.
    seed : int, optional
        The same seed gives the same arrays.
    **parameters
        The keywords of the family's function; some decide on the size of an array.

    Raises
    ------
    ValueError
        If the family is unknown, or `shape` is invalid or too large.
    TypeError
        If `dtype` is not a dtype, or holds Python objects.
    """
    oracle, dtype = _oracle(family), dtype_for(family, dtype)
    sides = sizes.check_shape(shape, dtype.itemsize)
    return oracle.arguments(sides, dtype, np.random.default_rng(seed), **parameters)


def placed(variant: Variant, a: Array, backend: str) -> Array:
    """Return the array in the kind of host memory that the variant needs; copied if necessary."""
    if variant.memory is None:
        return a
    there = _core.empty(a.shape, a.dtype, kind=variant.memory, backend=backend)
    there[...] = a
    return there


def dtype_of(variant: Variant) -> str:
    """Return the family's usual dtype, or one of an element size that the variant takes."""
    dtype = dtype_for(variant.family)
    if variant.itemsizes and dtype.itemsize not in variant.itemsizes:
        return {1: "uint8", 2: "uint16", 8: "float64", 16: "complex128"}[variant.itemsizes[0]]
    return str(dtype.name)


def claimed_arguments(variant: Variant, nbytes: int) -> tuple[Any, ...]:
    """Return arguments of about `nbytes` bytes for which the variant's claims hold."""
    oracle, dtype = _oracle(variant.family), dtype_of(variant)
    shape = shape_for(variant.family, nbytes, dtype, variant.name)
    claimed = oracle.claimed_of.get(variant.name, oracle.claimed)
    return claimed(arguments(variant.family, shape, dtype, seed=3))


def expected(family: str, *arguments: Any, variant: str = "auto", **parameters: Any) -> Array:
    """Return what the family's function should return, computed by NumPy.

    Parameters
    ----------
    family : str
        The family's name.
    *arguments : array_like
        Its inputs, on the host; they are not changed.
    variant : str
        The variant's name; a few variants do another job.
    **parameters
        The keywords of the family's function.
    """
    return _oracle(family).expected(*arguments, variant=variant, **parameters)


def bound(family: str, *arguments: Any, variant: str = "auto", **parameters: Any) -> Array | None:
    """Return the largest error allowed per element, or None if every byte must be right."""
    function = _oracle(family).bound
    if function is not None:
        return function(*arguments, variant=variant, **parameters)
    if variant != "auto" and find(family, variant).kinds:  # it may return another NaN
        return np.zeros(expected(family, *arguments, variant=variant, **parameters).shape)
    return None


def job(family: str, variant: str) -> str:
    """Return a name that variants with the same result have in common."""
    oracle = _oracle(family)
    return variant if variant in (*oracle.bounds, *oracle.otherwise) else "auto"


def ignores(family: str, variant: str) -> tuple[str, ...]:
    """Return the names of the keywords that have no effect on a variant."""
    return _oracle(family).ignores.get(variant, ())


def accuracy(family: str, variant: str) -> str:
    """Return a name that variants with the same result and the same bound have in common."""
    if variant in _oracle(family).coarse:
        return variant
    numbers = any(row.name == variant and row.kinds for row in variants(family))
    return f"{job(family, variant)}{' of numbers' if numbers else ''}"


def takes(variant: Variant, shape: Any, dtype: Any) -> bool:
    """Return whether a variant takes contiguous, aligned arrays of this shape and dtype.

    The table decides, as it does for a call, for parameters at their defaults. If a variant does
    not take its arrays, a call raises ValueError.
    """
    dtype = dtype_for(variant.family, dtype)
    inputs = _oracle(variant.family).inputs(sizes.check_shape(shape, dtype.itemsize), dtype)
    defaults = parameters_of(variant.family, {})
    return _core.takes(variant.family, variant.name, inputs, defaults) is None


def check(family: str, got: Any, *arguments: Any, variant: str = "auto", **parameters: Any) -> None:
    """Raise AssertionError unless a result is right.

    Moved elements must be equal byte for byte; sums must lie within the family's error bound.

    Parameters
    ----------
    family : str
        The family's name.
    got : ndarray
        The result to check.
    *arguments, variant, **parameters
        What the family's function was called with.

    Examples
    --------
    >>> check("copy", np.array([1.5, 2.5]), np.array([1.5, 2.5]))
    """
    wanted = expected(family, *arguments, variant=variant, **parameters)
    compare(family, got, wanted, bound(family, *arguments, variant=variant, **parameters))


def work(family: str, shape: Any, dtype: Any, **parameters: Any) -> tuple[int, int | None]:
    """Return the bytes read plus written and the floating-point operations, or None, of a call."""
    oracle, itemsize = _oracle(family), dtype_for(family, dtype).itemsize
    return oracle.work(sizes.check_shape(shape, itemsize), itemsize, **parameters)


def shape_for(family: str, nbytes: int, dtype: Any = None, variant: str = "auto") -> Shape:
    """Return a shape that the variant takes and whose first input has about `nbytes` bytes.

    Raises
    ------
    ValueError
        If that is less than one element.
    """
    oracle, dtype = _oracle(family), dtype_for(family, dtype)
    if dtype.itemsize == 0 or nbytes < dtype.itemsize:
        raise ValueError(f"sizes: {nbytes} bytes are less than one element of {dtype}")
    return oracle.shapes_of.get(variant.partition(":")[0], oracle.shape)(nbytes, dtype.itemsize)


def traffic_shape(family: str, dtype: Any = None, variant: str = "auto") -> Shape:
    """Return the shape for which traffic is counted if none is given."""
    return shape_for(family, _oracle(family).traffic, dtype, variant)


def reference(family: str) -> tuple[str, str]:
    """Return the family and variant that a benchmark compares this family with."""
    return _oracle(family).reference


def cases(family: str) -> Iterator[Case]:
    """Yield the calls that ``verify`` makes: awkward sizes, dtypes and keywords."""
    oracle = _oracle(family)
    for shape in oracle.shapes:
        for dtype in oracle.dtypes:
            for parameters in oracle.keywords:
                yield Case(shape, np.dtype(dtype), parameters)
