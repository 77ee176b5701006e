"""What `strided_read` and `strided_write` share: the slice ``[offset::stride]``, and blocks."""

from __future__ import annotations

import math
from typing import Any

from .keywords import integer, integer_within
from .protocol import Shape

# Lengths of arrays and keywords that the oracles of both try.
LENGTHS = ((0,), (1,), (2,), (33,), (1027,), (65537,))
KEYWORDS: tuple[dict[str, Any], ...] = (
    {},
    {"offset": 0, "stride": 1},
    {"offset": -3, "stride": -7},
    {"offset": 9**9},
)


def slice_parameters(
    offset: int = 1, stride: int = 2, threads: int | None = None
) -> tuple[int, ...]:
    """Return offset, stride and threads per block as the extension module takes them."""
    width = 0 if threads is None else _block(threads)
    return integer("offset", offset), integer("stride", stride), width


def _block(threads: Any) -> int:
    """Return the width of a block; the extension module refuses what is no multiple of 32."""
    return integer_within("threads", threads, 32, 1024, "an integer or None")


def slice_length(length: int, offset: int = 1, stride: int = 2, **_: Any) -> int:
    """Return how many elements of an array of this length the slice has."""
    if stride == 0:
        raise ValueError("stride is 0, expected any other integer")
    return len(range(*slice(offset, None, stride).indices(length)))


def slice_work(shape: Shape, itemsize: int, **keywords: Any) -> tuple[int, None]:
    """Return the bytes of the slice, read once and written once, whatever their sectors."""
    return 2 * itemsize * slice_length(math.prod(shape), **keywords), None
