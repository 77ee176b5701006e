"""What gpumem knows about a family of kernels, beside the kernels themselves.

A family is one job, such as ``copy``, that several kernels do in different ways. Its file in this
folder has the family's name and defines one object, ``FAMILY``: the function that users call,
what its result should be (the oracle), and how other libraries do the same job (the peers).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Dtype = np.dtype[Any]
Shape = tuple[int, ...]

_EMPTY: Mapping[str, Any] = MappingProxyType({})


def no_parameters() -> tuple[()]:
    """Return the parameters of a family whose function has no keywords of its own."""
    return ()


def _one_input(shape: Shape, dtype: Dtype) -> tuple[tuple[Any, Any], ...]:
    return ((shape, dtype),)


def _unchanged(argument: Any) -> Any:
    return argument


class Oracle(NamedTuple):
    """What a family should compute, in NumPy, and on which arguments to try it.

    The fields that are functions also get the keywords of the family's function, as keywords.
    """

    # (shape, dtype, random generator, **keywords): fresh random input arrays.
    arguments: Callable[..., tuple[Any, ...]]
    # (*inputs, variant=, **keywords): the result.
    expected: Callable[..., Array]
    # (*inputs, variant=, **keywords): the largest error allowed per element of the result. None
    # if the result must be equal byte for byte.
    bound: Callable[..., Array] | None
    # (shape, itemsize, **keywords): bytes read and written, and floating-point operations or None.
    work: Callable[..., tuple[int, int | None]]
    # (bytes, itemsize): the shape whose first input has about that many bytes.
    shape: Callable[[int, int], Shape]
    # What `verify` tries: sizes at and past every edge, dtypes, keywords.
    shapes: tuple[Shape, ...]
    dtypes: tuple[Any, ...]
    keywords: tuple[dict[str, Any], ...] = ({},)
    # Family and variant that a benchmark compares with, measured in the same run.
    reference: tuple[str, str] = ("copy", "memcpy")
    # (shape, dtype): shape and dtype of each input.
    inputs: Callable[[Shape, Dtype], tuple[tuple[Any, Any], ...]] = _one_input
    # Variants that do another job, as a bound for the others.
    bounds: tuple[str, ...] = ()
    # Variants that read an ambiguous argument the other way.
    otherwise: tuple[str, ...] = ()
    # `shape` for variants that need another one.
    shapes_of: Mapping[str, Callable[[int, int], Shape]] = _EMPTY
    # Bytes of the first input when traffic is counted and no shape is given.
    traffic: int = 2**22
    # Variants with an error bound of their own.
    coarse: tuple[str, ...] = ()
    # Keywords that have no effect on a variant.
    ignores: Mapping[str, tuple[str, ...]] = _EMPTY
    # (inputs): the inputs for which the claims of the table hold.
    claimed: Callable[[tuple[Array, ...]], tuple[Any, ...]] = _unchanged
    # Variant: the same, where its claims hold for others.
    claimed_of: Mapping[str, Callable[[tuple[Array, ...]], tuple[Any, ...]]] = _EMPTY


class Family(NamedTuple):
    """A family: the object ``FAMILY`` of its file."""

    # The public function. It holds no closures and makes no tuple from an iterator: if memory runs
    # out there, CPython 3.11 never frees the arrays that it was given.
    function: Callable[..., Any]
    oracle: Oracle
    # Converts the keywords of the function to the numbers that the extension module takes.
    parameters: Callable[..., tuple[float, ...]] = no_parameters
    # Converts an array argument to the array that the extension module takes; None if it takes it
    # as it is.
    as_taken: Callable[[Any], Any] | None = None
    # (out, *inputs), all arrays of that library: how it does the job. In place, `out` is the first
    # input.
    peers: Mapping[str, Callable[..., None]] = _EMPTY
    # Whether the function's keywords leave the result as it is, so that peers need not know them.
    peers_ignore_keywords: bool = True
