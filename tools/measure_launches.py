"""Measure what a launch costs the host and the device: one by one, on streams, as a graph.

    python tools/measure_launches.py [--launches 200] [--rounds 30] [--json FILE]

Needs a GPU and nvcc. An empty kernel, one block of a warp, is launched --launches times by a
program in CUDA C++, launches.cu, so that no Python is in the figures. The host's time is that of
queueing the launches, the device's from the first to the last, behind a kernel that keeps the GPU
busy until all are queued; both per launch. A graph is captured from the same launches, and what
capturing and instantiating it take is a third figure. A figure is the median of the rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from ctypes import byref, c_double, c_int
from pathlib import Path
from typing import Any, NamedTuple

import cuda_driver
import tool_results

from gpumem.machine.device import open_device

SOURCE = Path(__file__).with_name("launches.cu")
MOST_LAUNCHES = 500  # fewer than the driver queues before a launch blocks
NOT_SUPPORTED = ("cudaErrorNotSupported", "cudaErrorInvalidValue")

WAITING, QUEUED, PROGRAMMATIC, GRAPH = range(4)


class Way(NamedTuple):
    """A way to launch; `kind` is one of launches.cu, `count` the streams or the branches."""

    name: str
    kind: int
    count: int


LADDER = (
    Way("one by one, each waited for", WAITING, 1),
    Way("one by one", QUEUED, 1),
    Way("on 2 streams in turn", QUEUED, 2),
    Way("on 4 streams in turn", QUEUED, 4),
    Way("on 8 streams in turn", QUEUED, 8),
    Way("programmatic launches", PROGRAMMATIC, 1),
    Way("a graph", GRAPH, 1),
    Way("a graph of 4 branches", GRAPH, 4),
)


class Figure(NamedTuple):
    """Microseconds per launch; None where a way has no such time."""

    way: str
    streams: int
    host_us: float
    device_us: float | None
    making_us: float | None


class Unavailable(Exception):
    """A way to launch that the GPU or the driver does not have."""


def compile_launches(folder: str) -> Any:
    """Return the functions of launches.cu, compiled for the GPU that is here."""
    made = Path(folder) / "launches.so"
    flags = ("-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC")
    subprocess.run([cuda_driver.find_nvcc(), *flags, "-o", made, SOURCE], check=True)
    library = ctypes.CDLL(str(made))
    library.launches_error.restype = ctypes.c_char_p
    return library


def once(library: Any, way: Way, launches: int) -> tuple[float, float | None, float | None]:
    """Return microseconds per launch of the host, of the device, and of making a graph.

    Raises
    ------
    Unavailable
        If the GPU or the driver does not have that way.
    """
    host, device, making = c_double(-1), c_double(-1), c_double(-1)
    times = byref(host), byref(device), byref(making)
    error = library.launches_measure(c_int(way.kind), c_int(launches), c_int(way.count), *times)
    if error:
        name = library.launches_error(error).decode()
        if way.kind == PROGRAMMATIC and name in NOT_SUPPORTED:
            raise Unavailable(name)
        raise SystemExit(f"{way.name}: {name}")
    return host.value, *(time.value if time.value >= 0 else None for time in (device, making))


def middle(values: Sequence[float | None]) -> float | None:
    """Return the median of times, None if there are none."""
    found = [value for value in values if value is not None]
    return statistics.median(found) if found else None


def measure(library: Any, launches: int, rounds: int) -> list[Figure]:
    """Measure all ways, in turn, after a round that does not count."""
    times: dict[Way, list[tuple[float, float | None, float | None]]] = {}
    for way in LADDER:
        try:
            once(library, way, launches)
        except Unavailable as error:
            print(f"{way.name}: not available, {error}")
        else:
            times[way] = []
    for _ in range(rounds):
        for way, found in times.items():
            found.append(once(library, way, launches))
    figures = []
    for way, found in times.items():
        host, device, making = map(middle, zip(*found, strict=True))
        assert host is not None
        figures.append(Figure(way.name, way.count, host, device, making))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=200, help=f"at most {MOST_LAUNCHES}")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if not 1 <= given.launches <= MOST_LAUNCHES:
        parser.error(f"--launches is {given.launches}, expected 1 to {MOST_LAUNCHES}")
    if given.rounds < 1:
        parser.error(f"--rounds is {given.rounds}, expected at least 1")
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(compile_launches(folder), given.launches, given.rounds)
    print(f"{'microseconds per launch':30} {'host':>6} {'device':>7} {'making':>7}")
    for one in figures:
        cells = ["-" if time is None else f"{time:.2f}" for time in one[2:]]
        print(f"{one.way:30} {cells[0]:>6} {cells[1]:>7} {cells[2]:>7}")
    if given.json:
        settings = {"launches": given.launches, "rounds": given.rounds}
        record = {**settings, "figures": [one._asdict() for one in figures]}
        tool_results.write(given.json, open_device("cuda"), record)


if __name__ == "__main__":
    main()
