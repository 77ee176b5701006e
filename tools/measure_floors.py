"""Measure access patterns beside their floor: the driver's copy of as many bytes as they move.

    python tools/measure_floors.py [--seed N] [--count 40] [--least 64M] [--most 1G] [--rounds 5]
                                   [--json FILE]

Needs a GPU. Strides, offsets, indices, elements and sizes are chosen afresh. Memory is read in
blocks of 64 bytes, two sectors, also for an element of which it has one
(docs/families/strided_read.md shows it), and written in sectors of 32; of a sector that is written
in part the rest is read first. The floor counts each block and sector once, as if the L2 kept
whatever is used again. A figure is the time of the driver's copy of the floor's bytes over the time
of `auto`: medians of the rounds, launches in a row.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tool_results
from measure_random import index_type

from gpumem._core import DeviceArray, Prepared
from gpumem.base import sizes
from gpumem.families import table
from gpumem.machine.device import Device, open_device
from gpumem.measure.launch_clock import Clock

BLOCK, SECTOR = 64, 32  # bytes: what memory reads, and what it writes
DTYPES = {1: "uint8", 2: "float16", 4: "float32", 8: "float64", 16: "complex128"}
FAMILIES = ("strided_read", "strided_write", "gather", "shift_points", "polynomial")
ORDERS = ("random", "sorted", "near")  # of an index
MOST_INDICES = 2**26  # for the host's sake, which draws and sorts them

Array = np.ndarray[Any, Any]


class Case(NamedTuple):
    """A call, ready to be launched, and the bytes that it cannot but move."""

    family: str
    dtype: str
    what: str
    bytes: int
    call: Prepared


class Figure(NamedTuple):
    """A call beside the driver's copy of as many bytes as its floor."""

    family: str
    dtype: str
    what: str
    variant: str
    floor_bytes: int
    ms: float
    copy_ms: float
    fraction: float


def strided_bytes(count: int, first: int, step: int, unit: int) -> int:
    """Return the bytes of the units that elements touch which are `step` bytes apart.

    The elements lie in one unit each: their size divides it, and `first`, the place of the first.
    """
    if step >= unit or count == 0:
        return count * unit
    return ((first + (count - 1) * step) // unit - first // unit + 1) * unit


def indexed_bytes(index: Array, length: int, itemsize: int) -> int:
    """Return the bytes of the blocks of an array of this length that an index touches."""
    touched = np.zeros(-(-length * itemsize // BLOCK), bool)
    touched[index // (BLOCK // itemsize)] = True
    return int(np.count_nonzero(touched)) * BLOCK


def whole(nbytes: int, unit: int = SECTOR) -> int:
    """Return the bytes of the units of a whole array."""
    return -(-nbytes // unit) * unit


class Draw:
    """Chooses calls, and prepares them."""

    def __init__(self, device: Device, random: np.random.Generator, least: int, most: int) -> None:
        self.device, self.random, self.least, self.most = device, random, least, most

    def nbytes(self) -> int:
        return int(2 ** self.random.uniform(math.log2(self.least), math.log2(self.most)))

    def itemsize(self, *accepted: int) -> int:
        return int(self.random.choice(accepted or tuple(DTYPES)))

    def array(self, shape: tuple[int, ...], dtype: str) -> DeviceArray:
        array = self.device.array(shape, dtype)
        array.fill_bytes(0)
        return array

    def case(
        self,
        family: str,
        what: str,
        nbytes: int,
        inputs: tuple[DeviceArray, ...],
        out: DeviceArray | None,
        **keywords: Any,
    ) -> Case:
        call = self.device.prepare(family, "auto", inputs, out, table.parameters(family, keywords))
        return Case(family, str(inputs[-1].dtype), what, nbytes, call)

    def slice(self) -> tuple[int, int, int, int, int]:
        """Return an element's size, a length, an offset, a stride, and how many elements it has."""
        itemsize, stride = self.itemsize(), round(2 ** self.random.uniform(1, 5.5))
        length, offset = self.nbytes() // itemsize, int(self.random.integers(8))
        return itemsize, length, offset, stride, len(range(offset, length, stride))

    def strided_read(self) -> Case:
        itemsize, length, offset, stride, count = self.slice()
        a, out = (self.array((n,), DTYPES[itemsize]) for n in (length, count))
        nbytes = strided_bytes(count, offset * itemsize, stride * itemsize, BLOCK)
        nbytes += whole(out.nbytes)
        what = f"{length}[{offset}::{stride}]"
        return self.case("strided_read", what, nbytes, (a,), out, offset=offset, stride=stride)

    def strided_write(self) -> Case:
        itemsize, length, offset, stride, count = self.slice()
        out, a = (self.array((n,), DTYPES[itemsize]) for n in (length, count))
        nbytes = 2 * strided_bytes(count, offset * itemsize, stride * itemsize, SECTOR)
        nbytes += whole(a.nbytes, BLOCK)
        what = f"{length}[{offset}::{stride}]"
        return self.case(
            "strided_write", what, nbytes, (out, a), None, offset=offset, stride=stride
        )

    def index(self, length: int, count: int, order: str) -> Array:
        if order == "near":
            at = np.linspace(0, length - 1, count) + self.random.integers(-500, 501, count)
            return np.clip(at, 0, length - 1).astype(index_type(length))
        index = self.random.integers(length, size=count, dtype=index_type(length))
        return np.sort(index) if order == "sorted" else index

    def gather(self) -> Case:
        itemsize, order = self.itemsize(), str(self.random.choice(ORDERS))
        length = self.nbytes() // itemsize
        count = min(max(int(length * 2 ** self.random.uniform(-3, 0)), 1), MOST_INDICES)
        index = self.index(length, count, order)
        a, out = (self.array((n,), DTYPES[itemsize]) for n in (length, count))
        nbytes = indexed_bytes(index, length, itemsize)
        nbytes += whole(index.nbytes, BLOCK) + whole(out.nbytes)
        inputs = a, self.device.to_device(index)
        what = f"{count} of {length}, {order}"
        return self.case("gather", what, nbytes, inputs, out)._replace(dtype=DTYPES[itemsize])

    def shift_points(self) -> Case:
        itemsize = self.itemsize(4, 8)
        points = self.nbytes() // (2 * itemsize)
        shape = (points, 2) if self.random.random() < 0.5 else (2, points)
        p, out = (self.array(shape, DTYPES[itemsize]) for _ in range(2))
        nbytes = whole(p.nbytes, BLOCK) + whole(p.nbytes)
        return self.case("shift_points", f"{shape}", nbytes, (p,), out, dx=1.0, dy=2.0)

    def polynomial(self) -> Case:
        itemsize, terms = self.itemsize(4, 8), int(self.random.integers(1, 13))
        length = self.nbytes() // itemsize
        x, out = (self.array((length,), DTYPES[itemsize]) for _ in range(2))
        c = self.array((terms,), DTYPES[itemsize])
        what = f"{length}, {terms} coefficients"
        nbytes = whole(x.nbytes, BLOCK) + whole(x.nbytes)
        return self.case("polynomial", what, nbytes, (x, c), out)


def cases(draw: Draw, count: int) -> Iterator[Case]:
    """Draw calls of each family in turn."""
    makers: list[Callable[[], Case]] = [getattr(draw, family) for family in FAMILIES]
    for i in range(count):
        yield makers[i % len(makers)]()


def figure(clock: Clock, case: Case, rounds: int) -> Figure:
    """Time a call, and the driver's copy of its floor: half of the bytes read, half written."""
    ms = clock.times(case.call, rounds).median
    a, out = (clock.device.array((max(case.bytes // 2, 1),), "uint8") for _ in range(2))
    a.fill_bytes(0)
    copy = clock.device.prepare("copy", "memcpy", (a,), out, table.parameters("copy", {}))
    copy_ms = clock.times(copy, rounds).median
    name = case.family, case.dtype, case.what, case.call.variant
    return Figure(*name, case.bytes, ms, copy_ms, copy_ms / ms)


def measure(device: Device, given: argparse.Namespace) -> list[Figure]:
    """Measure what is drawn; print figures as they come, and the mean of each family."""
    clock, figures = Clock(device), []
    draw = Draw(device, np.random.default_rng(given.seed), given.least, given.most)
    for case in cases(draw, given.count):
        one = figure(clock, case, given.rounds)
        figures.append(one)
        size = sizes.format_bytes(one.floor_bytes)
        print(f"{one.fraction:.3f}  {one.family:13} {one.variant:14} {one.dtype:10} {size:>9}  "
              f"{one.what}", flush=True)  # fmt: skip
    for family in FAMILIES:
        found = [one.fraction for one in figures if one.family == family]
        if found:
            mean = statistics.geometric_mean(found)
            print(f"{family}: {len(found)}, mean {mean:.3f}, least {min(found):.3f}")
    return figures


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="the same calls again")
    parser.add_argument("--count", type=int, default=40, help="calls, of all families in turn")
    parser.add_argument("--least", default="64M", help="bytes of the smallest array")
    parser.add_argument("--most", default="1G", help="bytes of the largest array")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    for name in ("count", "rounds"):
        if getattr(given, name) < 1:
            parser.error(f"--{name} is {getattr(given, name)}, expected at least 1")
    (given.least,), (given.most,) = (sizes.parse_sizes(one) for one in (given.least, given.most))
    if not 1024 <= given.least <= given.most <= 2**33:
        parser.error("--least and --most, expected 1K <= least <= most <= 8G")
    if given.seed is None:
        given.seed = int(np.random.SeedSequence().entropy % 2**31)
    return given


def main() -> None:
    given = parse()
    print(f"seed {given.seed}")
    device = open_device("cuda")
    figures = [one._asdict() for one in measure(device, given)]
    if given.json:
        settings = {name: getattr(given, name) for name in ("seed", "count", "rounds")}
        tool_results.write(given.json, device, {**settings, "figures": figures})


if __name__ == "__main__":
    main()
