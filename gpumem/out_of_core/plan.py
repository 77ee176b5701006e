"""Into which pieces a movement is split."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .mapped import Array, Box, in_memory_order

_GROWTH = 1.25  # of a side, until the piece is large enough


@dataclass(frozen=True)
class Plan:
    """Boxes of an array that is read in one order of its axes and written in another."""

    shape: tuple[int, ...]
    reading: tuple[int, ...]
    """The axes in the order of the source's memory, the longest stride first."""
    writing: tuple[int, ...]
    """The same of the target's memory."""
    lengths: tuple[int, ...]
    """Of a piece; those at the ends are shorter."""

    @property
    def axes(self) -> tuple[int, ...]:
        """Of each axis of a piece as it is written, which axis of the piece as it was read."""
        return tuple(self.reading.index(axis) for axis in self.writing)

    def count(self) -> int:
        """Return the number of pieces."""
        return math.prod(-(-n // each) for n, each in zip(self.shape, self.lengths, strict=True))

    def boxes(self) -> Iterator[Box]:
        """Return the pieces in the order of the target's memory."""
        ranges = [range(0, self.shape[d], self.lengths[d]) for d in self.writing]
        for starts in itertools.product(*ranges):
            box = [slice(0)] * len(self.shape)
            for axis, begin in zip(self.writing, starts, strict=True):
                box[axis] = slice(begin, min(begin + self.lengths[axis], self.shape[axis]))
            yield tuple(box)

    def read(self, box: Box) -> Box:
        """Return a box with its axes in the order of the source's memory."""
        return tuple(box[axis] for axis in self.reading)

    def written(self, box: Box) -> Box:
        """Return a box with its axes in the order of the target's memory."""
        return tuple(box[axis] for axis in self.writing)


def plan(source: Array, target: Array, most: int) -> Plan:
    """Return the pieces of a movement between arrays of one shape.

    Parameters
    ----------
    source, target : ndarray
        The array, and where it goes.
    most : int
        Bytes of a piece.

    Notes
    -----
    A piece grows along the axes that are fastest in the source and in the target, the one with the
    shorter run first. For a transpose that is a square, for a copy whole rows.
    """
    shape, itemsize = target.shape, target.dtype.itemsize
    reading = in_memory_order(source.strides, shape)
    writing = in_memory_order(target.strides, shape)
    lengths = _grown(shape, (reading, writing), max(1, most // itemsize))
    return Plan(shape, reading, writing, tuple(lengths))


def _grown(shape: Sequence[int], orders: Sequence[Sequence[int]], most: int) -> list[int]:
    lengths = [1] * len(shape)
    full: set[int] = {d for d, n in enumerate(shape) if n <= 1}
    while len(full) < len(shape):
        sides = [_side(lengths, shape, order, full) for order in orders]
        axis = min(sides)[1]
        wanted = min(shape[axis], max(lengths[axis] + 1, int(lengths[axis] * _GROWTH)))
        others = math.prod(lengths) // lengths[axis]
        if others * wanted <= most:
            lengths[axis] = wanted
        else:
            lengths[axis] = min(shape[axis], max(lengths[axis], most // others))
            full.add(axis)
        if lengths[axis] == shape[axis]:
            full.add(axis)
    return lengths


def _side(
    lengths: Sequence[int], shape: Sequence[int], order: Sequence[int], full: set[int]
) -> tuple[int, int]:
    """Return the length of the run in this order, and the axis that would make it longer."""
    run = 1
    for axis in reversed(order):
        run *= lengths[axis]
        if lengths[axis] < shape[axis] and axis not in full:
            return run, axis
        if lengths[axis] < shape[axis]:
            break
    return 2**62, next(axis for axis in reversed(order) if axis not in full)
