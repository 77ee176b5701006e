"""matmul at the edges of matrices: what warps leave out there, and that nothing is missing."""

import numpy as np
import pytest
from support import exhaustive, here, integers

import gpumem as gm

TILES = [
    v for v in gm.variants("matmul", instances=True) if v.name.startswith(("tiles:", "warp_tiles:"))
]
ENDS = [1, 4, 15, 16, 17, 31, 32, 33, 48, 49, 63, 64, 65, 80, 81, 96, 97, 112, 113, 129]


def factors(rng, m, n, k, turned, count=2):
    a = integers(rng, count, k, m).swapaxes(1, 2) if turned[0] else integers(rng, count, m, k)
    b = integers(rng, count, n, k).swapaxes(1, 2) if turned[1] else integers(rng, count, k, n)
    return a, b


@pytest.mark.parametrize("variant", TILES, ids=str)
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("n", [7, 32, 96, *exhaustive(33, 64, 65, 97, 128)])
def test_every_number_of_lines(variant, turned, n, backend, rng):
    here(variant, backend)
    for m in ENDS:
        for rows, columns in ((m, n), (n, m)):
            a, b = factors(rng, rows, columns, 21, turned)
            assert np.array_equal(variant(a, b, backend=backend), a @ b), (rows, columns)


def reads(variant, m, n, turned):
    """Return the requests to shared memory for numbers of a and b."""
    a, b = factors(np.random.default_rng(1), m, n, 256, turned, count=1)
    return sum(
        s["requests"]
        for s in gm.traffic("matmul", a, b, variant=variant.name).sites
        if (s["space"], s["kind"]) == ("shared", "load") and "banks" not in s["file"]
    )


@pytest.mark.parametrize("variant", TILES, ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_warps_leave_out_what_is_beyond_the_edge(variant, turned):
    """Of a tile with so few rows that half of the last warp's suffice, no more are read."""
    height = 128 if "128" in variant.name else 64
    width = 32 if variant.name == "tiles:p64x32" else height  # else it would be turned
    whole = reads(variant, height, width, (turned, False))
    rows = (1, 16, 17, 32)
    more = [reads(variant, height + count, width, (turned, False)) - whole for count in rows]
    assert more[0] == more[1] < more[2] == more[3]


@pytest.mark.parametrize("variant", [v for v in TILES if "warp" in v.name], ids=str)
def test_half_of_the_columns(variant):
    side = 128 if "128" in variant.name else 64
    whole = reads(variant, side, side, (False, False))
    columns = (4, side // 2, side // 2 + 4, side)  # rows of whole vectors
    more = [reads(variant, side, side + count, (False, False)) - whole for count in columns]
    assert more[0] == more[1] < more[2] == more[3]
