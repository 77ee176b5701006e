"""fp16x3's factors as halves: scaled, split, counted and judged on the simulator, against NumPy."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from support import here

import gpumem as gm
from gpumem import _core
from gpumem.families import table

ROOT = Path(__file__).parents[1]
SIDE = 64  # lines of a block, and steps of a tile, where the lines are contiguous
SHAPES = [(1, 1), (3, 70), (5, 128), (64, 64), (70, 131), (130, 257)]
NEVER = 2**32 - 1  # the count of a line that is not finite


@pytest.fixture(scope="module")
def kernels():
    folders = [ROOT / "csrc", ROOT / "csrc/kernels"]
    return gm.load(Path(__file__).with_name("halves.cu"), include_dirs=folders, backend="sim")


class Halves(NamedTuple):
    """What the kernels make of a factor: lines by depth."""

    high: np.ndarray[Any, Any]
    low: np.ndarray[Any, Any]
    scales: np.ndarray[Any, Any]
    counted: np.ndarray[Any, Any]  # slabs x blocks x (missing, far)

    def values(self):
        return (self.high + self.low / 2048.0) * np.exp2(-self.scales.astype("f8"))[:, None]


def expected(x, lines_per_block=1, slab=None):
    """Split in NumPy."""
    depth = x.shape[1]
    most = np.abs(x).max(axis=1)
    usable = np.isfinite(most) & (most > 0)
    exponents = np.frexp(np.where(usable, most, 1).astype("f8"))[1]
    scales = np.where(usable, 15 - exponents, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.ldexp(x.astype("f8"), scales[:, None]).astype("f4")
        high = scaled.astype("f2")
        low = ((scaled - high.astype("f4")) * np.float32(2048)).astype("f2")
    size = np.abs(scaled)
    missing = (size < 16) & usable[:, None]
    far = (size < 2**-13) & (x != 0)
    slab = slab or depth
    counted = []
    for first in range(0, depth, slab):
        part = slice(first, first + slab)
        counts = np.stack([missing[:, part].sum(1), far[:, part].sum(1)], 1).astype("i8")
        counts[~np.isfinite(most), 1] = NEVER
        starts = range(0, len(x), lines_per_block)
        counted.append([counts[line : line + lines_per_block].max(0) for line in starts])
    return Halves(high.astype("f8"), low.astype("f8"), scales, np.array(counted))


def unpack(to, scales, counted, depth, slabs):
    halves = to.view("f2").reshape(len(to), -1, 2, 32).astype("f8")
    high, low = (halves[:, :, i].reshape(len(to), -1) for i in range(2))
    assert not high[:, depth:].any() and not low[:, depth:].any()
    return Halves(high[:, :depth], low[:, :depth], scales, counted.reshape(slabs, -1, 2))


def split_along(kernels, x, spare=0, call=None):
    lines, depth = x.shape
    rows = np.pad(x, ((0, 0), (0, spare)), constant_values=np.nan)
    to = np.full((lines, (depth + 31) // 32 * 64), 0xFFFF, "u2")
    counted, scales = np.full((lines, 2), 77, "u4"), np.full(lines, 77, "i4")
    call = call or (lambda kernel, *arguments: kernel(*arguments))
    call(kernels["along"][lines, 256], rows, lines, depth, depth + spare, to, counted, scales)
    return unpack(to, scales, counted, depth, 1)


def split_across(kernels, x, slab=SIDE, spare=0, call=None):
    lines, depth = x.shape
    columns = np.ascontiguousarray(np.pad(x.T, ((0, 0), (0, spare)), constant_values=np.nan))
    slabs, strips = -(-depth // slab), -(-lines // SIDE)
    to = np.full((lines, (depth + 31) // 32 * 64), 0xFFFF, "u2")
    most = np.full((slabs, lines), 77, "u4")
    counted, scales = np.full((slabs * strips, 2), 77, "u4"), np.full(lines, 77, "i4")
    factor = columns, lines, depth, lines + spare, slab
    call = call or (lambda kernel, *arguments: kernel(*arguments))
    call(kernels["largest"][slabs * strips, 256], *factor, most)
    call(kernels["across"][slabs * strips, 256], *factor, to, most, counted, scales)
    return unpack(to, scales, counted, depth, slabs)


def assert_equal(got, wanted, finite=None):
    """Lines that are not finite have any halves: another kernel computes their product."""
    lines = slice(None) if finite is None else finite
    for x, y in zip(got[:2], wanted[:2], strict=True):
        assert np.array_equal(x[lines], y[lines]) and np.array_equal(
            np.signbit(x[lines]), np.signbit(y[lines])
        )
    assert np.array_equal(got.scales, wanted.scales)
    assert np.array_equal(got.counted, wanted.counted)


def both_ways(kernels, x, slab=SIDE):
    finite = np.isfinite(x).all(1)
    assert_equal(split_along(kernels, x), expected(x), finite)
    assert_equal(split_across(kernels, x, slab), expected(x, SIDE, slab), finite)


# ---- splitting ---------------------------------------------------------------------------------


@pytest.mark.parametrize("spare", [0, 1, 4])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_shape_and_pitch(kernels, shape, spare, rng):
    x = rng.standard_normal(shape).astype("f4")
    assert_equal(split_along(kernels, x, spare), expected(x))
    for slab in (SIDE, 3 * SIDE):
        assert_equal(split_across(kernels, x, slab, spare), expected(x, SIDE, slab))


def test_numbers_of_all_sizes(kernels, rng):
    """Lines of zeros, of subnormal and of huge numbers; numbers from the least to the largest."""
    x = rng.standard_normal((70, 100)).astype("f4")
    x[::3] = np.ldexp(x[::3], rng.integers(-140, 120, x[::3].shape))
    x[1] = np.ldexp(x[1], -145)
    x[4], x[7], x[8, :50] = 0, -0.0, np.ldexp(1.0, -149)
    x[10, 3] = np.finfo("f4").max
    x[11, 5] = -np.finfo("f4").tiny
    both_ways(kernels, x)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_lines_that_are_not_finite(kernels, value, rng):
    x = rng.standard_normal((70, 130)).astype("f4")
    x[3, 129] = x[69, 0] = value
    both_ways(kernels, x)


@pytest.mark.parametrize("spread", [0, 20, 60])
def test_error_of_a_number(kernels, spread, rng):
    """Either 2^-23 of the number, or 2^-50 of the power of two below the line's largest."""
    x = np.ldexp(rng.standard_normal((40, 200)), rng.integers(-spread, 1, (40, 200))).astype("f4")
    exact = x.astype("f8")
    least = np.exp2(np.floor(np.log2(np.abs(exact).max(1))) - 50)[:, None]
    for split in (split_along, split_across):
        error = np.abs(split(kernels, x).values() - exact)
        assert (error <= np.maximum(np.abs(exact) * 2.0**-23, least)).all()


def test_findings_and_traffic(kernels, rng):
    """Every number is read in whole sectors, twice, and written once, as two halves."""
    x = rng.standard_normal((128, 256)).astype("f4")
    found = []

    def watch(kernel, *arguments):
        assert not gm.check(kernel, *arguments).findings
        found.append(gm.traffic(kernel, *arguments))

    split_along(kernels, x, call=watch)
    split_across(kernels, x, slab=128, call=watch)
    along, largest, across = found
    assert along.loads.bytes_asked == 2 * x.nbytes and along.loads.sectors_per_request == 16
    assert largest.loads.bytes_asked == x.nbytes and largest.loads.sectors_per_request == 4
    largest_bytes = 2 * 2 * 128 * 4  # each of the four blocks reads 64 lines of both slabs
    assert across.loads.bytes_asked == x.nbytes + largest_bytes
    # Beside the halves a scale and a count of each line, or 8 scales and 4 blocks' counts together.
    assert along.stores.sectors == x.nbytes // 32 + 2 * 128
    assert across.stores.sectors == x.nbytes // 32 + 128 // 8 + 4
    assert across.shared.bank_ways == 1


# ---- judging -----------------------------------------------------------------------------------


def judged(kernels, a, b, slab=SIDE):
    """Judge a product on the simulator, and by the condition in NumPy."""
    halves = split_along(kernels, a), split_across(kernels, b, slab)
    depth, verdict = a.shape[1], np.full(1, 77, "u4")
    counts = []
    for x in halves:
        slabs, blocks, _ = x.counted.shape
        counts += [x.counted.astype("u4"), blocks, slabs]
    kernels["judge"][1, 1024](*counts, depth, verdict)
    missing, far = sum(x.counted.astype("i8").max(1).sum(0) for x in halves)
    assert verdict[0] == (far > 0 and (far >= NEVER or 8 * (depth - missing) < far))
    return bool(verdict[0])


def error_of_halves(a, b):
    """Emulate the sum of the three products, each 64 steps added up in FP32."""
    x, y = expected(a), expected(b)
    low = x.low @ y.high.T + x.high @ y.low.T
    scale = np.exp2(-(x.scales[:, None] + y.scales[None, :]).astype("f8"))
    sums = np.zeros((len(a), len(b)), "f4")
    for k in range(0, a.shape[1], 64):
        part = slice(k, k + 64)
        low = x.low[:, part] @ y.high[:, part].T + x.high[:, part] @ y.low[:, part].T
        sums += (x.high[:, part] @ y.high[:, part].T + low / 2048).astype("f4")
    return np.abs(sums * scale - a.astype("f8") @ b.astype("f8").T)


def error_of_fp32(a, b):
    sums = np.zeros((len(a), len(b)), "f4")
    for x, y in zip(a.T, b.T, strict=True):
        sums += np.outer(x, y)
    return np.abs(sums - a.astype("f8") @ b.astype("f8").T)


def spread(rng, shape, exponent):
    return np.ldexp(rng.standard_normal(shape), rng.integers(-exponent, exponent + 1, shape))


DRAWN = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "positive": lambda rng, shape: np.abs(rng.standard_normal(shape)),
    "half zeros": lambda rng, shape: np.maximum(rng.standard_normal(shape), 0),
    "outliers": lambda rng, shape: rng.standard_t(2, shape),
    "one zero line": lambda rng, shape: (
        rng.standard_normal(shape) * (np.arange(shape[0])[:, None] > 0)
    ),
    "spread by 4": lambda rng, shape: spread(rng, shape, 4),
    "spread by 32": lambda rng, shape: spread(rng, shape, 32),
}


@pytest.mark.parametrize("depth", [1000, 2048])
@pytest.mark.parametrize("name", DRAWN)
def test_halves_are_as_accurate_as_fp32(kernels, name, depth, rng):
    """Where the kernel says so; it does for data without a wide spread."""
    a, b = (DRAWN[name](rng, (30, depth)).astype("f4") for _ in range(2))
    falls_back = judged(kernels, a, b)
    assert falls_back == (name == "spread by 32")
    if not falls_back:
        size = np.abs(a).astype("f8") @ np.abs(b).astype("f8").T
        size[size == 0] = 1
        assert (error_of_halves(a, b) / size).max() <= (error_of_fp32(a, b) / size).max()


@pytest.mark.parametrize("exponent", [8, 12, 16])
def test_opposite_scales_along_the_depth(kernels, exponent, rng):
    """A D and D^-1 B: where halves lose accuracy, they are not used."""
    a, b = (rng.standard_normal((40, 1024)).astype("f4") for _ in range(2))
    d = rng.choice([-exponent, exponent], 1024)
    a, b = np.ldexp(a, d), np.ldexp(b, -d)
    worse = error_of_halves(a, b).max() > error_of_fp32(a, b).max()
    assert judged(kernels, a, b) >= worse
    if exponent == 16:
        assert worse


def test_far_numbers_that_few_lines_have(kernels, rng):
    """A few small numbers among many do not matter, unless nothing else is in the sum."""
    a, b = (rng.standard_normal((70, 640)).astype("f4") for _ in range(2))
    a[5, ::100] *= np.float32(2.0**-40)
    assert not judged(kernels, a, b, slab=128)
    a[5], b[3] = 0, 0
    a[5, 0], a[5, 1] = 1, 2.0**-40
    b[3, 1] = 1
    assert judged(kernels, a, b, slab=128)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_not_finite_is_not_for_halves(kernels, value, rng):
    for where in range(2):
        factors = [rng.standard_normal((66, 200)).astype("f4") for _ in range(2)]
        factors[where][65, 199] = value
        assert judged(kernels, *factors)


# ---- products, on a GPU ------------------------------------------------------------------------


@pytest.fixture(params=["fp16x3", "fp16x3_multicast"])
def fp16x3(request):
    variant = table.find("sgemm", request.param)
    here(variant, "cuda")
    return variant


def equals(fp16x3, a, b, name):
    """Whether the product is that of another variant, which is computed where halves are not."""
    got = fp16x3(a, b, backend="cuda")
    return np.array_equal(got, gm.sgemm(a, b, variant=name, backend="cuda"), equal_nan=True)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("depth", "instead"), [(300, "warp_tile_tma"), (2047, "warp_tile_tma"), (2048, "tf32x3")]
)
def test_the_device_decides(fp16x3, depth, instead, rng):
    a, b = rng.standard_normal((200, depth), "f4"), rng.standard_normal((depth, 100), "f4")
    d = rng.choice([-16, 16], depth)
    assert not equals(fp16x3, a, b, instead)
    assert equals(fp16x3, np.ldexp(a, d), np.ldexp(b, -d[:, None]), instead)
    assert equals(fp16x3, a[:, :127], b[:127], "warp_tile_tma")
    a[7, 5] = np.inf
    assert equals(fp16x3, a, b, instead)


@pytest.mark.gpu
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 128), (129, 193, 129), (300, 500, 1000)], ids=str)
def test_exact_products(fp16x3, shape, trans_a, trans_b, rng):
    """Of small integers, times powers of two by row and by column."""
    m, n, k = shape
    a, b = (rng.integers(-8, 9, side).astype("f4") for side in ((m, k), (k, n)))
    rows, columns = rng.integers(-50, 50, (m, 1)), rng.integers(-50, 50, (1, n))
    x, y = np.ldexp(a, rows), np.ldexp(b, columns)
    x, y = (
        np.ascontiguousarray(x.T) if trans_a else x,
        np.ascontiguousarray(y.T) if trans_b else y,
    )
    got = fp16x3(x, y, trans_a=trans_a, trans_b=trans_b, alpha=2, backend="cuda")
    assert np.array_equal(got, 2 * np.ldexp(a @ b, rows + columns))


@pytest.mark.gpu
@pytest.mark.parametrize("rows", [1, 127, 129, 257, 2049])
@pytest.mark.parametrize("columns", [1, 96, 97, 193, 2305])
@pytest.mark.parametrize("depth", [128, 161, 4096])
def test_pairs_of_blocks(rows, columns, depth, rng):
    """Where the rows of tiles are even or odd, and the columns end in either block's half."""
    variant = table.find("sgemm", "fp16x3_multicast")
    here(variant, "cuda")
    a, b = (rng.integers(-8, 9, side).astype("f4") for side in ((rows, depth), (depth, columns)))
    for _ in range(3):  # the second launch may begin while the first ends
        got = variant(a, b, backend="cuda")
    assert np.array_equal(got, gm.sgemm(a, b, variant="naive", backend="cuda"))


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["normal", "positive", "half zeros"])
def test_error_is_at_most_that_of_fp32(fp16x3, name, rng):
    a, b = (DRAWN[name](rng, shape).astype("f4") for shape in ((300, 4096), (4096, 400)))
    exact = a.astype("f8") @ b.astype("f8")
    plain = gm.sgemm(a, b, variant="warp_tile", backend="cuda")  # does not share the depth
    assert not equals(fp16x3, a, b, "tf32x3")
    got = fp16x3(a, b, backend="cuda")
    assert np.abs(got - exact).max() <= np.abs(plain - exact).max()


@pytest.mark.gpu
@pytest.mark.parametrize("function", [gm.sgemm, gm.matmul])
def test_only_a_lower_precision_lets_auto_take_it(fp16x3, function, rng):
    a, b = (gm.to_device(rng.standard_normal((2048, 2048), "f4"), backend="cuda") for _ in range(2))
    halves, plain = fp16x3(a, b).to_host(), gm.sgemm(a, b).to_host()
    assert not np.array_equal(halves, plain)
    assert np.array_equal(function(a, b, precision="high").to_host(), halves)
    assert np.array_equal(function(a, b, precision="highest").to_host(), plain)
    small = a[:64, :64].copy()
    wanted = function(small, small).to_host()
    assert np.array_equal(function(small, small, precision="high").to_host(), wanted)


# ---- the keyword -------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [gm.sgemm, gm.matmul])
def test_names_of_precisions(function, backend, rng):
    a, b = rng.standard_normal((130, 200), "f4"), rng.standard_normal((200, 70), "f4")
    got = function(a, b, precision="high", backend=backend)
    np.testing.assert_allclose(got, a.astype("f8") @ b, rtol=0, atol=1e-3)
    with pytest.raises(ValueError, match=r"precision is 'medium', expected"):
        function(a, b, precision="medium", backend=backend)
    with pytest.raises(TypeError, match="precision must be a str, not int"):
        function(a, b, precision=1, backend=backend)
    with pytest.raises(ValueError, match="precision"):
        parameters = table.parameters(function.__name__, {})
        arrays = (a, b, None) if function is gm.sgemm else (a, b)
        _core.call(function.__name__, "auto", arrays, None, None, backend, (*parameters[:-1], 2))
