"""Copies device arrays that have gaps or are misaligned into a layout that kernels take.

With variant="auto" every layout is accepted; a named variant gets the arrays as they are and
refuses what it does not take.
"""

from __future__ import annotations

import math
from itertools import repeat
from typing import Any

from .. import _core
from ..base.arrays import AnyStream, DeviceArray
from .copy import copy

_call = _core.call


def is_aligned(a: DeviceArray) -> bool:
    """Return whether the address of every element is a multiple of its size."""
    size = a.itemsize or 1
    return math.gcd(size, a.pointer, *a.strides) == size


def _packed(a: Any, stream: AnyStream | None, alignment: int | None) -> Any:
    """Return a device array without gaps and aligned, copied only if it is not so already."""
    if isinstance(a, _core.DeviceArray):
        size = alignment or a.itemsize
        if not a.contiguous or a.pointer % (size or 1):
            return copy(a, stream=stream)
    return a


def call_packed(
    family: str,
    variant: str,
    inputs: tuple[Any, ...],
    out: Any,
    stream: AnyStream | None,
    backend: str | None,
    parameters: tuple[float, ...],
    alignments: tuple[int | None, ...] = (None, None),
) -> Any:
    """Call a family whose kernels take packed arrays only.

    `alignments` are in bytes, one per input; None is the size of an element.
    """
    if variant != "auto":
        return _call(family, variant, inputs, out, stream, backend, parameters)
    *given, there = _core.adopt_all(family, inputs, out, stream)
    inputs = (*map(_packed, given, repeat(stream), alignments),)
    result = _call(family, variant, inputs, there, stream, backend, parameters)
    return result if out is None else out
