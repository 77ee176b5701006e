"""Measure the kinds of host memory: additions, allocations, and many small transfers.

    python tools/measure_host_memory.py [--sizes 4K:256M:x4] [--counts 1:1024:x4] [--samples 5]
                                        [--json FILE]

Needs a GPU. All times are the wall clock's, as a caller in Python waits, and medians.

add          `gm.add` of two float32 arrays of each size in each kind of memory, from the call
             until every page of the result has been read. The host writes to every page of the
             inputs before; what it writes is not timed.
allocation   `gm.empty` of each kind, and a `DeviceArray`, from a pool that was emptied before and
             from one that has a block of that size; alone, and with a first write to every page.
small        --counts arrays of 4 KiB to the device: by a call each, by a copy each out of one
             array that is waited for, and packed on the host for one copy.

Managed memory is measured up to 64 MiB per array.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tool_results

import gpumem as gm
from gpumem.base import sizes
from gpumem.machine.device import Device, HostArray, open_device
from gpumem.measure.moving import by_bus
from gpumem.measure.sampling import Limits, interleave
from gpumem.measure.transfers import MOST_MANAGED
from gpumem.measure.wall_clock import Timed, sampler, timed

PAGE = 4096  # bytes
SMALL = 4096  # bytes of a small array
WITHIN, BUDGET = 0.05, 0.3  # of samples, as `gm.bench` means them

Figure = dict[str, Any]


class Way(NamedTuple):
    """A variant of add, and the memory of its inputs and of its result."""

    variant: str
    inputs: str
    out: str


WAYS = {
    "pageable": Way("explicit", "pageable", "pageable"),
    "pinned": Way("explicit", "pinned", "pinned"),
    "write-combined in, pinned out": Way("explicit", "write_combined", "pinned"),
    "zero copy": Way("zero_copy", "mapped", "mapped"),
    "managed": Way("managed", "managed", "managed"),
    "managed, prefetched": Way("managed_prefetch", "managed", "managed"),
}
KINDS = ("pageable", "pinned", "write_combined", "mapped", "managed")


def median_seconds(runs: Sequence[Timed], samples: int) -> list[float]:
    """Return the median seconds of a call of each, which take turns."""
    limits = Limits(least=min(3, samples), most=samples, within=WITHIN, budget=BUDGET)
    found = interleave([sampler(run) for run in runs], limits)
    return [float(np.median(one)) / 1e3 for one in found]


def fits(kind: str, nbytes: int) -> bool:
    return kind != "managed" or nbytes <= MOST_MANAGED


# ---- additions ------------------------------------------------------------------------------


def addition(device: Device, way: Way, nbytes: int) -> Timed:
    """Return what adds two arrays of a kind of memory; ValueError if a sum is wrong."""
    shape = (nbytes // 4,)
    a, b = (device.host_array(shape, "float32", way.inputs) for _ in range(2))
    out = device.host_array(shape, "float32", way.out)
    a[...], b[...], out[...] = 1, 2, 0
    pages = [array[:: PAGE // 4] for array in (a, b, out)]

    def run(count: int) -> float:
        taken = 0.0
        for _ in range(count):
            pages[0][...], pages[1][...] = 1, 2  # a write moves a page to the host
            begin = time.perf_counter()
            gm.add(a, b, out=out, variant=way.variant, backend=device.backend)
            total = pages[2].sum(dtype=np.float64)
            taken += time.perf_counter() - begin
            if total != 3 * pages[2].size:
                raise ValueError(f"{way.variant} in {way.inputs} memory: the sum is wrong")
        return taken

    return run


def measure_add(device: Device, nbytes: int, samples: int) -> list[Figure]:
    """Measure an addition of arrays of each kind."""
    ways = {name: way for name, way in WAYS.items() if fits(way.inputs, nbytes)}
    runs = [addition(device, way, nbytes) for way in ways.values()]
    return [
        {"bytes": nbytes, "way": name, "ms": 1e3 * s, "gbps": 3 * nbytes / s / 1e9}
        for name, s in zip(ways, median_seconds(runs, samples), strict=True)
    ]


# ---- allocations ----------------------------------------------------------------------------


def allocation(device: Device, kind: str, nbytes: int, cold: bool, touched: bool) -> Timed:
    """Return what allocates an array, and then frees it, which is not timed."""

    def make() -> Any:
        if kind == "device":
            return device.array((nbytes,), "uint8")
        return device.host_array((nbytes,), "uint8", kind)

    def run(count: int) -> float:
        taken = 0.0
        for _ in range(count):
            if cold:
                gm.pool_trim(backend=device.backend)
            begin = time.perf_counter()
            array = make()
            if touched:
                array[::PAGE] = 1
            taken += time.perf_counter() - begin
            del array
        return taken

    return run


def measure_allocations(device: Device, nbytes: int, samples: int) -> list[Figure]:
    """Measure allocations of each kind, one after the other: they share the pools."""
    found = []
    for kind in (*KINDS, "device"):
        if not fits(kind, nbytes):
            continue
        for cold in (True, False):
            one: Figure = {"bytes": nbytes, "kind": kind, "pool": "empty" if cold else "filled"}
            (alone,) = median_seconds([allocation(device, kind, nbytes, cold, False)], samples)
            one |= {"us": 1e6 * alone, "touched_us": None}
            if kind != "device":
                run = allocation(device, kind, nbytes, cold, True)
                one["touched_us"] = 1e6 * median_seconds([run], samples)[0]
            found.append(one)
    return found


# ---- small transfers ------------------------------------------------------------------------


def small_transfers(device: Device, count: int) -> dict[str, tuple[Timed, Callable[[], HostArray]]]:
    """Return the ways to send small arrays, each with what returns the bytes that arrived."""
    random = np.random.default_rng(count)
    arrays = [random.integers(0, 256, SMALL, np.uint8) for _ in range(count)]
    target = device.array((count * SMALL,), "uint8")
    packed = device.host_array((count * SMALL,), "uint8", "pinned")
    arrived: list[Any] = []

    def by_call(times: int) -> None:
        for _ in range(times):
            arrived[:] = [device.to_device(array) for array in arrays]
        device.synchronize()

    def pack(times: int) -> None:
        for _ in range(times):
            np.concatenate(arrays, out=packed)
            device.transfer(target, packed, True, 1, False)

    np.concatenate(arrays, out=packed)

    def whole() -> HostArray:
        return target.to_host()

    return {
        "a call per array": (
            timed(by_call),
            lambda: np.concatenate([one.to_host() for one in arrived]),
        ),
        "a copy per array, pinned": (
            timed(by_bus(device, target, packed, True, "pinned", count)),
            whole,
        ),
        "packed on the host, one copy": (timed(pack), whole),
        "one copy, pinned": (timed(by_bus(device, target, packed, True, "pinned")), whole),
    }


def measure_small(device: Device, count: int, samples: int) -> list[Figure]:
    """Measure the ways to send so many small arrays; ValueError if bytes did not arrive."""
    ways = small_transfers(device, count)
    arrived = []
    for run, bytes_of in ways.values():
        run(1)
        arrived.append(bytes_of())
    if any(not np.array_equal(one, arrived[0]) for one in arrived):
        raise ValueError(f"{count} small arrays: what arrived differs")
    found = median_seconds([run for run, _ in ways.values()], samples)
    return [
        {"count": count, "item": SMALL, "way": name, "us": 1e6 * s}
        for name, s in zip(ways, found, strict=True)
    ]


# ---- the program ----------------------------------------------------------------------------


def measure(
    device: Device, lengths: Sequence[int], counts: Sequence[int], samples: int
) -> dict[str, list[Figure]]:
    """Measure everything; print figures as they come."""
    found: dict[str, list[Figure]] = {"add": [], "allocation": [], "small": []}
    for nbytes in lengths:
        for one in measure_add(device, nbytes, samples):
            found["add"].append(one)
            label = f"add {sizes.format_bytes(nbytes):>8}  {one['way']:30}"
            print(f"{label} {one['ms']:9.3f} ms {one['gbps']:7.2f} GB/s", flush=True)
        gc.collect()
        gm.pool_trim(backend=device.backend)
    for nbytes in lengths:
        for one in measure_allocations(device, nbytes, samples):
            found["allocation"].append(one)
            label = f"allocate {sizes.format_bytes(nbytes):>8}  {one['kind']:15} {one['pool']:7}"
            touched = "" if one["touched_us"] is None else f"{one['touched_us']:12.1f} us touched"
            print(f"{label} {one['us']:12.1f} us {touched}", flush=True)
    for count in counts:
        for one in measure_small(device, count, samples):
            found["small"].append(one)
            print(f"{count:5} of 4 KiB  {one['way']:30} {one['us']:9.1f} us", flush=True)
    return found


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="4K:256M:x4", help="bytes, multiples of 4096")
    parser.add_argument("--counts", default="1:1024:x4", help="of small arrays")
    parser.add_argument("--samples", type=int, default=5, help="the most")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    given.sizes = sizes.parse_sizes(given.sizes)
    given.counts = sizes.parse_sizes(given.counts)
    for nbytes in given.sizes:
        if nbytes % PAGE:
            parser.error(f"--sizes has {nbytes}, no multiple of {PAGE}")
    if given.samples < 1:
        parser.error(f"--samples is {given.samples}, expected at least 1")
    return given


def main() -> None:
    given = parse()
    device = open_device("cuda")
    found = measure(device, given.sizes, given.counts, given.samples)
    if given.json:
        tool_results.write(given.json, device, {"samples": given.samples, **found})


if __name__ == "__main__":
    main()
