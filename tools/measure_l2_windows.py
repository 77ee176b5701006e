"""Measure whether windows of the L2 keep a region there while another one streams past it.

    python tools/measure_l2_windows.py [--hot 1M,4M,...] [--stream 1G] [--launches 3] [--rounds 9]
                                       [--json FILE]

Needs a GPU and nvcc. A kernel of l2_windows.cu reads --stream bytes in order; for each chunk of 512
bytes, or for every fourth one, it also reads one of a hot region, at random or in turn, past the
L1. Both are read with plain loads; with an access policy window of the stream that the launches are
on, so that the hot region's lines persist in a part of the L2 set aside for them; with a window
whose hit ratio lets only as many lines persist as there is room for, or half as many; and without a
window, where loads of the stream ask the L2 to evict their lines first, or those of the hot region
to evict them last.

A time is that of --launches launches in a row, after one that does not count; ways take turns, and
a figure is the median of the rounds. The stream alone is measured as well: a slowdown of 1 says
that the hot region costs nothing, one of 2 (with a chunk of the stream each; 1.25 with four) that
it is read from memory like the stream. The set-aside, the window and the lines that persist are
taken back after each.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import tempfile
from ctypes import byref, c_double, c_int, c_ulonglong
from pathlib import Path
from typing import Any, NamedTuple

import cuda_driver
import tool_results

from gpumem.base import sizes
from gpumem.machine.device import open_device

SOURCE = Path(__file__).with_name("l2_windows.cu")
CHUNK = 512  # bytes that a warp reads at once
NO_HINT, STREAM_EVICTED_FIRST, HOT_EVICTED_LAST = range(3)
STREAMED = (1, 4)  # chunks of the stream for one of the hot region, as l2_windows.cu has kernels
HOT = "1M,4M,8M,16M,24M,32M,40M,48M,64M,96M"
MOST_STREAM = 2**40  # bytes: the kernel counts chunks in 32 bits


class Way(NamedTuple):
    """A way to read both regions; `hint` is one of l2_windows.cu."""

    name: str
    hint: int = NO_HINT
    window: bool = False
    room: float | None = None  # of the set-aside: the hit ratio is tuned to that; None: it is 1


PLAIN = Way("plain loads")
WINDOW = Way("a window", window=True)
TUNED = Way("a window, tuned", window=True, room=1.0)
HALF = Way("a window, tuned to half", window=True, room=0.5)
FIRST = Way("stream evicted first", hint=STREAM_EVICTED_FIRST)
LAST = Way("hot evicted last", hint=HOT_EVICTED_LAST)
WAYS = (PLAIN, WINDOW, TUNED, HALF, FIRST, LAST)


class Limits(NamedTuple):
    """Bytes that the device can set aside, and that a window can have."""

    set_aside: int
    window: int


class Window(NamedTuple):
    window_bytes: int
    hit_ratio: float
    set_aside_bytes: int


class Case(NamedTuple):
    """One way to read a hot region of one size."""

    order: str
    streamed: int  # chunks for one of the hot region
    hot_bytes: int
    way: Way
    window: Window


def window_of(way: Way, hot: int, limits: Limits) -> Window:
    """Return the window and the set-aside of a way, none where it has none."""
    if not way.window:
        return Window(0, 0.0, 0)
    window = min(hot, limits.window)
    set_aside = min(window, limits.set_aside)
    ratio = 1.0 if way.room is None else min(1.0, way.room * limits.set_aside / window)
    return Window(window, ratio, set_aside)


def cases(hot: list[int], limits: Limits) -> list[Case]:
    """Return what to measure; a tuned ratio only where it is not 1."""
    return [
        Case(order, streamed, size, way, window_of(way, size, limits))
        for streamed in STREAMED
        for order in ("random", "in turn")
        for size in hot
        for way in WAYS
        if way.room is None or window_of(way, size, limits).hit_ratio < 1
    ]


def alone(streamed: int, way: Way) -> Case:
    """Return the stream without a hot region."""
    return Case("in turn", streamed, 0, way, Window(0, 0.0, 0))


class Program:
    """l2_windows.cu, compiled for the GPU that is here."""

    def __init__(self, library: Any, most_hot: int, stream: int) -> None:
        self.library = library
        set_aside, window = c_ulonglong(), c_ulonglong()
        regions = c_ulonglong(most_hot), c_ulonglong(stream)
        self.check(library.windows_open(*regions, byref(set_aside), byref(window)))
        self.limits = Limits(set_aside.value, window.value)

    def check(self, error: int) -> None:
        if error:
            raise SystemExit(self.library.windows_error(error).decode())

    def once(self, case: Case, launches: int) -> float:
        """Return milliseconds of a launch."""
        ms, (window, ratio, set_aside) = c_double(), case.window
        self.check(
            self.library.windows_measure(
                c_int(case.streamed),
                c_int(case.way.hint),
                c_int(case.order == "random"),
                c_ulonglong(case.hot_bytes),
                c_ulonglong(window),
                c_double(ratio),
                c_ulonglong(set_aside),
                c_int(launches),
                byref(ms),
            )
        )
        return ms.value

    def close(self) -> None:
        self.check(self.library.windows_close())


def compile_program(folder: str) -> Any:
    """Return the functions of l2_windows.cu."""
    made = Path(folder) / "l2_windows.so"
    flags = ("-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC")
    subprocess.run([cuda_driver.find_nvcc(), *flags, "-o", made, SOURCE], check=True)
    library = ctypes.CDLL(str(made))
    library.windows_error.restype = ctypes.c_char_p
    return library


def figure(case: Case, times: list[float], alone_ms: float, stream: int) -> dict[str, Any]:
    """Return what the times of a case say; GB/s are those of both regions."""
    ms = statistics.median(times)
    read = stream + (stream // case.streamed if case.hot_bytes else 0)
    return {
        "order": case.order,
        "streamed": case.streamed,
        "hot_bytes": case.hot_bytes,
        "way": case.way.name,
        **case.window._asdict(),
        "ms": ms,
        "least_ms": min(times),
        "most_ms": max(times),
        "gbps": read / ms / 1e6,
        "slowdown": ms / alone_ms,
    }


def measure(program: Program, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure all cases in turn, the stream alone first."""
    all_cases = cases(given.hot, program.limits)
    bare = {(n, way): alone(n, way) for n in STREAMED for way in (PLAIN, FIRST)}
    times: dict[Case, list[float]] = {case: [] for case in (*bare.values(), *all_cases)}
    for _ in range(given.rounds):
        for case, found in times.items():
            found.append(program.once(case, given.launches))
    # The slowdown is that of plain loads of the stream, also where its lines are evicted first.
    least = {n: statistics.median(times[bare[n, PLAIN]]) for n in STREAMED}
    return [
        figure(case, found, least[case.streamed], given.stream) for case, found in times.items()
    ]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hot", default=HOT, help=f"bytes, multiples of {CHUNK}")
    parser.add_argument("--stream", default="1G", help="bytes that stream past")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    for name in ("launches", "rounds"):
        if getattr(given, name) < 1:
            parser.error(f"--{name} is {getattr(given, name)}, expected at least 1")
    given.hot = sizes.parse_sizes(given.hot)
    (given.stream,) = sizes.parse_sizes(given.stream)
    for name, unit, found in (
        ("hot", CHUNK, given.hot),
        ("stream", CHUNK * max(STREAMED), [given.stream]),
    ):
        for size in found:
            if size < unit or size % unit or size > MOST_STREAM:
                parser.error(f"--{name} has {size}, expected a multiple of {unit} up to 2^40")
    return given


def show(figures: list[dict[str, Any]]) -> None:
    """Print a line per hot region: the slowdown by each way."""
    print(f"{'slowdown':32}" + "".join(f"{way.name:>25}" for way in WAYS))
    rows: dict[tuple[int, str, int], dict[str, float]] = {}
    for one in figures:
        key = one["streamed"], one["order"], one["hot_bytes"]
        rows.setdefault(key, {})[one["way"]] = one["slowdown"]
    for (streamed, order, hot), found in rows.items():
        label = f"{sizes.format_bytes(hot)} {order}, 1:{streamed}" if hot else f"alone, {streamed}"
        cells = [f"{found[way.name]:.3f}" if way.name in found else "-" for way in WAYS]
        print(f"{label:32}" + "".join(f"{cell:>25}" for cell in cells))


def main() -> None:
    given = parse()
    with tempfile.TemporaryDirectory() as folder:
        program = Program(compile_program(folder), max(given.hot), given.stream)
        try:
            if not program.limits.set_aside or not program.limits.window:
                raise SystemExit("the device sets no part of its L2 aside")
            figures = measure(program, given)
        finally:
            program.close()
    show(figures)
    if given.json:
        settings = {name: getattr(given, name) for name in ("stream", "launches", "rounds")}
        limits = {f"most_{name}_bytes": value for name, value in program.limits._asdict().items()}
        record = {**settings, **limits, "figures": figures}
        tool_results.write(given.json, open_device("cuda"), record)


if __name__ == "__main__":
    main()
