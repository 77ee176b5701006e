"""matmul by the tensor copy engine: which stacks it takes, and that products stay apart."""

import numpy as np
import pytest
from support import exact, exhaustive, here, integers

import gpumem as gm
from gpumem import _core

EDGES = [1, 2, 3, 4, 5, 31, 32, 33, 127, 128, 129, 130, 255, 256, 257, 260]


@pytest.fixture
def tma(backend):
    variant = next(v for v in gm.variants("matmul") if v.name == "tma")
    here(variant, backend)
    return variant


def view(x, layout, backend, beyond=np.nan):
    """Return a device array equal to x, a stack, as a view of one with other numbers around it."""
    count, rows, columns = x.shape
    wide = -(-columns // 4) * 4 + 4
    if layout == "rows apart":
        memory = np.full((count, rows, wide), beyond, "f4")
        memory[..., :columns] = x
        return gm.to_device(memory, backend=backend)[..., :columns]
    if layout == "matrices apart":
        memory = np.full((2 * count, rows + 1, wide), beyond, "f4")
        memory[::2, 1:, :columns] = x
        return gm.to_device(memory, backend=backend)[::2, 1:, :columns]
    if layout == "rows in turn":
        memory = np.full((rows, count, wide), beyond, "f4")
        memory[..., :columns] = x.swapaxes(0, 1)
        return gm.to_device(memory, backend=backend).transpose((1, 0, 2))[..., :columns]
    high = -(-rows // 4) * 4 + 4
    memory = np.full((count, columns, high), beyond, "f4")  # columns
    memory[..., :rows] = x.swapaxes(1, 2)
    return gm.to_device(memory, backend=backend)[..., :rows].transpose((0, 2, 1))


LAYOUTS = ["rows apart", "matrices apart", "rows in turn"]


@pytest.mark.parametrize("of_b", LAYOUTS)
@pytest.mark.parametrize("of_a", [*LAYOUTS, "columns"])
@pytest.mark.parametrize(
    "sides", [(5, 3, 2, 4), (3, 130, 131, 33), (2, 129, 5, 40), *exhaustive((3, 60, 257, 100))]
)
def test_views(sides, of_a, of_b, tma, backend, rng):
    """What is around a matrix is not read, or does not matter: it is NaN."""
    count, m, n, k = sides
    a, b = integers(rng, count, m, k), integers(rng, count, k, n)
    got = tma(view(a, of_a, backend), view(b, of_b, backend)).to_host()
    assert np.array_equal(got, a @ b)


@pytest.mark.parametrize("of_a", [*LAYOUTS, "columns"])
@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("sides", [(5, 3, 4, 4), (3, 130, 132, 33), (2, 129, 8, 40)])
def test_contiguous_columns_of_b(sides, repeated, of_a, tma, backend, rng):
    """They are transposed on chip; what is around a matrix is NaN."""
    count, m, n, k = sides
    a, b = integers(rng, count, m, k), integers(rng, 1 if repeated else count, k, n)
    there = view(a, of_a, backend), view(b, "columns", backend)
    assert np.array_equal(tma(*there).to_host(), a @ b)
    if backend == "sim":  # neither a race nor a stray access
        counted = _core.traffic("matmul", "tma", there, (0,))
        assert np.array_equal(counted["result"].to_host(), a @ b)


@pytest.mark.parametrize("m", EDGES)
@pytest.mark.parametrize(
    "n", [3, 128, 129, *exhaustive(*(n for n in EDGES if n not in (3, 128, 129)))]
)
@pytest.mark.parametrize("of_a", ["rows apart", "columns"])
def test_edges(m, n, of_a, tma, backend, rng):
    a, b = integers(rng, 2, m, 36), integers(rng, 2, 36, n)
    there = view(a, of_a, backend), view(b, "rows apart", backend)
    if n == 1 or (m == 1 and of_a == "columns"):  # nothing is contiguous
        with pytest.raises(ValueError, match='variant="auto" takes any layout'):
            tma(*there)
        return
    assert np.array_equal(tma(*there).to_host(), a @ b)


@pytest.mark.parametrize("repeated", [0, 1])
@pytest.mark.parametrize("of_a", ["rows apart", "columns"])
def test_a_repeated_factor(repeated, of_a, tma, backend, rng):
    a, b = integers(rng, 3, 140, 33), integers(rng, 3, 33, 150)
    there = [view(a, of_a, backend), view(b, "rows apart", backend)]
    here = [a, b]
    there[repeated], here[repeated] = there[repeated][:1], here[repeated][:1]
    assert np.array_equal(tma(*there).to_host(), here[0] @ here[1])
    there[repeated], here[repeated] = there[repeated][0], here[repeated][0]
    assert np.array_equal(tma(*there).to_host(), here[0] @ here[1])


@pytest.mark.parametrize("k", [2, 31, 33, 40, 64, 100])
@pytest.mark.parametrize("of_a", ["rows", "columns"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_products_stay_apart(k, of_a, bad, tma, backend, rng):
    """Boxes that reach beyond a matrix, along the depth or the lines, have zeros there."""
    a, b = integers(rng, 3, 132, 4 * k)[..., :k], integers(rng, 3, k, 132)
    if of_a == "columns":
        a = np.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2)
    a[1], b[1] = bad, bad
    pair = [gm.to_device(x.base if x.base is not None else x, backend=backend) for x in (a, b)]
    pair[0] = pair[0].transpose((0, 2, 1)) if of_a == "columns" else pair[0][..., :k]
    got = tma(*pair).to_host()
    assert np.array_equal(got[::2], a[::2] @ b[::2])
    assert not np.isfinite(got[1]).any()


@pytest.mark.parametrize("shape", [(0, 3, 4, 8), (2, 0, 4, 8), (2, 3, 0, 8), (2, 3, 4, 0)])
def test_no_elements(shape, tma, backend):
    count, m, n, k = shape
    got = tma(np.ones((count, m, k), "f4"), np.ones((count, k, n), "f4"), backend=backend)
    assert got.shape == (count, m, n) and not got.any()


def test_no_race(rng):
    for m, n, k in [(1, 4, 4), (130, 132, 100), (128, 256, 160)]:
        a, b = integers(rng, 3, m, k), integers(rng, k, n)
        counted = _core.traffic("matmul", "tma", (a, b), (0,))
        assert np.array_equal(counted["result"], a @ b)
        a, b = integers(rng, 2, m // 4 * 4 or 4, k), integers(rng, 2, k, n)
        pair = exact(a, turned=True), exact(b)
        counted = _core.traffic("matmul", "tma", pair, (0,))
        assert np.array_equal(counted["result"].to_host(), a @ b)


@pytest.mark.parametrize(
    ("of_a", "of_b", "words"),
    [
        (
            lambda x: x[:, :7].transpose((0, 2, 1)),
            lambda x: x[..., 1:].transpose((0, 2, 1)),
            "multiples of 16 bytes",
        ),
        (lambda x: x[:2].reshape((2, 1, 8, 8)), lambda x: x, "has 2 that cannot be merged"),
        (lambda x: x, lambda x: x[..., 1:], "multiples of 16 bytes"),
        (lambda x: x[:, ::-1], lambda x: x, "multiples of 16 bytes"),
        (lambda x: x, lambda x: x[:, ::-1], "multiples of 16 bytes"),
        (lambda x: x[::-1], lambda x: x, "multiples of 16 bytes"),
        (lambda x: x, lambda x: x[::-1], "multiples of 16 bytes"),
        (lambda x: x[..., ::2], lambda x: x[:, :4], "multiples of 16 bytes"),
    ],
)
def test_refused(of_a, of_b, words, tma, backend, rng):
    """What "auto" computes all the same."""
    x = integers(rng, 3, 8, 8)
    there = gm.to_device(x, backend=backend)
    with pytest.raises(ValueError, match=words):
        tma(of_a(there), of_b(there))
    assert np.array_equal(gm.matmul(of_a(there), of_b(there)).to_host(), of_a(x) @ of_b(x))


# ---- the choice ----------------------------------------------------------------------------------


def zeros(backend, *shape):
    return gm.to_device(np.zeros(shape, "f4"), backend=backend)


def chosen(a, b, backend):
    out = zeros(backend, *a.shape[:-1], b.shape[-1])
    return _core.prepare("matmul", "auto", (a, b), out, None, (0,)).variant


def test_auto_takes_it_for_large_matrices(tma, backend):
    large, small = zeros(backend, 64, 512, 512), zeros(backend, 64, 48, 48)
    turned = large.transpose((0, 2, 1))
    for a, b in [(large, large), (turned, large), (large, turned), (turned, turned)]:
        assert chosen(a, b, backend) == "tma"
    assert chosen(large, large[0], backend) == "tma"
    odd = zeros(backend, 64, 512, 511)  # rows that do not begin at multiples of 16 bytes
    assert chosen(large, odd, backend) != "tma"
    assert "tiles:" in chosen(small, small, backend)


def test_auto_takes_four_and_three_tiles_rather_than_six_and_one():
    """Where a multiprocessor gets seven; the simulator has 16 of them."""
    many, seven = zeros("sim", 96, 64, 64), zeros("sim", 112, 64, 64)
    assert chosen(seven, seven, "sim") == "warp_tiles:q64x64"
    assert chosen(many, many, "sim") == "warp_tiles:p64x64"
