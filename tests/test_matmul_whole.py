"""matmul by whole matrices: any start and sides, products that stay apart, and what is refused."""

import numpy as np
import pytest
from support import exact, here, integers, there

import gpumem as gm
from gpumem import _core

INSTANCES = [v for v in gm.variants("matmul", instances=True) if "whole:" in v.name]
SIDES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 40, 41, 47, 48, 49, 63, 64, 65, 80]
SIDES += [81, 95, 96, 97, 143, 144, 145, 200, 300]
DEPTHS = [0, 1, 2, 3, 4, 5, 6, 7, 16, 31, 32, 33, 50]


def sides_of(variant):
    """Rows and columns of the results, or of their parts."""
    rows, _, columns = variant.name.partition(":")[2].partition("x")
    return int(rows), int(columns or rows)


def takes(variant, m, n, turned_a, turned_b):
    rows, columns = sides_of(variant)
    return (m <= rows or not turned_a) and (n <= columns or turned_b)


@pytest.fixture
def whole(backend):
    variant = next(v for v in gm.variants("matmul") if v.name == "whole")
    here(variant, backend)
    return variant


@pytest.mark.parametrize("of_a", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("of_b", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("variant", INSTANCES, ids=str)
def test_any_start_and_sides(variant, of_a, of_b, backend, rng):
    """Also of the result, around which nothing is written; lines beyond a side are NaN."""
    here(variant, backend)
    rows, columns = sides_of(variant)
    heights = [s for s in SIDES if s <= rows or not of_a]  # rows of a are contiguous: in parts
    widths = [s for s in SIDES if s <= columns or of_b]
    for _ in range(25):
        m, n = int(rng.choice(heights)), int(rng.choice(widths))
        k, stack = int(rng.choice(DEPTHS)), int(rng.integers(1, 6))
        a, b = integers(rng, stack, m, k), integers(rng, stack, k, n)
        starts = rng.integers(0, 4, 3)
        guard = gm.to_device(np.full(stack * m * n + 8, np.nan, "f4"), backend=backend)
        out = guard[starts[0] : starts[0] + stack * m * n].reshape((stack, m, n))
        variant(there(a, backend, of_a, starts[1]), there(b, backend, of_b, starts[2]), out=out)
        assert np.array_equal(out.to_host(), a @ b), (m, n, k)
        rest = np.delete(guard.to_host(), np.arange(starts[0], starts[0] + stack * m * n))
        assert np.isnan(rest).all()


@pytest.mark.parametrize("stacks", [((4,), ()), ((), (4,)), ((3, 1), (1, 2)), ((2, 1, 3), (4, 1))])
def test_repeated_matrices(stacks, whole, backend, rng):
    a, b = integers(rng, *stacks[0], 19, 13), integers(rng, *stacks[1], 13, 22)
    assert np.array_equal(whole(there(a, backend), there(b, backend)).to_host(), a @ b)


def test_products_stay_apart(whole, backend, rng):
    """Numbers of the next product are read for lines that do not exist; none counts."""
    a, b = integers(rng, 5, 21, 17), integers(rng, 5, 17, 11)
    a[2], b[3], kept = np.nan, np.inf, [0, 1, 4]
    for turned in (False, True):
        got = whole(there(a, backend, turned), there(b, backend, turned)).to_host()
        assert np.isnan(got[2]).all()
        assert not np.isfinite(got[3]).any()
        assert np.array_equal(got[kept], a[kept] @ b[kept])


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
def test_no_stray_access_and_no_race(turned, rng):
    """Each array ends where its allocation ends, so the simulator sees any overrun."""
    shapes = [(1, 1, 1), (33, 31, 17), (48, 47, 33), (5, 3, 50), (16, 16, 16), (2, 41, 0)]
    for m, n, k in [*shapes, (79, 70, 9), (21, 96, 62), (300, 31, 5), (17, 200, 7)]:
        a, b = integers(rng, 3, m, k), integers(rng, 3, k, n)
        pair = exact(a, turned[0]), exact(b, turned[1])
        for variant in [v for v in INSTANCES if takes(v, m, n, *turned)]:
            counted = _core.traffic("matmul", variant.name, pair, (0,))
            assert np.array_equal(counted["result"].to_host(), a @ b)


def test_matrices_are_loaded_by_the_engine(rng):
    """But for up to three numbers at either end."""
    a, b = integers(rng, 6, 33, 31), integers(rng, 6, 31, 35)
    sites = gm.traffic("matmul", a, b, variant="whole:48").sites
    loads = [s for s in sites if (s["space"], s["kind"]) == ("global", "load")]
    by_threads = sum(s["bytes"] for s in loads if s["by"] == "thread")
    assert sum(s["bytes"] for s in loads) == a.nbytes + b.nbytes
    assert by_threads <= 2 * 6 * (3 + 3) * 4


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (np.s_[:, :, :], np.s_[:, :, :], "bytes of shared memory for two matrices, these need"),
        (np.s_[:, :8, :16], np.s_[:, :16, :8], "without gaps"),
        (np.s_[:, :8, ::-1], np.s_[:, ::-1, :8], "without gaps"),
    ],
)
def test_refused(a, b, words, whole, backend, rng):
    """What "auto" computes all the same."""
    x = integers(rng, 2, 50, 3000)
    left, right = x[a], x.swapaxes(1, 2)[b]
    if "gaps" not in words:
        left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    device = gm.to_device(x, backend=backend)
    views = (device[a], device.transpose((0, 2, 1))[b])
    given = views if "gaps" in words else tuple(there(y, backend) for y in (left, right))
    with pytest.raises(ValueError, match=words):
        whole(*given)
    assert np.array_equal(gm.matmul(*given).to_host(), left @ right)


@pytest.mark.parametrize(("m", "n"), [(97, 8), (8, 97), (81, 81)])
def test_refused_sides(m, n, whole, backend, rng):
    """Rows and columns that are not contiguous."""
    a, b = integers(rng, 2, m, 5), integers(rng, 2, 5, n)
    given = there(a, backend, True), there(b, backend)
    words = f"up to 80 x 80 elements, or more where .*; these have {m} x {n}"
    with pytest.raises(ValueError, match=words):
        whole(*given)
    assert np.array_equal(gm.matmul(*given).to_host(), a @ b)


@pytest.mark.parametrize("variant", INSTANCES, ids=str)
def test_an_instance_has_its_own_limits(variant, backend, rng):
    here(variant, backend)
    rows, columns = sides_of(variant)
    words = f"{variant.name} takes results of up to {rows} x {columns}"
    a, b = integers(rng, 2, rows + 1, 5), integers(rng, 2, 5, columns + 1)
    turned = there(a, backend, True), there(b, backend, True)
    left, right = there(a, backend), there(b, backend)
    for pair in ((turned[0], turned[1]), (left, right)):  # too many rows, too many columns
        with pytest.raises(ValueError, match=words):
            variant(*pair)
    assert np.array_equal(variant(left, turned[1]).to_host(), a @ b)


def test_auto_takes_it_for_many_small_matrices():
    x = np.ones((3000, 13, 13), "f4")
    assert _core.traffic("matmul", "auto", (x, x), (0,))["variant"] == "whole:16"
