"""Sizes and shapes as people write and read them."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from .messages import quoted
from .several import several

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_SIZE = re.compile(r"(\d+) ?([KMG]?)(?:iB)?", re.ASCII | re.IGNORECASE)
_ACCEPTED = 'bytes such as 4096, "64K" or "1G" (powers of 1024), "1M,16M", or "4K:1G:x2"'
_MOST = 2**62  # bytes: sums of a few stay inside 64 bits


def _wrong(what: Any) -> ValueError:
    return ValueError(f"sizes: {quoted(what)} is not understood; accepted are {_ACCEPTED}")


def _size(word: str) -> int:
    match = _SIZE.fullmatch(word.strip())
    if not match or len(match[1]) > 20:
        raise _wrong(word)
    return int(match[1]) * _UNITS[match[2].upper()]


def _range(text: str) -> list[int]:
    parts = text.split(":")
    factor = parts[2].strip() if len(parts) == 3 else "x2"
    if len(parts) > 3 or not re.fullmatch(r"x\d{1,9}", factor, re.ASCII) or int(factor[1:]) < 2:
        raise _wrong(text)
    size, last = _size(parts[0]), _size(parts[1])
    if not 0 < size <= last <= _MOST:
        raise ValueError(f"sizes: {quoted(text)} must run upwards, from at least 1 byte")
    steps = []
    while size <= last:
        steps.append(size)
        size *= int(factor[1:])
    return steps


def _bytes(size: Any) -> int:
    try:
        if not isinstance(size, bool):
            return operator.index(size)
    except TypeError:
        pass
    raise TypeError(f"sizes: {quoted(size)} is not a size; accepted are {_ACCEPTED}")


def parse_sizes(sizes: str | int | Iterable[str | int]) -> list[int]:
    """Return sizes in bytes, in the given order and without repetitions.

    Parameters
    ----------
    sizes : str, int or iterable of them
        "4K:1G:x2" (from, to, factor), "1M,16M", 4096. K, M and G are powers of 1024.

    Raises
    ------
    ValueError
        If the text cannot be parsed, or a size is not positive; the message quotes it.
    TypeError
        If a size is neither text nor an integer.
    """
    if isinstance(sizes, str):
        found: list[int] = []
        for word in sizes.split(","):
            found += _range(word) if ":" in word else [_size(word)]
    elif isinstance(sizes, Integral):
        found = [_bytes(sizes)]
    else:
        items = several("sizes", sizes, (), _ACCEPTED)
        found = []
        for item in items:
            found += parse_sizes(item) if isinstance(item, str) else [_bytes(item)]
    if not found:
        raise _wrong(sizes)
    for size in found:
        if not 0 < size <= _MOST:
            raise ValueError(f"sizes: {size} bytes is out of range; it must be 1 to 2**62")
    return list(dict.fromkeys(found))


def parse_shape(text: str) -> tuple[int, ...]:
    """Return the shape written as "1048576" or "1024x1024"."""
    if not re.fullmatch(r"\d{1,20}(x\d{1,20})*", text.strip(), re.ASCII | re.IGNORECASE):
        raise ValueError(
            f"shape: {quoted(text)} is not understood; write it as 1048576 or 1024x1024"
        )
    return tuple(int(side) for side in text.lower().split("x"))


def check_shape(shape: Any, itemsize: int) -> tuple[int, ...]:
    """Return a shape as a tuple of ints whose bytes fit into 64 bits.

    Raises
    ------
    ValueError
        If it is not a shape, has a negative side, or too many bytes; the message names it.
    """
    try:
        sides = tuple(shape) if isinstance(shape, Iterable) else (shape,)
        if any(isinstance(side, bool) for side in sides):
            raise TypeError
        if isinstance(shape, bytes | bytearray | memoryview):  # which count their letters
            raise TypeError
        sides = tuple(operator.index(side) for side in sides)
    except TypeError:
        raise ValueError(
            f"shape must be an integer or a tuple of integers, not {quoted(shape)}"
        ) from None
    if len(sides) > 64:
        raise ValueError(f"shape must have at most 64 dimensions, not {len(sides)}")
    for side in sides:
        if side < 0:
            raise ValueError(f"shape must not be negative: {quoted(shape)}")
    # An empty array counts too: NumPy multiplies the sides that are not 0.
    if math.prod(side for side in sides if side) * max(itemsize, 1) > _MOST:
        raise ValueError(f"shape is too large: {quoted(shape)} with {itemsize} bytes per element")
    return sides


def format_bytes(size: int) -> str:
    """Return a size as people read it: "512 B", "4 KiB", "1.5 GiB"."""
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} B"


def format_shape(shape: Sequence[int], dtype: str) -> str:
    """Return the size of an array as tables show it.

    The bytes of a row of elements or of one number; else the shape, such as "1024x1024".
    """
    if len(shape) <= 1:
        try:
            return format_bytes(math.prod(shape) * np.dtype(dtype).itemsize)
        except (TypeError, ValueError, SyntaxError):  # a dtype that NumPy does not know
            pass
    return "x".join(map(str, shape))
