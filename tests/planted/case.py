"""A planted bug or its correct twin: how a kernel is launched, and what is wrong with it.

A case is wrong at the lines that its kernel, or a device function of its file, marks with BUG.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).parent
MARK = "// BUG"

# What a finding says, by the kind of bug.
KINDS = {
    "race": r"\brace\b",
    "bounds": r"out of bounds|outside|null pointer|beyond|past the end",
    "overlap": r"overlaps",
    "freed": r"freed|outside|out of bounds",
    "heap": r"malloc",
    "misaligned": r"misaligned",
    "unwritten": r"nothing (has )?(written|wrote)|uninitiali[sz]ed|unwritten|never written",
    "barrier": r"barrier|has ended",
    "warp": r"lane|mask|warp",
    "copy": r"copy|\brace\b",
    "limit": r"at most|more than|limit|too (much|many|large)",
    "cluster": r"cluster",
    "width": r"width of a shuffle",
    "stack": r"stack",
    "null function": r"null|function pointer",
    "division": r"division by zero",
    "assertion": r"assert",
    "trap": r"trap",
    "endless": r"for ever|never|cannot|no progress|endless|deadlock",
}

Size = int | tuple[int, ...]


class Array(NamedTuple):
    """An array: random, zeros, ones, minus (one), index, reversed, permutation or unwritten."""

    dtype: str
    size: int
    fill: str


class Rows(NamedTuple):
    """An array of pointers to arrays of floats, of which one may be freed before the launch."""

    count: int
    size: int
    freed: int | None = None


class Same(NamedTuple):
    """The same array as another argument."""

    argument: int


class Case(NamedTuple):
    """A launch of a kernel; `kinds` is empty for a twin."""

    file: str
    kernel: str
    grid: Size
    block: Size
    arguments: tuple[Array | Rows | Same | float | None, ...]
    kinds: tuple[str, ...] = ()
    shared: int = 0
    cooperative: bool = False
    missed: str = ""  # why the simulator does not find the bug, or reports the twin

    @property
    def name(self) -> str:
        """Name the case in the list of all."""
        sizes = [str(n) for size in (self.grid, self.block) for n in np.atleast_1d(size)]
        launch = f"-{'x'.join(sizes)}-{self.shared}" if self.file == "limits" else ""
        return f"{self.file}-{self.kernel}{launch}-{'bug' if self.kinds else 'twin'}"

    def values(self) -> list[np.ndarray | Rows | float | None]:
        """Return the arguments with arrays filled; they are the same in every run."""
        random = np.random.default_rng(zlib.crc32(self.kernel.encode()))
        made: list[np.ndarray | Rows | float | None] = []
        for argument in self.arguments:
            if isinstance(argument, Same):
                made.append(made[argument.argument])
            else:
                made.append(filled(argument, random) if isinstance(argument, Array) else argument)
        return made


def filled(array: Array, random: np.random.Generator) -> np.ndarray:
    """Return an array with its first values; 0xA5 in all bytes stands for unwritten."""
    dtype, size = np.dtype(array.dtype), array.size
    if array.fill == "unwritten":
        return np.full(size * dtype.itemsize, 0xA5, "uint8").view(dtype)
    if array.fill == "random":
        drawn = random.uniform(-1, 1, size) if dtype.kind == "f" else random.integers(0, 100, size)
        return drawn.astype(dtype)
    values = {
        "zeros": lambda: np.zeros(size),
        "ones": lambda: np.ones(size),
        "minus": lambda: np.full(size, -1),
        "index": lambda: np.arange(size),
        "reversed": lambda: np.arange(size)[::-1],
        "permutation": lambda: random.permutation(size),
    }
    return values[array.fill]().astype(dtype)


def f32(size: int, fill: str = "random") -> Array:
    """Return an array of floats in [-1, 1)."""
    return Array("float32", size, fill)


def i32(size: int, fill: str = "random") -> Array:
    """Return an array of ints in [0, 100)."""
    return Array("int32", size, fill)


def u32(size: int, fill: str = "random") -> Array:
    """Return an array of unsigned ints in [0, 100)."""
    return Array("uint32", size, fill)


def u8(size: int, fill: str = "random") -> Array:
    """Return an array of bytes in [0, 100)."""
    return Array("uint8", size, fill)


def f64(size: int, fill: str = "random") -> Array:
    """Return an array of doubles in [-1, 1)."""
    return Array("float64", size, fill)


def bug(kernel: str, grid: Size, block: Size, *arguments, kinds: str = "", **rest) -> Case:
    """Return a bug of its file's kind, or of the kinds given."""
    return Case("", kernel, grid, block, arguments, tuple(kinds.split("|")), **rest)


def twin(kernel: str, grid: Size, block: Size, *arguments, **rest) -> Case:
    """Return a correct kernel."""
    return Case("", kernel, grid, block, arguments, (), **rest)


def cases_of(file: str, kind: str, *cases: Case) -> list[Case]:
    """Return the cases of a file, whose bugs are of one kind unless they say otherwise."""
    return [
        case._replace(file=file, kinds=(kind,) if case.kinds == ("",) else case.kinds)
        for case in cases
    ]


def marked(file: str, kernel: str) -> set[int]:
    """Return the numbers of the lines where a finding in this kernel is right."""
    lines, found, here = (FOLDER / f"{file}.cu").read_text().splitlines(), set(), set()
    name = None  # of the kernel that the line is in; None in a device function
    for number, line in enumerate(lines, 1):
        if line.startswith("__global__"):
            name = re.search(r"(\w+)\((?!\d+\))", line)[1]
        if line.endswith(MARK):
            here.add(number)
        if line == "}":
            found |= here if name in (None, kernel) else set()
            name, here = None, set()
    return found
