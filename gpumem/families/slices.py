"""What `strided_read` and `strided_write` share: the slice ``[offset::stride]``."""

from __future__ import annotations

import math
from typing import Any

from .keywords import integer
from .protocol import Shape

# Lengths of arrays and keywords that the oracles of both try.
LENGTHS = ((0,), (1,), (2,), (33,), (1027,), (65537,))
KEYWORDS: tuple[dict[str, Any], ...] = (
    {},
    {"offset": 0, "stride": 1},
    {"offset": -3, "stride": -7},
    {"offset": 9**9},
)


def slice_parameters(offset: int = 1, stride: int = 2) -> tuple[int, ...]:
    """Return offset and stride as the extension module takes them."""
    return integer("offset", offset), integer("stride", stride)


def slice_length(length: int, offset: int = 1, stride: int = 2) -> int:
    """Return how many elements of an array of this length the slice has."""
    if stride == 0:
        raise ValueError("stride is 0, expected any other integer")
    return len(range(*slice(offset, None, stride).indices(length)))


def slice_work(shape: Shape, itemsize: int, **keywords: Any) -> tuple[int, None]:
    """Return the bytes of the slice, read once and written once, whatever their sectors."""
    return 2 * itemsize * slice_length(math.prod(shape), **keywords), None
