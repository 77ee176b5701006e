"""matmul by narrow: a matrix and a few vectors, in any layout, and what is refused."""

import numpy as np
import pytest
from support import exact, here, integers, there

import gpumem as gm
from gpumem import _core

INSTANCES = {
    int(v.name[7:]): v for v in gm.variants("matmul", instances=True) if "narrow:" in v.name
}
LINES = [1, 2, 31, 32, 33, 63, 127, 128, 129, 200, 256, 257]
DEPTHS = [0, 1, 2, 3, 4, 5, 8, 31, 32, 33, 63, 64, 65, 96, 97, 128, 129, 300, 1000]


@pytest.fixture
def narrow(backend):
    variant = next(v for v in gm.variants("matmul") if v.name == "narrow")
    here(variant, backend)
    return variant


def factors(rng, stack, lines, few, depth, first):
    """Return the factors of products of `few` vectors and a matrix, which comes first or second."""
    m, n = (lines, few) if first else (few, lines)
    return integers(rng, stack, m, depth), integers(rng, stack, depth, n)


@pytest.mark.parametrize("first", [True, False], ids=["matrix-vectors", "vectors-matrix"])
@pytest.mark.parametrize("of_a", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("of_b", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("most", INSTANCES)
def test_any_start_and_sides(most, of_a, of_b, first, backend, rng):
    """Also of the result, around which nothing is written."""
    variant = INSTANCES[most]
    here(variant, backend)
    for _ in range(20):
        few, stack = int(rng.integers(1, most + 1)), int(rng.integers(1, 4))
        a, b = factors(rng, stack, int(rng.choice(LINES)), few, int(rng.choice(DEPTHS)), first)
        starts = rng.integers(0, 4, 3) * rng.integers(0, 2, 3)  # many of them aligned
        size = stack * a.shape[1] * b.shape[2]
        guard = gm.to_device(np.full(size + 8, np.nan, "f4"), backend=backend)
        out = guard[starts[0] : starts[0] + size].reshape((stack, a.shape[1], b.shape[2]))
        variant(there(a, backend, of_a, starts[1]), there(b, backend, of_b, starts[2]), out=out)
        assert np.array_equal(out.to_host(), a @ b), (a.shape, b.shape)
        rest = np.delete(guard.to_host(), np.arange(starts[0], starts[0] + size))
        assert np.isnan(rest).all()


@pytest.mark.parametrize("stacks", [((4,), ()), ((), (4,)), ((3, 1), (1, 2)), ((2, 1, 3), (4, 1))])
def test_repeated_matrices(stacks, narrow, backend, rng):
    for m, n in [(190, 22), (22, 190)]:
        a, b = integers(rng, *stacks[0], m, 130), integers(rng, *stacks[1], 130, n)
        assert np.array_equal(narrow(there(a, backend), there(b, backend)).to_host(), a @ b)


def test_views_with_gaps(narrow, backend, rng):
    """Of which neither rows nor columns are contiguous, or begin at multiples of 16 bytes."""
    x = gm.to_device(integers(rng, 300, 330), backend=backend)
    host = x.to_host()
    for rows, columns in [
        (np.s_[::2], np.s_[::3]),
        (np.s_[::-1], np.s_[5:]),
        (np.s_[7:], np.s_[::-2]),
    ]:
        a, wanted = x[rows, columns], host[rows, columns]
        b = integers(rng, wanted.shape[1], 19)
        assert np.array_equal(narrow(a, there(b, backend)).to_host(), wanted @ b)
        c = integers(rng, wanted.shape[0], 19).T
        assert np.array_equal(narrow(there(c, backend), a).to_host(), c @ wanted)


def test_what_does_not_exist_does_not_count(narrow, backend, rng):
    """Numbers beside a view, which are NaN, are neither lines nor steps nor vectors of it."""
    around = np.full((200, 204), np.nan, "f4")
    a, b = integers(rng, 150, 101), integers(rng, 101, 21)
    around[:150, :101] = a
    beside = np.full((204, 60), np.nan, "f4")
    beside[:101, :21] = b
    left = gm.to_device(around, backend=backend)[:150, :101]
    right = gm.to_device(beside, backend=backend)[:101, :21]
    assert np.array_equal(narrow(left, right).to_host(), a @ b)
    assert np.array_equal(narrow(right.T, left.T).to_host(), (a @ b).T)


def test_blocks_share_a_deep_product(narrow, backend, rng):
    a, b = integers(rng, 130, 40_003), integers(rng, 40_003, 9)
    got = [narrow(there(a, backend), there(b, backend)).to_host() for _ in range(2)]
    assert np.array_equal(got[0], a @ b)
    assert np.array_equal(got[0], got[1])


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
def test_no_stray_access_and_no_race(turned, rng):
    """Each array ends where its allocation ends, so the simulator sees any overrun."""
    for m, n, k in [(1, 1, 1), (129, 31, 65), (17, 257, 34), (128, 32, 64), (300, 5, 131)]:
        a, b = integers(rng, 2, m, k), integers(rng, 2, k, n)
        pair = exact(a, turned[0]), exact(b, turned[1])
        counted = _core.traffic("matmul", "narrow", pair, (0,))
        assert np.array_equal(counted["result"].to_host(), a @ b)


@pytest.mark.parametrize("turned", [False, True])
def test_each_number_of_the_matrix_is_loaded_once(turned, rng):
    """As part of a vector, by all lanes of a warp at once, whose neighbours are neighbours."""
    a, b = integers(rng, 512, 256), integers(rng, 256, 32)
    a = np.asfortranarray(a) if turned else a
    sites = gm.traffic("matmul", a, b, variant="narrow").sites
    loads = [s for s in sites if (s["space"], s["kind"]) == ("global", "load")]
    of_matrix = [s for s in loads if s["file"].endswith("narrow.cu")]
    assert sum(s["bytes"] for s in of_matrix) == a.nbytes
    assert sum(s["sectors"] for s in of_matrix) * 32 == a.nbytes
    assert sum(s["requests"] for s in of_matrix) * 512 == a.nbytes


@pytest.mark.parametrize("most", INSTANCES)
def test_refused(most, backend, rng):
    """What "auto" computes all the same."""
    here(INSTANCES[most], backend)
    a, b = integers(rng, 100, 40), integers(rng, 40, most + 1)
    x, y = there(a, backend), there(b, backend)
    words = f"narrow:{most} takes up to {most} vectors, these are 100 x {most + 1}"
    with pytest.raises(ValueError, match=words):
        INSTANCES[most](x, y)
    assert np.array_equal(gm.matmul(x, y).to_host(), a @ b)


def test_it_takes_the_instance_for_so_many_vectors(rng):
    for few, most in [(1, 8), (8, 8), (9, 16), (16, 16), (17, 24), (24, 24), (25, 32), (32, 32)]:
        a, b = integers(rng, 40, 30), integers(rng, 30, few)
        assert _core.traffic("matmul", "narrow", (a, b), (0,))["variant"] == f"narrow:{most}"
