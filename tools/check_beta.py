"""Check every sgemm for BLAS' rule that with a beta of 0 neither C nor `out` is read.

    python tools/check_beta.py [VARIANT ...]

Tries every shape, transposition, sign of beta, kind of number in C and place of the result, on the
GPU if there is one; prints the calls that are wrong, and exits with 1 if there are any.
"""

from __future__ import annotations

import itertools
import sys

import numpy as np

import gpumem as gm

SIDES = (1, 3, 16, 33, 128, 300)
DEEP = ((64, 64, 8192), (5, 7, 20000), (128, 256, 4096), (1, 512, 3000), (512, 1, 3000))
TURNS = tuple(itertools.product((False, True), repeat=2))


def shapes():
    yield from itertools.product(SIDES, SIDES, (0, *SIDES))
    yield from DEEP


def wrong_calls(shape, names, random):
    """Yield the variants and settings with wrong results; small integers have exact sums."""
    m, n, k = shape
    for left, right in TURNS:
        a = random.integers(-4, 5, (k, m) if left else (m, k)).astype("f4")
        b = random.integers(-4, 5, (n, k) if right else (k, n)).astype("f4")
        product = (a.T if left else a) @ (b.T if right else b)
        there = gm.to_device(a), gm.to_device(b)
        told = {"trans_a": left, "trans_b": right}
        for name, alpha, beta, held, in_place in itertools.product(
            names, (1.0, 0.0), (0.0, -0.0), (np.nan, np.inf), (True, False)
        ):
            c = gm.to_device(np.full((m, n), held, "f4"))
            out = c if in_place else gm.to_device(np.full((m, n), held, "f4"))
            got = gm.sgemm(*there, c, alpha=alpha, beta=beta, variant=name, out=out, **told)
            differs = ~(got.to_host() == alpha * product)
            if differs.any():
                settings = {"alpha": alpha, "beta": beta, "held": held, "in_place": in_place}
                yield name, told | settings, int(differs.sum())


def main(names: list[str]) -> int:
    backend = gm.backend()
    here = [v.name for v in gm.variants("sgemm") if v.reason_on(backend) is None]
    random = np.random.default_rng(1)
    wrong = 0
    for shape in shapes():
        for name, settings, count in wrong_calls(shape, names or here, random):
            wrong += 1
            print(f"{name} {shape} {settings}: {count} elements are wrong", flush=True)
    print(f"{backend}: {', '.join(names or here)}: {wrong} calls are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
