"""Which elements go from which rank to which, in which piece. Nothing moves here.

The result of every movement is the source with its axes permuted. In the result's coordinates the
part of the sender and the part of the receiver are boxes, and what has to go from one to the other
is their intersection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeAlias

from .sharing import Box, Shape, cut, lengths, size

Slices: TypeAlias = tuple[slice, ...]


@dataclass(frozen=True)
class Part:
    """What one rank sends to another in one piece."""

    source: Slices
    """Of the sender's part of the source, in the source's axes."""
    target: Slices
    """Of the receiver's part of the result, in the result's axes."""
    shape: Shape
    """In the result's axes."""
    elements: int


@dataclass(frozen=True)
class Plan:
    """A movement of a shared array, in pieces that all ranks know."""

    sources: tuple[Box, ...]
    """The part of each rank, in the source's axes."""
    axes: tuple[int, ...]
    """Of each axis of the result, which axis of the source it is."""
    targets: tuple[Box, ...]
    """The part of each rank, in the result's axes."""
    itemsize: int
    piece_bytes: int
    """About as many bytes of a rank's part move at a time."""
    replicated: bool = False
    """Every rank has the whole source, and takes what it needs from there."""
    pieces: int = field(init=False)
    cut_axis: int = field(init=False)
    """The axis of the result along which the pieces are cut."""
    _parts: dict[tuple[int, int, int | None], Part | None] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        longest = tuple(map(max, zip(*map(lengths, self.targets), strict=True)))
        wanted = 1 if self.only_rows() else max(1, -(-self.most() // self.piece_bytes))
        axis = max(
            range(len(longest)),
            key=lambda d: (min(longest[d], wanted), not self._is_shared_out(d)),
            default=0,
        )
        pieces = min(wanted, longest[axis]) if longest else 1
        object.__setattr__(self, "cut_axis", axis)
        object.__setattr__(self, "pieces", max(1, pieces) if self.travels else 1)

    def _is_shared_out(self, axis: int) -> bool:
        """Return whether ranks hold different ranges of an axis of the result before the movement.

        Pieces along such an axis come from few ranks each, while the others have nothing to send.
        """
        ranges = {self.seen(r)[axis] for r, box in enumerate(self.sources) if size(box)}
        return len(ranges) > 1

    def most(self) -> int:
        """Return how many bytes any rank holds at most, before or afterwards."""
        return max(map(size, self.sources + self.targets)) * self.itemsize

    def only_rows(self) -> bool:
        """Return whether whole rows go to where they stay rows: there is nothing to pack."""
        in_order = self.axes == tuple(range(len(self.axes)))
        return in_order and all(
            len({box[1:] for box in boxes if size(box)}) <= 1
            for boxes in (self.sources, self.targets)
        )

    def seen(self, rank: int) -> Box:
        """Return a rank's part of the source, in the result's axes."""
        return tuple(self.sources[rank][axis] for axis in self.axes)

    @cached_property
    def travels(self) -> bool:
        """Whether anything goes from one rank to another."""
        if self.replicated:
            return False
        return any(size(box) and self.seen(rank) != box for rank, box in enumerate(self.targets))

    def part(self, sender: int, receiver: int, piece: int | None = None) -> Part | None:
        """Return what goes from one rank to another in a piece, or in all; None if nothing does."""
        key = sender, receiver, piece
        if key not in self._parts:
            self._parts[key] = self._find_part(sender, receiver, piece)
        return self._parts[key]

    def _find_part(self, sender: int, receiver: int, piece: int | None) -> Part | None:
        if self.replicated and sender != receiver:
            return None
        seen, target = self.seen(sender), self.targets[receiver]
        box = list(target)
        if piece is not None and self.pieces > 1:
            box[self.cut_axis] = cut(*box[self.cut_axis], self.pieces, piece)
        source = [slice(0)] * len(seen)
        into, shape, elements = [], [], 1
        for d, ((begin, end), (low, high)) in enumerate(zip(box, seen, strict=True)):
            first, last = max(begin, low), min(end, high)
            if last <= first:
                return None
            source[self.axes[d]] = slice(first - low, last - low)
            into.append(slice(first - target[d][0], last - target[d][0]))
            shape.append(last - first)
            elements *= last - first
        return Part(tuple(source), tuple(into), tuple(shape), elements)


# Programs repeat their movements.
plan_of = lru_cache(maxsize=64)(Plan)
