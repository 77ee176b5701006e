"""Measure random access: useful bytes per second by the size of an element and by footprint.

    python tools/measure_random.py [--footprints 1M:16G:x4] [--elements 1:128:x2] [--count 16M]
                                   [--variants auto] [--rounds 5] [--seed N] [--json FILE]

Needs a GPU. `gm.gather` reads --count elements at random places of a footprint, each aligned to its
size; the index has 32 bits where that is enough. Preparing the call checks the index, once; what is
timed is the kernel alone (gpumem/measure/launch_clock.py). A figure is the median of the rounds.

Memory moves in sectors of 32 bytes, and a smaller element takes a whole one. Useful bytes are those
of the elements that are read; `sector_bytes` are those of their sectors, and `moved_bytes` also
have the index, which is read in order, and the result, which is written in order. Two elements in
one sector count twice, also where a cache serves the second.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tool_results

from gpumem.base import sizes
from gpumem.families import table
from gpumem.families.gather import FAMILY as GATHER
from gpumem.machine.device import Device, open_device
from gpumem.measure.launch_clock import Clock, Times

SECTOR = 32  # bytes
USABLE = 0.9  # of the free memory

Array = np.ndarray[Any, Any]


class Figure(NamedTuple):
    """Random reads of elements of one size in one footprint."""

    variant: str
    element: int
    footprint: int
    index_bytes: int  # of one index
    asked_bytes: int
    sector_bytes: int
    moved_bytes: int
    ms: float
    least_ms: float
    most_ms: float
    gbps: float  # of the bytes asked for
    sector_gbps: float


def index_type(places: int) -> type[np.signedinteger[Any]]:
    """Return the narrowest type that gather takes for an index of so many places."""
    return np.int32 if places <= 2**31 else np.int64


def figure(variant: str, element: int, footprint: int, index: Array, times: Times) -> Figure:
    """Return what the times of launches say."""
    asked = index.size * element
    sectors = index.size * max(element, SECTOR)
    moved = sectors + index.nbytes + asked
    return Figure(
        variant,
        element,
        footprint,
        index.itemsize,
        asked,
        sectors,
        moved,
        *times,
        asked / times.median / 1e6,
        sectors / times.median / 1e6,
    )


def measure_footprint(
    clock: Clock, footprint: int, given: argparse.Namespace, random: np.random.Generator
) -> list[Figure]:
    """Measure all sizes of elements, by all variants that take them."""
    device, found = clock.device, []
    memory = device.array((footprint,), "uint8")
    memory.fill_bytes(0)
    results = device.array((given.count * max(given.elements),), "uint8")
    for element in given.elements:
        places = footprint // element
        index = random.integers(places, size=given.count, dtype=index_type(places))
        inputs = memory.view(f"V{element}"), device.to_device(index)
        out = results[: given.count * element].view(f"V{element}")
        for name in given.variants:
            try:
                call = device.prepare("gather", name, inputs, out, GATHER.parameters())
            except ValueError as error:
                if "has no kernel for" not in str(error):
                    raise
                continue
            times = clock.times(call, given.rounds)
            found.append(figure(call.variant, element, footprint, index, times))
    return found


def needed(footprint: int, given: argparse.Namespace) -> int:
    """Return the bytes of device memory that a footprint takes, with indices and results."""
    return footprint + given.count * (max(given.elements) + 8)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--footprints", default="1M:16G:x4", help="bytes, multiples of elements")
    parser.add_argument("--elements", default="1:128:x2", help="bytes, powers of two")
    parser.add_argument("--count", default="16M", help="elements that are read")
    parser.add_argument("--variants", default="auto", help="several with commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="the same indices again")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    for name, least in (("rounds", 1), ("seed", 0)):
        if getattr(given, name) < least:
            parser.error(f"--{name} is {getattr(given, name)}, expected at least {least}")
    (given.count,) = sizes.parse_sizes(given.count)
    given.footprints = sizes.parse_sizes(given.footprints)
    given.elements = sizes.parse_sizes(given.elements)
    given.variants = [table.resolve("gather", name) for name in given.variants.split(",")]
    for element in given.elements:
        if element & (element - 1):
            parser.error(f"--elements has {element}, expected powers of two")
    for footprint in given.footprints:
        if footprint % max(given.elements):
            parser.error(f"--footprints has {footprint}, no multiple of {max(given.elements)}")
    return given


def measure(given: argparse.Namespace, device: Device) -> list[Figure]:
    """Measure what the command line asks for; print figures as they come."""
    clock, random = Clock(device), np.random.default_rng(given.seed)
    figures: list[Figure] = []
    print("footprint  variant    bytes  useful GB/s  GB/s of sectors")
    for footprint in given.footprints:
        size = sizes.format_bytes(footprint)
        if needed(footprint, given) > USABLE * device.info()["devices"][0]["free_bytes"]:
            print(f"{size:>9}  more than is free")
            continue
        for one in measure_footprint(clock, footprint, given, random):
            figures.append(one)
            rates = f"{one.gbps:11.1f}  {one.sector_gbps:15.1f}"
            print(f"{size:>9}  {one.variant:9} {one.element:6}  {rates}", flush=True)
    return figures


def main() -> None:
    given = parse()
    device = open_device("cuda")
    figures = [one._asdict() for one in measure(given, device)]
    if given.json:
        settings = {name: getattr(given, name) for name in ("count", "rounds", "seed")}
        tool_results.write(given.json, device, {**settings, "figures": figures})


if __name__ == "__main__":
    main()
