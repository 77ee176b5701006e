"""Which parts of a large result are compared with what is right."""

from __future__ import annotations

from collections.abc import Iterator

WHOLE = 2**26  # bytes up to which every element is compared
SLICE = 2**20  # bytes of each of the slices that are compared beyond
_SLICES = 16


def compared_parts(size: int, itemsize: int, whole: int | None = None) -> Iterator[slice]:
    """Yield the parts of a result to compare: all of it, or slices of a large one.

    Parameters
    ----------
    size, itemsize : int
        The number of elements, and the bytes of each.
    whole : int, optional
        The most bytes that are compared whole, by default :data:`WHOLE`.
    """
    length = SLICE // itemsize
    if size * itemsize <= (WHOLE if whole is None else whole) or size <= length:
        yield slice(0, size)
        return
    for i in range(_SLICES):
        first = (size - length) * i // (_SLICES - 1)
        yield slice(first, first + length)
