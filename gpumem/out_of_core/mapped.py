"""Arrays that are files mapped into memory, and the pages of theirs that are resident."""

from __future__ import annotations

import contextlib
import itertools
import math
import mmap
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.array_utils import byte_bounds

Array: TypeAlias = np.ndarray[Any, Any]
Box: TypeAlias = tuple[slice, ...]

# A page fault maps the pages around it that the cache has, 64 KiB by default.
_AROUND = 2**16
_FOLIO = 2**21  # with Linux 6.18 it may map as much as this
_SHARED = ("r", "r+", "w+")  # not "c", whose changed pages exist in memory only
_SMALLEST = 4 * _AROUND  # bytes of a strip
_FEWEST = 2**10  # bytes of a run: shorter ones are not worth a call each
_MOST_RUNS = 2**14


@dataclass(frozen=True)
class Mapped:
    """The map that an array is a view of."""

    root: np.memmap[Any, Any]
    memory: mmap.mmap
    array: Array
    first: int
    """The address of the first byte of the map."""

    @property
    def file(self) -> str | None:
        """The name of the file, without symbolic links; None if the file has no name."""
        name = self.root.filename
        return None if name is None else os.path.realpath(name)

    def extent(self) -> tuple[int, int]:
        """Return where in the file the bytes of the array begin and end."""
        low, high = byte_bounds(self.array)
        before = self.root.offset - self.root.offset % mmap.ALLOCATIONGRANULARITY
        return low - self.first + before, high - self.first + before

    def advise(self, advice: int, low: int, high: int) -> None:
        """Advise the kernel about all pages that hold these addresses."""
        begin = max(0, low - self.first) // mmap.PAGESIZE * mmap.PAGESIZE
        with contextlib.suppress(OSError):  # such as for locked pages: it is only advice
            self.memory.madvise(advice, begin, min(high - self.first, len(self.memory)) - begin)

    def expect(self, part: Array) -> None:
        """Have the pages of a part read from the disk, if it consists of long runs."""
        inner, outer = run_of(part), outer_of(part)
        count = math.prod(part.shape[axis] for axis in outer)
        if inner < _FEWEST or count > _MOST_RUNS:
            return
        low, high = byte_bounds(part)
        if inner < _AROUND:  # or a fault in the middle of a run would read 128 KiB around it
            self.advise(mmap.MADV_RANDOM, low, high)
        steps = [[i * abs(part.strides[d]) for i in range(part.shape[d])] for d in outer]
        for offsets in itertools.product(*steps):
            begin = low + sum(offsets)
            self.advise(mmap.MADV_WILLNEED, begin, begin + inner)

    def forget(self, part: Array) -> None:
        """Take the pages of a part out of this process's memory, and end what `expect` advised.

        The map has to be shared: then the pages stay in the kernel's cache, or on the disk.
        """
        low, high = byte_bounds(part)
        self.advise(mmap.MADV_DONTNEED, low - _FOLIO, high + _FOLIO)
        self.advise(mmap.MADV_NORMAL, low, high)


def find_map(a: Array) -> Mapped | None:
    """Return the file's map that an array is a view of; None if it is in memory of its own."""
    one: Any = a
    while isinstance(one, np.ndarray):
        if isinstance(one, np.memmap) and isinstance(one.base, mmap.mmap):
            before = one.offset % mmap.ALLOCATIONGRANULARITY
            return Mapped(one, one.base, np.asarray(a), one.ctypes.data - before)
        one = one.base
    return None


def is_shared(found: Mapped) -> bool:
    """Return whether the map's pages are those of the file."""
    return found.root.mode in _SHARED


# ---- runs ---------------------------------------------------------------------------------------


def in_memory_order(strides: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of an array from the longest stride to the shortest."""
    return tuple(sorted(range(len(shape)), key=lambda d: (-abs(strides[d]), -shape[d], d)))


def outer_of(part: Array) -> list[int]:
    """Return the axes of a part along which its runs lie, the longest stride first."""
    inner = part.dtype.itemsize
    order = list(in_memory_order(part.strides, part.shape))
    while order and (part.shape[order[-1]] == 1 or abs(part.strides[order[-1]]) == inner):
        inner *= int(part.shape[order.pop()])
    return order


def run_of(part: Array) -> int:
    """Return how many bytes of a part follow one another in memory."""
    runs = math.prod(int(part.shape[axis]) for axis in outer_of(part))
    return int(part.nbytes) // max(1, runs)


def _touched(part: Array) -> int:
    """Return how many bytes become resident at most when a part is read or written."""
    low, high = byte_bounds(part)
    runs = math.prod(int(part.shape[axis]) for axis in outer_of(part))
    each = -(-run_of(part) // _AROUND) * _AROUND + _AROUND
    return min(runs * each, int(high - low) + 2 * _AROUND)


def strips(part: Array, most: int) -> Iterator[Box]:
    """Split a part so that each strip makes at most about so many bytes resident.

    Strips of a few pages would take longer to find than to copy.
    """
    yield from _split(part, (slice(None),) * part.ndim, max(most, _SMALLEST))


def _split(part: Array, box: Box, most: int) -> Iterator[Box]:
    inside = part[box]
    touched = _touched(inside)
    order = in_memory_order(inside.strides, inside.shape)
    axis = next((d for d in order if inside.shape[d] > 1), None)
    if touched <= most or axis is None:
        yield box
        return
    length = inside.shape[axis]
    each = max(1, length // -(-touched // most))
    start = box[axis].start or 0
    for begin in range(0, length, each):
        one = slice(start + begin, start + min(begin + each, length))
        yield from _split(part, (*box[:axis], one, *box[axis + 1 :]), most)
