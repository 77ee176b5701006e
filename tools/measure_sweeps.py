"""Measure families by one parameter: offsets, blocks, threads, shares of L1 and shared memory.

    python tools/measure_sweeps.py [--bytes 256M] [--sweeps offset,...] [--rounds 5] [--json FILE]

Needs a GPU. A sweep measures a few variants of one family by the values of one of its parameters:

offset      strided_read and strided_write with stride 1, offsets 0 to 32, float32 and float64
structures  copy by structures of 12 to 32 bytes, of which the padded ones have 16 and 32
max_blocks  copy with a quarter of a block per multiprocessor to 32 of them, and as many as it likes
block       the transposes without shared memory, with blocks of 32 to 1024 threads, wide and thin
carveout    polynomial with every share of shared memory that a multiprocessor has
threads     prefetch_sum with blocks of 32 to 1024 threads, without and with a barrier in the loop,
            one block per multiprocessor and eight
strided_threads
            strided_read and strided_write with blocks of 32 to 1024 threads: a slice that is a
            copy, one that splits sectors, and strides of 2 and 8

Inputs have --bytes bytes, about. A figure is the median of the rounds, of launches in a row, in
GB/s of what the family reads and writes. Arrays of several times the L2 are not in it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tool_results

from gpumem._core import DeviceArray, Prepared
from gpumem.base import sizes
from gpumem.base.several import names_of
from gpumem.families import oracle, table
from gpumem.families.slices import slice_length
from gpumem.machine.device import Device, open_device
from gpumem.measure.launch_clock import Clock

OFFSETS = range(33)  # elements: one more than a warp has lanes
BLOCKS_PER_MULTIPROCESSOR = (0.25, 0.5, 1, 2, 4, 8, 16, 32)
BLOCKS = (
    *((256, 1), (128, 2), (64, 4), (32, 8), (16, 16), (8, 32), (4, 64), (2, 128), (1, 256)),
    *((32, 1), (32, 2), (32, 4), (32, 16), (32, 32)),
    *((16, 2), (16, 4), (16, 8), (16, 32), (8, 4), (8, 8), (8, 16), (8, 64), (8, 128)),
)
# Per cent of the 228 KiB of shared memory that a multiprocessor of compute capability 9.0 has at
# most: the least that ask for 0, 8, 16, 32, 64, 100, 132, 164, 196 and 228 KiB.
CARVEOUTS = (0, 4, 8, 15, 29, 44, 58, 72, 86, 100)
THREADS = (32, 64, 128, 256, 512, 1024)
SLICES = ((0, 1), (1, 1), (0, 2), (0, 8))  # offset and stride
TERMS = 16  # coefficients of a polynomial


class Series(NamedTuple):
    """A variant at one problem size, and the values of the parameter that is swept."""

    parameter: str  # that is swept
    family: str
    variant: str
    dtype: str
    shape: tuple[int, ...]
    values: tuple[Any, ...]
    fixed: dict[str, Any]  # the other parameters

    def __str__(self) -> str:
        fixed = "".join(f" {name}={value}" for name, value in self.fixed.items())
        shape = " x ".join(map(str, self.shape))
        return f"{self.family} {self.variant} {self.dtype} ({shape}){fixed}"


# ---- what to measure ------------------------------------------------------------------------


def offset(nbytes: int, multiprocessors: int) -> Iterator[Series]:
    for family in ("strided_read", "strided_write"):
        for dtype in ("float32", "float64"):
            shape = (nbytes // np.dtype(dtype).itemsize,)
            for variant in ("cached", "uncached", "unroll4", "auto"):
                values = tuple(OFFSETS)
                yield Series("offset", family, variant, dtype, shape, values, {"stride": 1})


def structures(nbytes: int, multiprocessors: int) -> Iterator[Series]:
    for variant in ("struct12", "struct16", "struct20", "struct24", "struct32", "auto"):
        shape = (nbytes // 4,)
        yield Series("max_blocks", "copy", variant, "float32", shape, (None,), {})


def max_blocks(nbytes: int, multiprocessors: int) -> Iterator[Series]:
    counts = {max(1, int(n * multiprocessors)) for n in BLOCKS_PER_MULTIPROCESSOR}
    values = (*sorted(counts), None)
    for variant in ("scalar", "vec2", "vec4", "vec4_unrolled", "bulk"):
        yield Series("max_blocks", "copy", variant, "float32", (nbytes // 4,), values, {})


def block(nbytes: int, multiprocessors: int) -> Iterator[Series]:
    side = math.isqrt(nbytes // 4)
    for variant in ("copy_row", "copy_col", "naive_row", "naive_col"):
        yield Series("block", "transpose", variant, "float32", (side, side), BLOCKS, {})


def carveout(nbytes: int, multiprocessors: int) -> Iterator[Series]:
    for dtype in ("float32", "float64"):
        shape = (nbytes // np.dtype(dtype).itemsize,)
        for variant in ("global", "local", "shared", "register", "register_bounded"):
            values = (None, *CARVEOUTS)
            yield Series("carveout", "polynomial", variant, dtype, shape, values, {})


def threads(nbytes: int, multiprocessors: int) -> Iterator[Series]:
    lessons = [one.name for one in table.variants("prefetch_sum") if not one.serves]
    for blocks in (1, 8):
        rows = blocks * multiprocessors
        shape = (rows, max(32, nbytes // 8 // rows // 32 * 32))  # aligned rows
        for variant in lessons:
            for sync in (False, True):
                fixed = {"sync": sync}
                yield Series("threads", "prefetch_sum", variant, "float64", shape, THREADS, fixed)


def strided_threads(nbytes: int, multiprocessors: int) -> Iterator[Series]:
    for family in ("strided_read", "strided_write"):
        for variant in ("cached", "unroll4"):
            for first, stride in SLICES:
                fixed = {"offset": first, "stride": stride}
                shape = (nbytes // 4,)
                yield Series("threads", family, variant, "float32", shape, THREADS, fixed)


_ALL = (offset, structures, max_blocks, block, carveout, threads, strided_threads)
SWEEPS: dict[str, Callable[[int, int], Iterator[Series]]] = {one.__name__: one for one in _ALL}


# ---- measuring ------------------------------------------------------------------------------


def filled(device: Device, shape: tuple[int, ...], dtype: str) -> DeviceArray:
    """Return an array of small numbers."""
    array = device.array(shape, dtype)
    array.fill_bytes(1)
    return array


class Arrays:
    """The arrays of a series, which all of its calls share."""

    def __init__(self, device: Device, series: Series) -> None:
        self.device, self.series = device, series
        self.a = filled(device, series.shape, series.dtype)
        # The matrices of transpose are square.
        shape = series.shape[:1] if series.family == "prefetch_sum" else series.shape
        self.out = filled(device, shape, series.dtype)
        self.coefficients = filled(device, (TERMS,), series.dtype)

    def prepare(self, parameters: dict[str, Any]) -> Prepared:
        """Return the call with these parameters."""
        family, a, out = self.series.family, self.a, self.out
        inputs: tuple[DeviceArray, ...] = (a,)
        result: DeviceArray | None = out
        if family == "polynomial":
            inputs = a, self.coefficients
        elif family == "strided_read":
            result = out[: slice_length(a.size, **parameters)]
        elif family == "strided_write":
            inputs, result = (out, a[: slice_length(a.size, **parameters)]), None
        values = table.parameters(family, parameters)
        return self.device.prepare(family, self.series.variant, inputs, result, values)


def measure_series(clock: Clock, series: Series, rounds: int) -> dict[str, Any]:
    """Measure a series; a value that the variant does not take has no figure, but a reason."""
    arrays = Arrays(clock.device, series)
    times: list[float | None] = []
    rates: list[float | None] = []
    reasons: dict[str, str] = {}
    for value in series.values:
        parameters = {series.parameter: value, **series.fixed}
        try:
            ms = clock.times(arrays.prepare(parameters), rounds).median
        except ValueError as error:
            reasons[word(value)] = str(error)
            times.append(None)
            rates.append(None)
            continue
        nbytes, _ = oracle.work(series.family, series.shape, series.dtype, **parameters)
        times.append(round(ms, 6))
        rates.append(round(nbytes / ms / 1e6, 2))
    return {**series._asdict(), "ms": times, "gbps": rates, "reasons": reasons}


def measure(device: Device, names: list[str], nbytes: int, rounds: int) -> list[dict[str, Any]]:
    """Measure sweeps; print a line per series as it comes."""
    clock = Clock(device)
    multiprocessors = device.info()["devices"][0]["multiprocessors"]
    measured = []
    for name in names:
        print(f"\n{name}, GB/s")
        for series in SWEEPS[name](nbytes, multiprocessors):
            reason = None
            if series.variant != "auto":
                reason = device.available(series.family, series.variant)
            if reason:
                print(f"{series}: {reason}")
                continue
            found = measure_series(clock, series, rounds)
            rates = ["-" if rate is None else f"{rate:.0f}" for rate in found["gbps"]]
            cells = zip(map(word, series.values), rates, strict=True)
            print(series, *(f"{value}: {rate}" for value, rate in cells), sep="  ", flush=True)
            measured.append({"sweep": name, **found})
    return measured


def word(value: Any) -> str:
    """Return the value of a parameter for the table."""
    if value is None:
        return "default"
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", default="256M", help="of the inputs, a multiple of 1024")
    parser.add_argument("--sweeps", default=",".join(SWEEPS), help="by default, all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    (given.bytes,) = sizes.parse_sizes(given.bytes)
    given.sweeps = names_of("--sweeps", given.sweeps.split(","), "names of sweeps")
    for name in given.sweeps:
        if name not in SWEEPS:
            parser.error(f"--sweeps has {name}, expected {', '.join(SWEEPS)}")
    if given.bytes % 1024 or not given.bytes:
        parser.error(f"--bytes is {given.bytes}, expected a multiple of 1024")
    if given.rounds < 1:
        parser.error(f"--rounds is {given.rounds}, expected at least 1")
    return given


def main() -> None:
    given = parse()
    device = open_device("cuda")
    found = measure(device, given.sweeps, given.bytes, given.rounds)
    if given.json:
        settings = {"bytes": given.bytes, "rounds": given.rounds}
        tool_results.write(given.json, device, {**settings, "series": found})


if __name__ == "__main__":
    main()
