"""Who holds what: how the ranks of a group share out an array, as one box per rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from ..base.messages import quoted
from ..base.several import several
from ..families.keywords import integer

Shape: TypeAlias = tuple[int, ...]
Box: TypeAlias = tuple[tuple[int, int], ...]
"""Of each axis, where a part begins and where it ends."""


class Sharing(Protocol):
    """A way to share out an array."""

    def boxes(self, shape: Shape, ranks: int) -> tuple[Box, ...]:
        """Return the part of each rank; ValueError if the array cannot be shared out so."""

    def __hash__(self) -> int:
        """Return the same for equal ways."""


def whole(shape: Shape) -> Box:
    """Return the box that is the whole array."""
    return tuple((0, length) for length in shape)


def nothing(shape: Shape) -> Box:
    """Return an empty box: its first axis has no elements, its others are whole."""
    return tuple((0, length if axis else 0) for axis, length in enumerate(shape))


def lengths(box: Box) -> Shape:
    """Return the shape of a box."""
    return tuple(end - begin for begin, end in box)


def size(box: Box) -> int:
    """Return the number of elements of a box."""
    return math.prod(lengths(box))


def cut(begin: int, end: int, parts: int, part: int) -> tuple[int, int]:
    """Return one of `parts` parts of a range; their lengths differ by at most 1."""
    length = end - begin
    return begin + length * part // parts, begin + length * (part + 1) // parts


def checked_axis(axis: int, shape: Shape) -> int:
    """Return the axis counted from 0; ValueError if there is no such axis."""
    number = integer("axis", axis)
    if not -len(shape) <= number < len(shape):
        raise ValueError(f"axis is {number}, but the array has {len(shape)} axes")
    return number % len(shape)


def checked_rank(name: str, rank: int, ranks: int) -> int:
    """Return the number of a rank; TypeError or ValueError, which name it, if there is none."""
    number = integer(name, rank)
    if not 0 <= number < ranks:
        raise ValueError(f"{name} is {number}: there is no rank {number} among {ranks} ranks")
    return number


def plain(value: Any) -> Any:
    """Return what counts as an integer as an int, so that equal ways are equal and have a hash.

    What does not is returned as it is: it is refused by name where it is used.
    """
    try:
        return integer("value", value)
    except (TypeError, ValueError):
        return value


@dataclass(frozen=True)
class Split:
    """One axis is split: each rank holds a range of it, and all of the other axes.

    Parameters
    ----------
    axis : int, optional
        0, the default, shares out rows, 1 columns.
    counts : sequence of int, optional
        How many indices of that axis each rank holds. By default equal numbers, or numbers that
        differ by 1.
    """

    axis: int = 0
    counts: tuple[int, ...] | None = None

    def __init__(self, axis: int = 0, counts: Sequence[int] | None = None) -> None:
        object.__setattr__(self, "axis", plain(axis))
        if counts is not None:
            given = several("counts", counts, (), "a sequence of integers or None")
            counts = tuple(plain(one) for one in given)
        object.__setattr__(self, "counts", counts)

    def boxes(self, shape: Shape, ranks: int) -> tuple[Box, ...]:
        """Return the part of each rank."""
        axis = checked_axis(self.axis, shape)
        if self.counts is None:
            ranges = [cut(0, shape[axis], ranks, rank) for rank in range(ranks)]
        else:
            ranges = self._counted(shape[axis], ranks)
        return tuple((*whole(shape)[:axis], one, *whole(shape)[axis + 1 :]) for one in ranges)

    def _counted(self, length: int, ranks: int) -> list[tuple[int, int]]:
        counts = [integer("counts", one) for one in self.counts or ()]
        if len(counts) != ranks or sum(counts) != length or min(counts) < 0:
            raise ValueError(
                f"counts is {quoted(self.counts)}, expected {ranks} numbers that add up to {length}"
            )
        return [(sum(counts[:rank]), sum(counts[: rank + 1])) for rank in range(ranks)]


@dataclass(frozen=True)
class Blocks:
    """A grid of blocks, one per rank in C order: the first two axes are cut.

    Parameters
    ----------
    rows, columns : int
        Into how many parts each is cut; their product is the number of ranks.
    """

    rows: int
    columns: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", plain(self.rows))
        object.__setattr__(self, "columns", plain(self.columns))

    def boxes(self, shape: Shape, ranks: int) -> tuple[Box, ...]:
        """Return the part of each rank."""
        rows, columns = integer("rows", self.rows), integer("columns", self.columns)
        if rows < 1 or columns < 1 or rows * columns != ranks:
            raise ValueError(
                f"rows and columns: a grid of {rows} x {columns} blocks does not fit {ranks} ranks"
            )
        if len(shape) < 2:
            raise ValueError(f"blocks need two axes or more, the array has shape {shape}")
        return tuple(
            (
                cut(0, shape[0], rows, rank // columns),
                cut(0, shape[1], columns, rank % columns),
                *whole(shape)[2:],
            )
            for rank in range(ranks)
        )


@dataclass(frozen=True)
class OnRank:
    """One rank holds the whole array, the others no rows of it."""

    rank: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", plain(self.rank))

    def boxes(self, shape: Shape, ranks: int) -> tuple[Box, ...]:
        """Return the part of each rank."""
        holder = checked_rank("rank", self.rank, ranks)
        return tuple(whole(shape) if rank == holder else nothing(shape) for rank in range(ranks))


@dataclass(frozen=True)
class Whole:
    """Every rank holds the whole array."""

    def boxes(self, shape: Shape, ranks: int) -> tuple[Box, ...]:
        """Return the part of each rank."""
        return (whole(shape),) * ranks


@dataclass(frozen=True)
class Given:
    """The parts that a plan has chosen."""

    parts: tuple[Box, ...]

    def boxes(self, shape: Shape, ranks: int) -> tuple[Box, ...]:
        """Return the part of each rank."""
        assert len(self.parts) == ranks and all(len(part) == len(shape) for part in self.parts)
        return self.parts
