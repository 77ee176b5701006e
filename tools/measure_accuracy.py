"""Measure the largest errors of sgemm's kernels, and whether fp16x3 falls back, for hard factors.

    python tools/measure_accuracy.py [--only WORD] [--divide N] [--rows 64] [--seed N]
                                     [--backend cuda] [--json FILE]

An error is that of an element of the product divided by the same element of ``abs(A) @ abs(B)``, in
units of 2**-24, against float64; the table has the largest one in some rows, chosen at random.
fp16x3 decides on the device whether halves are accurate enough; where its result is bit for bit
another kernel's, it launched that one.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import gpumem as gm
from gpumem.base import files

Floats = npt.NDArray[np.float32]

JUDGED = "fp16x3"
OTHERS = ("tf32x3", "warp_tile_tma", "cublas")  # the first two are what fp16x3 falls back to
DEPTHS = tuple(2**i for i in range(6, 17))


class Case(NamedTuple):
    name: str
    sides: tuple[int, int, int]  # m, n, k
    factors: Callable[[np.random.Generator, tuple[int, int, int]], tuple[Floats, Floats]]


def normal(rng: np.random.Generator, sides: tuple[int, int, int]) -> tuple[Floats, Floats]:
    m, n, k = sides
    return rng.standard_normal((m, k), "f4"), rng.standard_normal((k, n), "f4")


def positive(rng: np.random.Generator, sides: tuple[int, int, int]) -> tuple[Floats, Floats]:
    m, n, k = sides
    return rng.random((m, k), "f4"), rng.random((k, n), "f4")


def spread(exponent: int) -> Callable[..., tuple[Floats, Floats]]:
    """Return factors whose numbers have exponents spread evenly over +-exponent."""

    def factors(rng: np.random.Generator, sides: tuple[int, int, int]) -> tuple[Floats, Floats]:
        a, b = normal(rng, sides)
        return tuple(
            np.ldexp(x, rng.integers(-exponent, exponent + 1, x.shape, np.int32)) for x in (a, b)
        )

    return factors


def balanced(exponent: int) -> Callable[..., tuple[Floats, Floats]]:
    """Return A D and D^-1 B: powers of two up to 2**+-exponent along the depth, which cancel."""

    def factors(rng: np.random.Generator, sides: tuple[int, int, int]) -> tuple[Floats, Floats]:
        a, b = normal(rng, sides)
        powers = rng.integers(-exponent, exponent + 1, sides[2], np.int32)
        return np.ldexp(a, powers), np.ldexp(b, -powers[:, None])

    return factors


def cases(divide: int) -> Iterator[Case]:
    """Return all cases, with sides and depths divided by a power of two to try them out."""

    def cube(side: int) -> tuple[int, int, int]:
        return (max(1, side // divide),) * 3

    yield Case("normal", cube(8192), normal)
    yield Case("in [0, 1)", cube(8192), positive)
    yield Case("exponents 2^+-32", cube(4096), spread(32))
    for exponent in (8, 12, 16):
        yield Case(f"A D, D^-1 B, D 2^+-{exponent}", cube(4096), balanced(exponent))
    for depth in DEPTHS:
        yield Case(f"depth {depth}", (*cube(1024)[:2], max(1, depth // divide)), normal)


def measure(case: Case, seed: int, rows: int, backend: str) -> dict[str, Any]:
    """Return the errors by variant, and what fp16x3 launched instead, if anything."""
    rng = np.random.default_rng(seed)
    a, b = case.factors(rng, case.sides)
    chosen = np.sort(rng.choice(len(a), min(rows, len(a)), replace=False))
    exact = a[chosen].astype("f8") @ b.astype("f8")
    scale = np.abs(a[chosen].astype("f8")) @ np.abs(b.astype("f8"))
    there = [gm.to_device(x, backend=backend) for x in (a, b)]
    errors: dict[str, float] = {}
    results: dict[str, Floats] = {}
    for name in (JUDGED, *OTHERS):
        try:
            results[name] = gm.sgemm(*there, variant=name).to_host()
        except gm.UnavailableError:
            continue
        error = np.abs(results[name][chosen] - exact)
        errors[name] = float((error / np.where(scale > 0, scale, 1)).max() * 2**24)
    instead = None
    if JUDGED in results:
        bits = results[JUDGED].tobytes()
        same = (name for name in OTHERS[:2] if name in results and results[name].tobytes() == bits)
        instead = next(same, "no")
    return {
        "case": case.name,
        "sides": case.sides,
        "errors": errors,
        "falls back": instead,
        "over cublas": errors[JUDGED] / errors["cublas"]
        if {JUDGED, "cublas"} <= {*errors}
        else None,
    }


def line(row: dict[str, Any]) -> str:
    sides = "x".join(map(str, row["sides"]))
    errors = " ".join(
        f"{row['errors'].get(name, math.nan):13.2f}".replace("nan", "  –")
        for name in (JUDGED, *OTHERS)
    )
    over = "–" if row["over cublas"] is None else f"{row['over cublas']:.2f}"
    return f"{row['case']:24} {sides:16} {errors} {over:>12}  {row['falls back'] or '–'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--divide", type=int, default=1, help="divide all sides, to try it out")
    parser.add_argument("--rows", type=int, default=64, help="that are compared with float64")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    heads = " ".join(f"{name:>13}" for name in (JUDGED, *OTHERS))
    print(f"{'factors':24} {'m x n x k':16} {heads} {'over cublas':>12}  falls back")
    rows = []
    for case in cases(given.divide):
        if given.only in case.name:
            rows.append(measure(case, given.seed, given.rows, given.backend))
            print(line(rows[-1]), flush=True)
    if given.json:
        record = {"gpumem": gm.info(), "seed": given.seed, "rows": rows}
        files.write(given.json, json.dumps(record, indent=1, default=str))


if __name__ == "__main__":
    main()
