"""matmul at the edges of matrices: what warps leave out there, and that nothing is missing."""

import numpy as np
import pytest
from support import exact, exhaustive, here, integers

import gpumem as gm
from gpumem import _core

TILES = [
    v for v in gm.variants("matmul", instances=True) if v.name.startswith(("tiles:", "warp_tiles:"))
]
ENDS = [1, 4, 15, 16, 17, 31, 32, 33, 48, 49, 63, 64, 65, 80, 81, 96, 97, 112, 113, 129]


def factors(rng, m, n, k, turned, backend="sim", count=2):
    """Return two stacks of matrices, and the same on a device: as they are, or transposed views."""
    a, b = integers(rng, count, m, k), integers(rng, count, k, n)
    return (a, b), (exact(a, turned[0], backend), exact(b, turned[1], backend))


@pytest.mark.parametrize("variant", TILES, ids=str)
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("n", [7, 32, 96, *exhaustive(33, 64, 65, 97, 128)])
@pytest.mark.parametrize("depth", [20, 21])
def test_every_number_of_lines(variant, turned, n, depth, backend, rng):
    here(variant, backend)
    for m in ENDS:
        for rows, columns in ((m, n), (n, m)):
            (a, b), pair = factors(rng, rows, columns, depth, turned, backend)
            assert np.array_equal(variant(*pair).to_host(), a @ b), (rows, columns)


def reads(variant, m, n, turned):
    """Return the requests to shared memory for numbers of a and b."""
    _, pair = factors(np.random.default_rng(1), m, n, 256, turned, count=1)
    return sum(
        s["requests"]
        for s in gm.traffic("matmul", *pair, variant=variant.name).sites
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


# ---- a kernel for each layout --------------------------------------------------------------------


def launched(variant, a, b):
    counted = _core.traffic("matmul", variant, (a, b), (0,))  # which finds races, too
    return [one["name"] for one in counted["kernels"]]


@pytest.mark.parametrize(
    ("turned", "of_vectors", "of_one", "one_by_one"),
    [
        ((False, False), "", "_nnv1", "_nn1"),
        ((False, True), "_nt", "_nt", "_nt1"),  # b is copied one by one anyway
        ((True, False), "_tn", "_tnv1", "_tn1"),
        ((True, True), "", "_nnv1", "_nn1"),  # a and b change places
    ],
)
@pytest.mark.parametrize("size", ["32x32", "32x64", "64x64", "p64x64", "q64x64", "128x128"])
def test_warp_tiles_has_a_kernel_for_each_layout(size, turned, of_vectors, of_one, one_by_one, rng):
    lines = (71, 72) if turned == (True, True) else (72, 71)  # they change places
    for m, n, depth, part in (
        (72, 72, 72, of_vectors),
        (*lines, 72, of_one),
        (71, 71, 71, one_by_one),
    ):
        (a, b), pair = factors(rng, m, n, depth, turned)
        name = f"warp_tiles:{size}"
        assert launched(name, *pair) == [f"matmul_warp_tiles_{size}{part}"]
        assert np.array_equal(gm.matmul(*pair, variant=name).to_host(), a @ b)


@pytest.mark.parametrize(("turned", "part"), [(False, ""), (True, "_lines")])
def test_other_kernels_for_the_layout_of_the_matrix(turned, part, rng):
    for variant, sides in (("narrow_8", 8), ("thin_one", 1)):
        _, pair = factors(rng, 300, sides, 64, (turned, False))
        assert launched(variant.replace("_", ":"), *pair) == [f"matmul_{variant}{part}"]


@pytest.mark.parametrize("sides", ["one", "two", "four"])
def test_thin_loads_vectors_wherever_lines_begin(sides, rng):
    for lines, depth, part in ((300, 63, "_spread"), (300, 64, ""), (15, 63, "")):
        _, pair = factors(rng, lines, 1, depth, (False, False))
        assert launched(f"thin:{sides}", *pair) == [f"matmul_thin_{sides}{part}"]
    a, b = np.ones((160, 1001), "f4"), np.ones((1001, 1), "f4")
    counted = gm.traffic("matmul", a, b, variant="thin").sites
    wide = sum(s["bytes"] for s in counted if s["kind"] == "load" and s["width"] == 128)
    assert wide > 0.98 * a.nbytes


@pytest.mark.parametrize(
    ("turned", "part"),
    [((False, False), ""), ((False, True), "_nt"), ((True, False), "_tn"), ((True, True), "_tt")],
)
def test_tma_has_a_kernel_for_each_layout(turned, part, rng):
    _, pair = factors(rng, 300, 8, 64, turned)
    assert launched("tma", *pair) == [f"matmul_tma{part}"]
