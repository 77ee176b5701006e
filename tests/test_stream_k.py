"""sgemm's stream_k: equal parts of all stages, which need not be whole tiles."""

from __future__ import annotations

import numpy as np
import pytest
from sgemm_cases import TRANSPOSITIONS, check, factors

import gpumem as gm

TILE, STAGE = 128, 32  # rows and columns of a tile; steps of the sum in a stage
SUMS = TILE * TILE * 4  # bytes that a block leaves


def sums_moved(counted):
    """Return the bytes of sums that blocks stored for others, and loaded from others."""
    sites = [
        s
        for s in counted.sites
        if s["file"].endswith("stream_k.cu") and s["space"] == "global" and s["width"] == 128
    ]
    return tuple(sum(s["bytes"] for s in sites if s["kind"] == kind) for kind in ("store", "load"))


def places():
    """Return how many blocks run at once: two on each multiprocessor."""
    return 2 * gm.info()["backends"]["sim"]["devices"][0]["multiprocessors"]


@pytest.mark.parametrize(("trans_a", "trans_b"), TRANSPOSITIONS)
@pytest.mark.parametrize(
    "shape",
    [
        (300, 200, 500),  # blocks that have a piece from the middle of a tile
        (128, 128, 2048),  # one tile
        (1000, 700, 100),  # more blocks than tiles, by little
        (1300, 1100, 70),  # more tiles than places, all of them shared
        (129, 1, 333),
        (2100, 1900, 33),  # and some that are not shared
    ],
    ids=str,
)
def test_exactly(shape, trans_a, trans_b, backend, rng):
    m, n, k = shape
    a, b = factors(rng, m, n, k, trans_a, trans_b)
    c = rng.integers(-8, 9, (m, n)).astype("f4")
    out = np.full((m, n), np.nan, "f4")
    given = {"alpha": 2.0, "beta": -1.0, "trans_a": trans_a, "trans_b": trans_b}
    gm.sgemm(a, b, c, variant="stream_k", out=out, backend=backend, **given)
    check(out, a, b, c, **given)


@pytest.mark.parametrize(
    ("rows", "columns", "stages"),
    [(1, 1, 64), (2, 3, 16), (5, 6, 3), (4, 8, 4), (5, 7, 2), (6, 6, 5), (8, 8, 2), (9, 11, 1)],
)
def test_all_parts_are_equal(rows, columns, stages, rng):
    """As many blocks leave sums as parts end within a tile, and each sum is added once."""
    a, b = factors(rng, rows * TILE, columns * TILE, stages * STAGE)
    counted = gm.traffic("sgemm", a, b, variant="stream_k")
    check(counted.result, a, b)
    tiles, blocks = rows * columns, counted.grid[0]
    if tiles % places() == 0:
        shared = 0
    elif tiles > places():
        shared = tiles - (tiles // places() - 1) * places()
    else:
        shared = 0 if blocks == tiles else tiles
    work = shared * stages
    begins = [i * (work // blocks) + min(i, work % blocks) for i in range(blocks)]
    leave = sum(begin % stages > 0 for begin in begins)
    assert sums_moved(counted) == (leave * SUMS, leave * SUMS)
    names = [kernel["name"] for kernel in counted.kernels]
    assert names == ["sgemm_zeros"] * (shared > 0) + ["sgemm_stream_k"]
    zeroed = sum(s["bytes"] for s in counted.sites if s["file"].endswith("/zeros.cu"))
    assert zeroed == (8 * blocks if shared else 0)  # a flag of each block
    assert blocks <= places()
    if tiles > places():
        assert blocks == places()


@pytest.mark.parametrize("shape", [(300, 200, 500), (1300, 1100, 70)], ids=str)
def test_the_same_bits_each_time(shape, backend, rng):
    m, n, k = shape
    a, b = factors(rng, m, n, k, draw=lambda s: rng.standard_normal(s, dtype="f4"))
    first = gm.sgemm(a, b, variant="stream_k", backend=backend)
    for _ in range(5):
        assert np.array_equal(gm.sgemm(a, b, variant="stream_k", backend=backend), first)


def test_what_is_whole_needs_no_other_memory(rng):
    """A tile for each place, or for each block: nothing is left for others."""
    for rows, columns, stages in ((4, 8, 3), (8, 8, 2), (1, 1, 2)):
        a, b = factors(rng, rows * TILE, columns * TILE, stages * STAGE)
        counted = gm.traffic("sgemm", a, b, variant="stream_k")
        assert [k["name"] for k in counted.kernels] == ["sgemm_stream_k"]
        assert sums_moved(counted) == (0, 0)
