"""Orders of axes, as `permute` and `transpose` mean them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.messages import quoted
from ..base.several import several
from .keywords import integer


def permuted(axes: Any, ndim: int) -> tuple[int, ...]:
    """Return `axes` counted from 0; None is all axes in reverse.

    Raises
    ------
    TypeError, ValueError
        If `axes` is no sequence of integers, or no permutation.
    """
    if axes is None:
        return tuple(reversed(range(ndim)))
    if isinstance(axes, str | bytes) or not isinstance(axes, Sequence | np.ndarray):
        raise TypeError(f"axes must be a sequence of integers or None, not {quoted(axes)}")
    given = several("axes", axes, (), "integers")
    numbers = tuple(integer(f"axes[{i}]", axis) for i, axis in enumerate(given))
    found = tuple(axis + ndim if axis < 0 else axis for axis in numbers)
    if sorted(found) != list(range(ndim)):
        raise ValueError(f"axes is {quoted(numbers)}, no permutation of {ndim} axes")
    return found


def transposed(name: str, ndim: int) -> tuple[int, ...]:
    """Return the order in which the last two axes have changed places.

    Raises
    ------
    ValueError
        If there are less than two; the message names the array.
    """
    if ndim < 2:
        raise ValueError(f"{name} has {ndim} axes, a matrix has two or more")
    return (*range(ndim - 2), ndim - 1, ndim - 2)
