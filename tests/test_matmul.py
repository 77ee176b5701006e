"""matmul: NumPy's shapes, every kernel at its edges, the same bits each time."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import exact, exhaustive, here, integers

import gpumem as gm
from gpumem import _core

VARIANTS = gm.variants("matmul", instances=True)
KERNELS = [v for v in VARIANTS if v.source.endswith(".cu")]
SIDES = [1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 63, 65, 127, 129]
DEPTHS = [0, 1, 3, 8, 9, 31, 64, 65, 127, 128, 129, 300]
REFUSED = re.compile(  # by a single variant
    r'takes (results of )?up to|variant="auto" takes any layout|bytes of shared memory'
)
# How many vectors the variants for a matrix and vectors take.
VECTORS = {"thin": 4, "thin:one": 1, "thin:two": 2, "thin:four": 4, "narrow": 32}
VECTORS |= {f"narrow:{count}": count for count in (8, 16, 24, 32)}
SLOW = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)


def placed(x, layout, backend):
    """Return a device array equal to x, with its bytes laid out in one of several ways."""
    if layout == "rows":
        return gm.to_device(x, backend=backend)
    if layout == "columns":  # the axes of a stack run fastest, too
        return gm.to_device(np.ascontiguousarray(x.T), backend=backend).T
    if layout == "misaligned":
        raw = gm.to_device(np.concatenate([[0], x.ravel()]).astype("f4"), backend=backend)
        return raw[1:].reshape(x.shape)
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), "f4")  # every other element
    wide[..., ::2] = x
    return gm.to_device(wide, backend=backend)[..., ::2]


LAYOUTS = ["rows", "columns", "misaligned", "gaps"]
SHAPES = [
    ((), ()),
    ((3,), (3,)),
    ((3,), ()),
    ((), (2, 3)),
    ((2, 1), (3,)),
    ((2, 1, 2), (1, 3, 1)),
    ((0,), (0,)),
    ((1,), (0,)),
]


# ---- NumPy's shapes ------------------------------------------------------------------------------


@pytest.mark.parametrize("stacks", SHAPES, ids=str)
@pytest.mark.parametrize("sides", [(5, 7, 6), (1, 1, 1), (0, 3, 2), (3, 0, 2), (3, 2, 0)], ids=str)
def test_stacks_broadcast(stacks, sides, backend, rng):
    m, n, k = sides
    a, b = integers(rng, *stacks[0], m, k), integers(rng, *stacks[1], k, n)
    wanted = np.matmul(a, b)
    for got in (
        gm.matmul(a, b, backend=backend),
        gm.matmul(*(gm.to_device(x, backend=backend) for x in (a, b))).to_host(),
    ):
        assert got.shape == wanted.shape and got.dtype == np.float32
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("k", [0, 1, 5, 200, 3000])
def test_vectors(k, backend, rng):
    row, column = integers(rng, k), integers(rng, k)
    a, b = integers(rng, 2, 9, k), integers(rng, 3, k, 7)
    for x, y in [(row, column), (row, b), (a, column), (a[0], column), (row, b[0])]:
        wanted = np.matmul(x, y)
        got = gm.matmul(x, y, backend=backend)
        assert got.shape == np.shape(wanted) and np.array_equal(got, wanted)
        there = gm.matmul(*(gm.to_device(z, backend=backend) for z in (x, y)))
        assert there.shape == np.shape(wanted) and np.array_equal(there.to_host(), wanted)


def test_a_repeated_matrix_is_not_copied(backend, rng):
    """A view with strides of 0 is a stack; the factor that is repeated is loaded where it is."""
    a, b = integers(rng, 4, 20, 30), integers(rng, 30, 10)
    there = gm.to_device(a, backend=backend)
    repeated = gm.to_device(b, backend=backend)
    assert np.array_equal(gm.matmul(there, repeated).to_host(), a @ b)
    counted = _core.traffic("matmul", "tiles:64x64", (a, b), (0,))
    loaded = sum(
        s["bytes"] for s in counted["sites"] if s["kind"] == "load" and s["space"] == "global"
    )
    assert loaded == 4 * (a.size + 4 * b.size)
    assert np.array_equal(counted["result"], a @ b)


def test_many_axes_are_merged(backend, rng):
    a = integers(rng, *[2] * 10, 3, 4)
    b = integers(rng, *[2] * 10, 4, 2)
    assert np.array_equal(gm.matmul(a, b, backend=backend), a @ b)
    b = b[(slice(None), slice(0, 1)) * 5]
    assert np.array_equal(gm.matmul(a, b, backend=backend), a @ b)


def test_too_many_axes_to_merge(backend):
    a, b = np.ones((2, 1) * 13 + (1, 1), "f4"), np.ones((1, 2) * 13 + (1, 1), "f4")
    with pytest.raises(ValueError, match="more than 16 axes"):
        gm.matmul(a, b, backend=backend)


ONES = np.ones((4, 4), "f4")


@pytest.mark.parametrize(
    ("a", "b", "error", "words"),
    [
        (ONES, np.ones((3, 4), "f4"), ValueError, r"b has shape \(3, 4\), a has shape \(4, 4\)"),
        (ONES, np.ones(3, "f4"), ValueError, "b needs an element for each column of a"),
        (np.float32(1), ONES, ValueError, "a has no dimensions"),
        (ONES, np.float32(1), ValueError, "b has no dimensions"),
        (np.ones((2, 4, 4), "f4"), np.ones((3, 4, 4), "f4"), ValueError, "do not broadcast"),
        (np.empty((2**40, 0), "f4"), np.empty((0, 2**40), "f4"), ValueError, "too large"),
        (ONES.astype("f8"), ONES, TypeError, r"a has dtype dtype\('float64'\)"),
        (ONES, ONES.astype("i4"), TypeError, r"b has dtype dtype\('int32'\)"),
    ],
)
def test_errors_name_the_argument(a, b, error, words, backend):
    with pytest.raises(error, match=words):
        gm.matmul(a, b, backend=backend)


def test_out_and_streams(backend, rng):
    a, b = integers(rng, 3, 12, 34), integers(rng, 34, 56)
    out = np.empty((3, 12, 56), "f4")
    assert gm.matmul(a, b, out=out, backend=backend) is out
    assert np.array_equal(out, a @ b)
    stream = gm.Stream(backend=backend)
    result = gm.matmul(*(gm.to_device(x, backend=backend) for x in (a, b)), stream=stream)
    stream.synchronize()
    assert np.array_equal(result.to_host(), a @ b)
    with pytest.raises(ValueError, match="out"):
        gm.matmul(a, b, out=np.empty((12, 56), "f4"), backend=backend)
    raw = gm.to_device(np.zeros(12 * 56 * 4 + 8, "u1"), backend=backend)
    out = raw[1 : 1 + 12 * 56 * 4].view("f4").reshape(12, 56)
    there = [gm.to_device(x, backend=backend) for x in (a[0], b)]
    assert gm.matmul(*there, out=out) is out
    assert np.array_equal(out.to_host(), a[0] @ b)
    assert not raw.to_host()[[0, *range(-7, 0)]].any()


# ---- kernels -------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(data=st.data())
@pytest.mark.parametrize("variant", [None, *VARIANTS], ids=lambda v: str(v or "auto"))
def test_equals_numpy(variant, backend, data):
    if variant is not None:
        here(variant, backend)
    m, n = (data.draw(st.sampled_from(SIDES)) for _ in range(2))
    if variant is not None and variant.name in VECTORS:
        n = data.draw(st.integers(1, VECTORS[variant.name]))
        m, n = data.draw(st.permutations([m, n]))
    k = data.draw(st.sampled_from(DEPTHS))
    stack = data.draw(st.sampled_from([(), (3,), (2, 9)]))
    repeated = data.draw(st.sampled_from([None, 0, 1]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    a = integers(rng, *(() if repeated == 0 else stack), m, k)
    b = integers(rng, *(() if repeated == 1 else stack), k, n)
    layouts = [data.draw(st.sampled_from(LAYOUTS)) for _ in range(2)]
    there = [placed(x, layout, backend) for x, layout in zip((a, b), layouts, strict=True)]
    try:
        got = (variant or gm.matmul)(*there).to_host()
    except ValueError as error:
        assert variant is not None
        assert variant.name.split(":")[0] in ("sgemm", "tma", "warp_tiles", "whole")
        assert REFUSED.search(str(error))
        return
    assert np.array_equal(got, a @ b)


DEEP = [
    (20, 30, 12_000),
    (3, 3, 20_001),
    (1, 2, 9000),
    (100, 4, 3000),
    (5, 200, 5003),
    (330, 201, 700),  # a few blocks, that are a cluster where there are clusters
]


@pytest.mark.parametrize("shape", DEEP, ids=str)
@pytest.mark.parametrize("layout", ["rows", "columns", "misaligned"])
def test_blocks_share_the_depth(shape, layout, backend, rng):
    m, n, k = shape
    a, b = (x % 3 for x in (integers(rng, m, k), integers(rng, k, n)))
    there = [placed(x, layout, backend) for x in (a, b)]
    for variant in [gm.matmul, *KERNELS]:
        try:
            got = variant(*there).to_host()
        except ValueError as error:
            assert REFUSED.search(str(error))
            continue
        assert np.array_equal(got, a @ b)


# Lines, right-hand sides and depth; on a device with clusters those are what shares the depth.
SHARED = [(250, 1, 9000), (256, 2, 9001), (939, 1, 4896), (70, 4, 20_000), (2100, 3, 1500)]


@pytest.mark.parametrize(("lines", "sides", "k"), SHARED)
@pytest.mark.parametrize("layout", ["rows", "columns", "misaligned"])
def test_blocks_share_the_depth_of_few_lines(lines, sides, k, layout, backend, rng):
    a, b = (x % 3 for x in (integers(rng, lines, k), integers(rng, k, sides)))
    there = [placed(x, layout, backend) for x in (a, b)]
    turned = [placed(x, layout, backend) for x in (b.T, a.T)]
    for _ in range(3):
        assert np.array_equal(gm.matmul(*there, variant="thin").to_host(), a @ b)
        assert np.array_equal(gm.matmul(*turned, variant="thin").to_host(), (a @ b).T)


@pytest.mark.parametrize("depth", [2, 3, 5, 127, 130, 259, 403, 1029, *exhaustive(6, 129, 2051)])
@pytest.mark.parametrize("gap", [0, 1, 4])
@pytest.mark.parametrize("sides", [1, 2, 3])
def test_lines_that_begin_anywhere_in_vectors(sides, gap, depth, backend, rng):
    """Of one line or product after the other, with NaN before, between and after them."""
    for lines, offset in [(16, 0), (17, 1), (30, 2), (53, 3)]:
        numbers, column = integers(rng, 2, lines, depth), integers(rng, depth, sides)
        raw = np.full(offset + 2 * lines * (depth + gap) + 3, np.nan, "f4")
        rows = raw[offset:-3].reshape(2, lines, depth + gap)[..., :depth]
        rows[:] = numbers
        there = gm.to_device(raw, backend=backend)[offset:-3].reshape(2, lines, depth + gap)
        for x in (column, np.asfortranarray(column)):
            got = gm.matmul(there[..., :depth], gm.to_device(x, backend=backend), variant="thin")
            assert np.array_equal(got.to_host(), numbers @ column), (lines, offset)


@pytest.mark.parametrize(
    "shape", [(70, 50, 3000), (3, 100, 9000), (64, 64, 64), *exhaustive((3, 500, 9000))], ids=str
)
def test_the_same_bits_each_time(shape, backend, rng):
    """However many host threads, or multiprocessors that are free, there are."""
    m, n, k = shape
    a, b = (gm.to_device(rng.standard_normal(s, "f4"), backend=backend) for s in ((m, k), (k, n)))
    for variant in [gm.matmul, *KERNELS]:
        try:
            results = {variant(a, b).to_host().tobytes() for _ in range(3)}
        except ValueError as error:
            assert REFUSED.search(str(error))
            continue
        assert len(results) == 1


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_infinities_and_nan_stay_in_their_rows(variant, backend, rng):
    here(variant, backend)
    n = min(VECTORS.get(variant.name, 4), 4)
    m = {"whole": 48, "whole:16": 16, "whole:32": 32, "whole:48": 48}.get(variant.name, 70)
    a, b = rng.standard_normal((m, 40), "f4"), rng.standard_normal((40, n), "f4")
    a[3, 39], a[m - 6, 0], a[m - 1, 7] = np.nan, np.inf, -np.inf
    got = variant(a, b, backend=backend)
    wanted = a.astype("f8") @ b.astype("f8")
    assert np.array_equal(np.isnan(got), np.isnan(wanted))
    assert np.array_equal(np.isinf(got), np.isinf(wanted))
    rows = np.isfinite(wanted)
    assert np.allclose(got[rows], wanted[rows], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("variant", KERNELS, ids=str)
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
def test_no_stray_access_and_no_race(variant, turned, rng):
    """Each array ends where its allocation ends, so the simulator sees any overrun."""
    most = VECTORS.get(variant.name)
    for m, n, k in [(1, 1, 1), (33, 31, 17), (65, 130, 70), (128, 128, 64), (7, 5, 1500)]:
        n = min(n, most or n)
        a, b = integers(rng, 3, m, k), integers(rng, k, n)
        pair = exact(a, turned[0]), exact(b, turned[1])
        try:
            counted = _core.traffic("matmul", variant.name, pair, (0,))
        except ValueError as error:
            assert variant.name.split(":")[0] in ("tma", "whole") and REFUSED.search(str(error))
            continue
        assert np.array_equal(counted["result"].to_host(), a @ b)


# ---- the choice ----------------------------------------------------------------------------------


def chosen(*shapes):
    arrays = tuple(np.ones(shape, "f4") for shape in shapes)
    return _core.traffic("matmul", "auto", arrays, (0,))["variant"]


def test_auto_takes_what_fits_the_shape():
    assert chosen((500, 600), (600,)) == "thin:one"
    assert chosen((3, 600), (600, 500)) == "thin:four"
    assert chosen((8, 560), (560, 512)) != "sgemm"  # which has no tiles for so few rows
    assert chosen((7438, 240), (240, 5)) == "narrow:8"
    assert chosen((100, 100), (100, 100)) in ("tiles:16x64", "tiles:32x32")
    assert chosen((600, 16, 16), (600, 16, 16)) == "whole:16"
    assert chosen((600, 32, 32), (600, 32, 32)).startswith("tiles:")


def test_large_products_are_for_sgemm(backend):
    a = gm.to_device(np.ones((2048, 2048), "f4"), backend=backend)
    assert gm.matmul(a, a[:, :1536])[::500, ::500].copy().to_host().min() == 2048


@pytest.mark.parametrize("variant", [v for v in VARIANTS if "tiles:" in v.name], ids=str)
def test_lanes_store_neighbours_wherever_rows_begin(variant):
    """Rows of 63 numbers begin anywhere: 32 neighbours are in 4 sectors, or 5."""
    a, b = np.ones((64, 40), "f4"), np.ones((40, 63), "f4")
    stores = [
        s
        for s in gm.traffic("matmul", a, b, variant=variant.name).sites
        if (s["space"], s["kind"]) == ("global", "store")
    ]
    lanes, sectors = (sum(s[what] for s in stores) for what in ("lanes", "sectors"))
    assert lanes == 64 * 63
    assert sectors < 1.5 * lanes / 8


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v.formerly], ids=str)
def test_former_names_are_aliases(variant):
    a = np.ones((70, 33), "f4")
    with pytest.warns(DeprecationWarning, match=f'{variant.formerly}".*"{variant.name}"'):
        got = gm.matmul(a, a.T, variant=variant.formerly)
    assert np.array_equal(got, a @ a.T)
