"""Measure the latency of dependent loads by footprint, and find the plateaus of the caches.

    python tools/measure_latency.py [--footprints 4K:4G:x2] [--strides 32,128] [--variants NAME,...]
                                    [--steps 16384] [--rounds 5] [--lines 512] [--seed N]
                                    [--json FILE]

Needs a GPU. `gm.chase` follows one random cycle through all places that are a stride apart in the
footprint. A time is that of one launch between two events, behind a hold that lets the host queue
it. Two launches make a figure: one takes steps to warm the caches, as many as there are places or
8192 if there are more than 65536, and the other the same plus --steps. Their difference has no
launch, no check and no warming in it. Each launch begins elsewhere in the cycle, so that a long
one does not find in the L2 what the launches before it have read; before each launch the check of
the chain reads all of it once. A figure is the median of the rounds.

A plateau is three footprints or more in a row whose figures lie within 5 %: `x2` alone is coarse,
and every size is measured with 1.5 times it unless --footprints lists sizes one by one.

--lines also measures single lines of 128 bytes by `uncached`: an element that leads to itself is
loaded from the L2 each time. Their latencies are split into two groups, near and far, where that
leaves the least variance.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tool_results

import gpumem as gm
from gpumem.base import sizes
from gpumem.families import table
from gpumem.machine.device import Device, open_device
from gpumem.measure.chains import ITEM, LEAD, ChainClock, chain_of, lead_of, random_cycle, starts

LINE = 128  # bytes
LINES_FOOTPRINT = 2**23  # bytes: fits in the L2, not in the L1
FLAT = 1.05  # the largest figure of a plateau over its smallest
LEAST_FLAT = 3  # footprints
USABLE = 0.9  # of the free memory

Array = np.ndarray[Any, Any]


class Figure(NamedTuple):
    """Nanoseconds per load of one chain."""

    variant: str
    stride: int
    footprint: int
    ns: float
    least_ns: float
    most_ns: float


class Plateau(NamedTuple):
    """Footprints of one latency."""

    variant: str
    stride: int
    least: int
    most: int
    ns: float


def measure_footprint(
    clock: ChainClock,
    variants: Iterable[str],
    stride: int,
    footprint: int,
    steps: int,
    rounds: int,
    random: np.random.Generator,
) -> list[Figure]:
    """Measure one chain by all variants that have room for it."""
    order, after = random_cycle(footprint // stride, random)
    chain = chain_of(clock.device, after, footprint, stride)
    lead = lead_of(len(after))
    places = [place * (stride // ITEM) for place in starts(order, lead + steps, 2 * rounds)]
    found = []
    for variant in variants:
        try:
            clock.milliseconds(chain, variant, lead, places[0])
        except ValueError as error:
            if "has room for" not in str(error):
                raise
            continue
        ns = clock.nanoseconds(chain, variant, places, lead, steps)
        found.append(Figure(variant, stride, footprint, statistics.median(ns), min(ns), max(ns)))
    return found


def plateaus(figures: Iterable[Figure]) -> list[Plateau]:
    """Return the plateaus of each variant and stride, by footprint."""
    groups: dict[tuple[str, int], list[Figure]] = {}
    for one in figures:
        groups.setdefault((one.variant, one.stride), []).append(one)
    found = []
    for (variant, stride), members in groups.items():
        members = sorted(members, key=lambda one: one.footprint)
        begin = 0
        while begin < len(members):
            end = begin + 1
            while end < len(members) and is_flat([m.ns for m in members[begin : end + 1]]):
                end += 1
            run = members[begin:end]
            if len(run) >= LEAST_FLAT:
                ns = statistics.median(one.ns for one in run)
                found.append(Plateau(variant, stride, run[0].footprint, run[-1].footprint, ns))
            begin = end if len(run) >= LEAST_FLAT else begin + 1
    return found


def is_flat(ns: Sequence[float]) -> bool:
    return max(ns) <= FLAT * min(ns)


def split(values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the values in two groups, the smaller ones first, with the least variance within."""
    ordered = np.sort(np.asarray(values, np.float64))
    if len(ordered) < 2:
        return ordered.tolist(), []
    count = np.arange(1, len(ordered))
    sums, squares = np.cumsum(ordered), np.cumsum(ordered**2)
    left, right = sums[:-1], sums[-1] - sums[:-1]
    within = squares[-1] - left**2 / count - right**2 / (len(ordered) - count)
    at = int(np.argmin(within)) + 1
    return ordered[:at].tolist(), ordered[at:].tolist()


def measure_lines(
    clock: ChainClock, lines: int, steps: int, rounds: int, random: np.random.Generator
) -> dict[str, Any]:
    """Measure single lines in the L2, and split them into two groups."""
    chain = clock.device.to_device(np.arange(LINES_FOOTPRINT // ITEM, dtype=np.uint32))
    drawn = random.permutation(LINES_FOOTPRINT // LINE)[:lines]
    places = [int(line) * (LINE // ITEM) for line in drawn]
    found = []
    for place in places:
        ns = clock.nanoseconds(chain, "uncached", [place] * (2 * rounds), LEAD // 16, steps)
        found.append(statistics.median(ns))
    near, far = split(found)
    groups = {
        name: {
            "lines": len(group),
            "median_ns": statistics.median(group),
            "least_ns": group[0],
            "most_ns": group[-1],
        }
        for name, group in (("near", near), ("far", far))
        if group
    }
    return {"groups": groups, "place": places, "ns": found}


def between(footprints: Sequence[int], most: int) -> list[int]:
    """Return the footprints with 1.5 times each, up to `most`."""
    more = {size * 3 // 2 for size in footprints if size * 3 // 2 <= most}
    return sorted({*footprints, *more})


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--footprints", default="4K:4G:x2", help="bytes, at most 16G")
    parser.add_argument("--strides", default="32,128", help="bytes, multiples of 4")
    parser.add_argument("--variants", help="by default, all that run here")
    parser.add_argument("--steps", type=int, default=16384)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, default=512, help="0: none")
    parser.add_argument("--seed", type=int, default=0, help="the same chains again")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    for name, least in (("steps", 1), ("rounds", 1), ("lines", 0), ("seed", 0)):
        if getattr(given, name) < least:
            parser.error(f"--{name} is {getattr(given, name)}, expected at least {least}")
    given.strides = sizes.parse_sizes(given.strides)
    listed = sizes.parse_sizes(given.footprints)
    given.footprints = between(listed, max(listed)) if ":" in given.footprints else sorted(listed)
    for stride in given.strides:
        if stride % ITEM:
            parser.error(f"--strides has {stride}, expected multiples of {ITEM}")
        if given.footprints[0] < stride:
            parser.error(f"--footprints has {given.footprints[0]}, less than a stride of {stride}")
    if given.footprints[-1] > ITEM * 2**32:
        parser.error(f"--footprints has {given.footprints[-1]}, indices of 32 bits reach 16G")
    return given


def names_of(given: str | None, device: Device) -> list[str]:
    """Return the variants to measure."""
    names = [one.name for one in gm.variants("chase")]
    if given is not None:
        return [table.find("chase", name).name for name in given.split(",")]
    return [name for name in names if device.available("chase", name) is None]


def report(figures: Sequence[Figure], stride: int, footprint: int) -> str:
    """Return a line of the table."""
    here = [one for one in figures if (one.stride, one.footprint) == (stride, footprint)]
    cells = [f"{one.variant} {one.ns:.1f}" for one in here]
    return f"{stride:5} {sizes.format_bytes(footprint):>9}  " + "  ".join(cells)


def measure(given: argparse.Namespace, device: Device) -> dict[str, Any]:
    """Measure what the command line asks for; print figures as they come."""
    random = np.random.default_rng(given.seed)
    clock, names = ChainClock(device), names_of(given.variants, device)
    figures: list[Figure] = []
    print("stride footprint  ns per load")
    for stride in given.strides:
        for footprint in given.footprints:
            free = device.info()["devices"][0]["free_bytes"]
            if footprint > USABLE * free:
                print(f"{stride:5} {sizes.format_bytes(footprint):>9}  more than is free")
                continue
            figures += measure_footprint(
                clock, names, stride, footprint, given.steps, given.rounds, random
            )
            print(report(figures, stride, footprint), flush=True)
    found = plateaus(figures)
    print("\nplateaus")
    for one in found:
        reach = f"{sizes.format_bytes(one.least)} to {sizes.format_bytes(one.most)}"
        print(f"{one.variant:13} stride {one.stride:4}  {reach:24} {one.ns:.1f} ns")
    record: dict[str, Any] = {
        "figures": [one._asdict() for one in figures],
        "plateaus": [one._asdict() for one in found],
    }
    if given.lines:
        record["lines"] = measure_lines(clock, given.lines, given.steps, given.rounds, random)
        for name, group in record["lines"]["groups"].items():
            print(f"{name}: {group['lines']} lines of the L2, {group['median_ns']:.1f} ns")
    return record


def main() -> None:
    given = parse()
    device = open_device("cuda")
    record = measure(given, device)
    if given.json:
        settings = {"steps": given.steps, "rounds": given.rounds, "seed": given.seed}
        tool_results.write(given.json, device, {**settings, **record})


if __name__ == "__main__":
    main()
