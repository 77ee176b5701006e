"""Measure the rate of atomic additions by type, scope, use of the old value, and addresses.

    python tools/measure_atomics.py [--types int32,...] [--patterns NAME,...] [--milliseconds 1]
                                    [--rounds 7] [--json FILE] [--markdown FILE]

Needs a GPU, PyTorch, and what gpumem.load needs. The threads of a full device, eight blocks of 256
per multiprocessor, each make a number of additions in a row that takes about --milliseconds. They
compute their addresses, and read nothing: what is measured is the additions. Where the old value is
asked for, one addition does not wait for that of another. A time is that of one launch between two
events; kernels of one pattern take turns at random (see single_calls.py). A figure is the median of
the rounds, in 10^9 additions per second.

A scope of a block is measured only where no two blocks add to one address: between blocks such
additions need not be atomic.
"""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from single_calls import measure

import gpumem as gm
from gpumem.base import files
from gpumem.machine.device import open_device

SOURCE = Path(__file__).with_name("atomics.cu")
THREADS = 256  # of a block
BLOCKS = 8  # per multiprocessor: 2048 threads
LINE = 128  # bytes
FIRST_STEPS = 8  # additions per thread of the launch that tells how many to make
MOST_STEPS = 2**16
TYPES = {"int32": 4, "uint64": 8, "float32": 4, "float64": 8}  # bytes of an element


class Pattern(NamedTuple):
    """Where the threads add: parameters of the kernels in atomics.cu."""

    title: str
    bits: int  # 2^bits addresses in a random order; 0: each thread has one
    shift: int  # which 2^shift threads have in common
    apart: bool  # each address in a line of its own
    own: bool  # no other block has it

    def spacing(self, itemsize: int) -> int:
        """Return the elements from one address to the next."""
        return LINE // itemsize if self.apart else 1

    def elements(self, threads: int, itemsize: int) -> int:
        """Return how many elements the array needs."""
        places = 2**self.bits if self.bits else ((threads - 1) >> self.shift) + 1
        return (places - 1) * self.spacing(itemsize) + 1


PATTERNS = {
    "one": Pattern("one address", 0, 31, False, False),
    "warp": Pattern("one per warp, a line apart", 0, 5, True, True),
    "random32": Pattern("32 in random order", 5, 0, False, False),
    "random1K": Pattern("1024 in random order", 10, 0, False, False),
    "random1M": Pattern("1 Mi in random order", 20, 0, False, False),
    "own": Pattern("one per thread, side by side", 0, 0, False, True),
    "lines": Pattern("one per thread, a line apart", 0, 0, True, True),
}


class Variant(NamedTuple):
    """How an addition is made."""

    scope: str
    returning: bool

    @property
    def title(self) -> str:
        return f"{self.scope}{', returns' if self.returning else ''}"

    def kernel(self, name: str) -> str:
        """Return the name of the kernel for a type in atomics.cu."""
        return f"{name}_{self.scope}{'_returns' if self.returning else ''}"


VARIANTS = tuple(
    Variant(scope, returning)
    for scope in ("device", "system", "block")
    for returning in (False, True)
)


class Figure(NamedTuple):
    """The rate of one kernel with one pattern."""

    type: str
    pattern: str
    scope: str
    returning: bool
    steps: int
    ms: float
    rate: float  # additions per second


def variants_for(pattern: Pattern) -> list[Variant]:
    """Return the variants that are atomic for a pattern."""
    return [one for one in VARIANTS if pattern.own or one.scope != "block"]


class Additions:
    """Launches the variants with one type and one pattern."""

    def __init__(
        self, module: gm.Module, name: str, key: str, blocks: int, stream: Any = None
    ) -> None:
        itemsize = TYPES[name]
        self.name, self.key, self.threads = name, key, blocks * THREADS
        pattern = PATTERNS[key]
        elements = pattern.elements(self.threads, itemsize)
        self.out = gm.DeviceArray((elements,), name, backend=module.backend)
        self.out.fill_bytes(0)
        self._where = pattern.bits, pattern.shift, pattern.spacing(itemsize)
        self._kernels = {
            one: module[one.kernel(name)][blocks, THREADS, stream] for one in variants_for(pattern)
        }

    def launch(self, variant: Variant, steps: int) -> None:
        """Add 1 from each thread so many times."""
        self._kernels[variant](self.out, None, 1, steps, *self._where)


def steps_for(ms: float, wanted: float) -> int:
    """Return the additions per thread that take `wanted` ms, if FIRST_STEPS take `ms`."""
    return max(1, min(MOST_STEPS, round(FIRST_STEPS * wanted / ms)))


def measure_pattern(additions: Additions, wanted: float, rounds: int) -> list[Figure]:
    """Measure all variants with one type and pattern, side by side."""
    name, key, threads = additions.name, additions.key, additions.threads
    variants = {one.title: one for one in variants_for(PATTERNS[key])}

    def calls(steps: dict[str, int]) -> dict[str, Callable[[], object]]:
        return {
            title: functools.partial(additions.launch, one, steps[title])
            for title, one in variants.items()
        }

    first = measure(calls(dict.fromkeys(variants, FIRST_STEPS)), 1)
    steps = {title: steps_for(ms, wanted) for title, ms in first.items()}
    return [
        Figure(name, key, *variants[title], steps[title], ms, threads * steps[title] / ms * 1e3)
        for title, ms in measure(calls(steps), rounds).items()
    ]


def table(figures: Iterable[Figure]) -> str:
    """Return a Markdown table: a row per type and pattern, a column per variant."""
    rates: dict[tuple[str, str], dict[Variant, float]] = {}
    for one in figures:
        row = rates.setdefault((one.type, one.pattern), {})
        row[Variant(one.scope, one.returning)] = one.rate
    lines = [
        "| type | addresses | " + " | ".join(one.title for one in VARIANTS) + " |",
        "| --- | --- |" + " ---: |" * len(VARIANTS),
    ]
    for (name, key), row in rates.items():
        cells = [f"{row[one] / 1e9:.3g}" if one in row else "–" for one in VARIANTS]
        lines.append(f"| {name} | {PATTERNS[key].title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def listed(given: str, known: Iterable[str], option: str) -> list[str]:
    """Return the names of a list with commas; ValueError names one that is not known."""
    names = given.split(",")
    for name in names:
        if name not in known:
            raise ValueError(f"{option} has {name!r}, accepted are {', '.join(known)}")
    return names


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--types", default=",".join(TYPES), help="by default: %(default)s")
    parser.add_argument("--patterns", default=",".join(PATTERNS), help="by default: %(default)s")
    parser.add_argument("--milliseconds", type=float, default=1.0, help="of a launch, about")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args(words)
    if not 0 < given.milliseconds <= 1000:
        parser.error(f"--milliseconds is {given.milliseconds}, expected more than 0, at most 1000")
    if given.rounds < 1:
        parser.error(f"--rounds is {given.rounds}, expected at least 1")
    try:
        given.types = listed(given.types, TYPES, "--types")
        given.patterns = listed(given.patterns, PATTERNS, "--patterns")
    except ValueError as error:
        parser.error(str(error))
    return given


def measure_all(
    given: argparse.Namespace, module: gm.Module, blocks: int, stream: Any = None
) -> list[Figure]:
    """Measure what the command line asks for; print figures as they come."""
    figures: list[Figure] = []
    for name in given.types:
        for key in given.patterns:
            additions = Additions(module, name, key, blocks, stream)
            found = measure_pattern(additions, given.milliseconds, given.rounds)
            figures += found
            told = "  ".join(
                f"{Variant(one.scope, one.returning).title} {one.rate / 1e9:.3g}" for one in found
            )
            print(f"{name:8} {PATTERNS[key].title:30} {told}", flush=True)
    return figures


def main() -> None:
    given = parse()
    device = open_device("cuda")
    import torch

    blocks = BLOCKS * device.info()["devices"][0]["multiprocessors"]
    module = gm.load(SOURCE, backend="cuda")
    print("10^9 atomic additions per second")
    figures = measure_all(given, module, blocks, torch.cuda.current_stream())
    if given.markdown:
        files.write(given.markdown, table(figures))
    if given.json:
        settings = {"threads": blocks * THREADS, "rounds": given.rounds}
        rows = [one._asdict() for one in figures]
        files.write(
            given.json,
            json.dumps({"gpumem": gm.info(), **settings, "figures": rows}, indent=1, default=str),
        )


if __name__ == "__main__":
    main()
