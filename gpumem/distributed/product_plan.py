"""How a shared product is computed: which ways there are, and what each moves. Nothing moves here.

There are three ways:

rows
    Each rank has rows of `x` and gathers all of `w`: rows of the product.
sums
    Each rank has a share of the depth and computes a partial sum of every element, which the rank
    that holds the element adds to those of the others.
grid
    The ranks are a grid of blocks, and so are `x`, `w` and the product. A piece of the depth at a
    time, blocks of `x` go along the rows of the grid and blocks of `w` along its columns (SUMMA).

`x` and `w` are copied to the sharing that a way needs, and the product to the one that is wanted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from .sharing import Blocks, Box, Shape, Split, cut, lengths, size

Boxes: TypeAlias = tuple[Box, ...]
Range: TypeAlias = tuple[int, int]

LEAST_DEPTH = 512  # of a piece: less, and adding to the product costs more than the product


@dataclass(frozen=True)
class Factor:
    """How a factor is shared out."""

    boxes: Boxes
    replicated: bool = False
    """Every rank has the whole matrix."""

    @property
    def shape(self) -> Shape:
        """The shape of the whole matrix."""
        ends = zip(*(tuple(end for _, end in box) for box in self.boxes), strict=True)
        return tuple(map(max, ends))


@dataclass(frozen=True)
class Way:
    """One way to compute a product."""

    name: str
    """"rows", "sums" or "grid"."""
    x: Boxes
    """How `x` has to be shared out."""
    w: Boxes
    out: Boxes
    """How the product comes out."""
    received: int
    """Elements that all ranks together receive, copies before and afterwards included."""
    grid: tuple[int, int] = (1, 1)


def received(sources: Boxes, targets: Boxes, replicated: bool = False) -> int:
    """Return how many elements all ranks receive if an array is shared out in another way."""
    if replicated:
        return 0
    return sum(
        size(target) - overlap(source, target)
        for source, target in zip(sources, targets, strict=True)
    )


def overlap(one: Box, other: Box) -> int:
    """Return how many elements are in both of two boxes."""
    return size(
        tuple(
            (begin := max(a, b), max(begin, min(c, d)))
            for (a, c), (b, d) in zip(one, other, strict=True)
        )
    )


def shares_of(boxes: Boxes, shape: Shape, axis: int) -> list[int] | None:
    """Return how many indices of an axis each rank holds; None if it is not shared out so."""
    counts = [box[axis][1] - box[axis][0] for box in boxes]
    if sum(counts) != shape[axis]:
        return None
    return counts if Split(axis, counts).boxes(shape, len(counts)) == boxes else None


# ---- the ways -----------------------------------------------------------------------------------


def usual_result(x: Factor, columns: int) -> Boxes:
    """Return how a product is shared out if nobody says: like the rows of `x`, else evenly."""
    shape, ranks = (x.shape[0], columns), len(x.boxes)
    counts = None if x.replicated else shares_of(x.boxes, x.shape, 0)
    return Split(0, counts).boxes(shape, ranks)


def _rows(x: Factor, w: Factor, wanted: Boxes) -> Iterator[Way]:
    """Yield the ways by rows: those of the wanted product, of `x`, or as many on each rank."""
    (m, k), n, ranks = x.shape, w.shape[1], len(x.boxes)
    of_out = shares_of(wanted, (m, n), 0)
    of_x = None if x.replicated else shares_of(x.boxes, x.shape, 0)
    is_rows = w.replicated or shares_of(w.boxes, w.shape, 0)
    right = w.boxes if is_rows else Split(0).boxes(w.shape, ranks)
    moved = 0 if w.replicated else (ranks - 1) * k * n
    for counts in (of_out, of_x) if of_out and of_x else (of_out or of_x,):
        left, out = (Split(0, counts).boxes(shape, ranks) for shape in ((m, k), (m, n)))
        yield Way("rows", left, right, out, moved + _copies(x, left, w, right, out, wanted))


def _sums(x: Factor, w: Factor, wanted: Boxes) -> Iterator[Way]:
    """Yield the ways by partial sums: the depth shared out like that of `w`, of `x`, or evenly."""
    (m, k), n, ranks = x.shape, w.shape[1], len(x.boxes)
    of_w = None if w.replicated else shares_of(w.boxes, w.shape, 0)
    of_x = None if x.replicated else shares_of(x.boxes, x.shape, 1)
    out = wanted if shares_of(wanted, (m, n), 0) else Split(0).boxes((m, n), ranks)
    for counts in (of_w, of_x) if of_w and of_x else (of_w or of_x,):
        left = Split(1, counts).boxes((m, k), ranks)
        right = Split(0, counts).boxes((k, n), ranks)
        moved = (ranks - 1) * m * n
        yield Way("sums", left, right, out, moved + _copies(x, left, w, right, out, wanted))


def _grids(x: Factor, w: Factor, wanted: Boxes) -> Iterator[Way]:
    """Yield the ways by grids; a factor that is a grid of any cuts stays where it is."""
    (m, k), n, ranks = x.shape, w.shape[1], len(x.boxes)
    for rows in (one for one in range(1, ranks) if ranks % one == 0):
        columns = ranks // rows
        even = Blocks(rows, columns)
        left = x.boxes if cuts_of(x.boxes, rows, columns) else even.boxes((m, k), ranks)
        right = w.boxes if cuts_of(w.boxes, rows, columns) else even.boxes((k, n), ranks)
        out = tuple((one[0], other[1]) for one, other in zip(left, right, strict=True))
        moved = (columns - 1) * m * k + (rows - 1) * k * n
        moved += _copies(x, left, w, right, out, wanted)
        yield Way("grid", left, right, out, moved, (rows, columns))


def _copies(x: Factor, left: Boxes, w: Factor, right: Boxes, out: Boxes, wanted: Boxes) -> int:
    return (
        received(x.boxes, left, x.replicated)
        + received(w.boxes, right, w.replicated)
        + received(out, wanted)
    )


def ways(x: Factor, w: Factor, wanted: Boxes) -> list[Way]:
    """Return all ways to compute a product.

    Parameters
    ----------
    x, w : Factor
        The factors, of shapes (m, k) and (k, n).
    wanted : boxes
        How the product is to be shared out.
    """
    found = list(_rows(x, w, wanted))
    if len(x.boxes) > 1:
        found += [*_sums(x, w, wanted), *_grids(x, w, wanted)]
    return found


def choose(x: Factor, w: Factor, wanted: Boxes) -> Way:
    """Return the way that moves least; of equals, the one that `ways` names first."""
    return min(ways(x, w, wanted), key=lambda way: way.received)


# ---- grids --------------------------------------------------------------------------------------


def cuts_of(boxes: Boxes, rows: int, columns: int) -> tuple[list[Range], list[Range]] | None:
    """Return the ranges of rows and of columns of a grid in C order; None if boxes are no grid."""
    down = [boxes[row * columns][0] for row in range(rows)]
    across = [boxes[column][1] for column in range(columns)]
    follows = all(
        one[0][0] == 0 and all(a[1] == b[0] for a, b in itertools.pairwise(one))
        for one in (down, across)
    )
    grid = tuple((down[r // columns], across[r % columns]) for r in range(len(boxes)))
    ends = max(box[0][1] for box in boxes), max(box[1][1] for box in boxes)
    whole = (down[-1][1], across[-1][1]) == ends
    return (down, across) if follows and whole and grid == boxes else None


@dataclass(frozen=True)
class Segment:
    """A range of the depth: of `x` one column of the grid holds it, of `w` one row of the grid."""

    begin: int
    end: int
    column: int
    row: int

    @property
    def length(self) -> int:
        """How deep it is."""
        return self.end - self.begin


@dataclass(frozen=True)
class Panels:
    """The pieces of the depth of a product on a grid.

    Every piece has a part of what each rank holds, so that all of them send at the same time.
    """

    way: Way
    piece_bytes: int
    """About as many bytes of both factors does a rank receive in a piece."""
    itemsize: int = 4

    @cached_property
    def _segments(self) -> list[Segment]:
        """The whole depth, cut where a rank's part of `x` or of `w` ends."""
        x, w = (cuts_of(boxes, *self.way.grid) for boxes in (self.way.x, self.way.w))
        assert x is not None and w is not None
        found, column, row = [], 0, 0
        while column < len(x[1]) and row < len(w[0]):
            (first, last), (low, high) = x[1][column], w[0][row]
            if max(first, low) < min(last, high):
                found.append(Segment(max(first, low), min(last, high), column, row))
            column, row = (column + 1, row) if last <= high else (column, row + 1)
        return found

    @property
    def depth(self) -> int:
        """The depth of the product."""
        return sum(one.length for one in self._segments)

    @cached_property
    def widest(self) -> tuple[int, int]:
        """The most rows and the most columns of a block of the product."""
        sides = [lengths(box) for box in self.way.out]
        return max(rows for rows, _ in sides), max(columns for _, columns in sides)

    @cached_property
    def pieces(self) -> int:
        """The number of pieces."""
        wanted = -(-self.itemsize * self.depth * sum(self.widest) // self.piece_bytes)
        return max(1, min(wanted, self.depth // LEAST_DEPTH))

    def segments(self, piece: int) -> list[Segment]:
        """Return the segments of a piece, in the order of the depth."""
        return [
            replace(one, begin=begin, end=end)
            for one in self._segments
            for begin, end in (cut(one.begin, one.end, self.pieces, piece),)
        ]

    def most_depth(self) -> int:
        """Return how deep a piece is at most."""
        pieces = range(self.pieces)
        return max(sum(one.length for one in self.segments(piece)) for piece in pieces)
