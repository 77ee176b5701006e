"""reduce: every variant, dtype and length against NumPy; wrapping, NaN, layouts and refusals."""

import numpy as np
import pytest
from calls_together import agree_at_once, in_a_row
from edges import around
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import here

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

LADDER = gm.variants("reduce")
IN_TILES = [v for v in LADDER if v.name in ("two_pass", "last_block")]
FIXED_ORDER = [v for v in LADDER if v.name in ("two_pass", "last_block", "cluster")]
ANY_ALIGNMENT = [v for v in LADDER if v.alignment == 0]
DTYPES = ["i4", "u4", "f4", "i8", "u8", "f8"]
# Around a warp, a block, a step of a block of vectors (4096 words), and more than one of them.
LENGTHS = [0, 1, 2, 3, 5, 31, 32, 33, 255, 257, 4093, 4096, 4099, 9001, 65537]
DRAWN = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def numbers(rng, n, dtype):
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(n).astype(dtype)
    return rng.integers(0, 2**63, n, dtype=np.uint64).astype(dtype)


def poisoned(dtype, backend):
    out = gm.DeviceArray((), dtype, backend=backend)
    out.fill_bytes(0xA5)
    return out


def check(got, a):
    oracle.check("reduce", got, a)


def test_variants_in_order():
    assert [v.name for v in LADDER] == [
        "atomic",
        "warp_atomic",
        "block_atomic",
        "grid_stride",
        "vec4",
        "two_pass",
        "last_block",
        "cluster",
    ]


# ---- against NumPy ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_every_length(variant, dtype, backend, rng):
    here(variant, backend)
    for n in LENGTHS:
        a = numbers(rng, n, dtype)
        there, out = gm.to_device(a, backend=backend), poisoned(dtype, backend)
        assert variant(there, out=out) is out
        check(out.to_host(), a)
        assert there.to_host().tobytes() == a.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", ANY_ALIGNMENT, ids=str)
def test_every_alignment_and_few_elements(variant, dtype, backend, rng):
    """The elements in front of the first vector and behind the last, also where there is none."""
    here(variant, backend)
    a = numbers(rng, 300, dtype)
    there = gm.to_device(a, backend=backend)
    for begin in range(6):
        for n in (*range(11), 200, 290):
            check(variant(there[begin : begin + n]).to_host(), a[begin : begin + n])


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_integers_wrap(variant, dtype, backend):
    here(variant, backend)
    most = np.iinfo(dtype).max
    for a in ([most, most, 1], [most] * 5000, [np.iinfo(dtype).min] * 3):
        a = np.array(a, dtype)
        got = variant(a, backend=backend)
        assert got.dtype == a.dtype and got.shape == () and got == a.sum(dtype=dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_nan_and_infinities(variant, dtype, backend, rng):
    here(variant, backend)
    for place in (0, 777, 4999):
        a = numbers(rng, 5000, dtype)
        for value in (np.nan, np.inf, -np.inf):
            a[place] = value
            assert np.array_equal(variant(a, backend=backend), value, equal_nan=True)
        a[place - 1] = np.inf
        assert np.isnan(variant(a, backend=backend))


# Bytes: a chunk of a warp; where a block alone, its second round of chunks, and on a GPU a cluster
# of 8 or 16 blocks, its second round and what "auto" gives it end.
EDGES = {
    "sim": [4 << 10, 32 << 10, 36 << 10, 128 << 10, 256 << 10],
    "cuda": [4 << 10, 32 << 10, 36 << 10, 64 << 10, *(k << 20 for k in (1, 2, 4))],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", [None, LADDER[-1]], ids=str)
def test_edges_of_clusters(variant, dtype, backend, rng):
    if variant:
        here(variant, backend)
    call = variant or gm.reduce
    a = numbers(rng, EDGES[backend][-1] // np.dtype(dtype).itemsize + 8, dtype)
    for there, part in around(gm.to_device(a, backend=backend), a, EDGES[backend]):
        check(call(there).to_host(), part)


@given(n=st.integers(0, 40000), begin=st.integers(0, 9), dtype=st.sampled_from(DTYPES))
@DRAWN
def test_auto_at_any_place(backend, n, begin, dtype):
    a = numbers(np.random.default_rng(n), n + begin, dtype)
    check(gm.reduce(gm.to_device(a, backend=backend)[begin:]).to_host(), a[begin:])


def test_any_shape_and_layout(backend, rng):
    a = rng.standard_normal((13, 40, 7))
    there = gm.to_device(a, backend=backend)
    for view in (
        lambda v: v,
        lambda v: v.T,
        lambda v: v[::-1, ::3],
        lambda v: v[:0],
        lambda v: v[1, 2, 3],
        lambda v: v[:, :, 0],
    ):
        check(gm.reduce(view(there)).to_host(), np.asarray(view(a)))
        check(gm.reduce(view(a), backend=backend), np.asarray(view(a)))
    raw = np.arange(33, dtype="u1")
    unaligned = gm.to_device(raw, backend=backend)[1:].view("u4")
    check(gm.reduce(unaligned).to_host(), raw[1:].view("u4"))


def test_lists_and_scalars(backend):
    assert gm.reduce([1, 2, 3], backend=backend) == 6
    assert gm.reduce(2.5, backend=backend) == 2.5
    assert gm.reduce([], backend=backend) == 0


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize("variant", ANY_ALIGNMENT, ids=str)
def test_more_than_2_31_elements(variant):
    here(variant, "cuda")
    n = 2**31 + 6
    a = gm.DeviceArray((n,), "u4", backend="cuda")
    a.fill_bytes(1)
    assert variant(a[1:]).to_host() == (n - 1) * 0x01010101 % 2**32


# ---- counters, which a kernel sets to 0 before the one that counts -----------------------------

COUNTED = [9, 300_001, 60_000, 300_001]  # a block, and more; memory of a call is used by the next


@pytest.mark.parametrize("variant", [None, *ANY_ALIGNMENT], ids=str)
def test_calls_in_a_row_on_one_stream(variant, backend, rng):
    if variant:
        here(variant, backend)
    call = variant or gm.reduce
    arrays = [numbers(rng, n, "i8") for n in COUNTED]
    for a, got in in_a_row(call, arrays, backend, 3):
        check(got, a)


def test_calls_of_threads_at_once(backend, rng):
    """Each on its own stream and on the default one; a fixed order gives the same bits."""
    arrays = [numbers(rng, n, "f4") for n in COUNTED]
    assert agree_at_once(gm.reduce, arrays, backend, 10)


def test_a_small_kernel_sets_the_counter_to_0():
    def launched(n):
        return [
            (one["name"], one["grid"][0])
            for one in gm.traffic("reduce", np.ones(n, "f4"), variant="last_block").kernels
        ]

    assert launched(100) == [("reduce_last_block", 1)]
    (zeros, blocks), (name, more) = launched(100_000)
    assert (zeros, blocks, name) == ("reduce_zeros", 1, "reduce_last_block") and more > 1


# ---- the order of additions -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("variant", [None, *FIXED_ORDER], ids=str)
def test_the_same_bits_each_time(variant, dtype, backend, rng):
    if variant:
        here(variant, backend)
    call = variant or gm.reduce
    for n in (60_001, 1_000_003):
        a = gm.to_device(numbers(rng, n, dtype), backend=backend)
        assert len({call(a).to_host().tobytes() for _ in range(5)}) == 1


def test_two_pass_and_last_block_have_one_order(backend, rng):
    a = gm.to_device(numbers(rng, 200_001, "f4"), backend=backend)
    assert len({v(a).to_host().tobytes() for v in IN_TILES}) == 1


def test_many_short_sums_are_more_accurate_than_a_long_one(backend, rng):
    """A running sum of float32 loses what a tree of sums keeps."""
    a = rng.random(2_000_000, dtype="f4")
    exact = a.sum(dtype="f8")
    lost = abs(
        np.cumsum(a) - np.cumsum(a, dtype="f8")
    ).max()  # at its end it may be close by chance
    assert abs(gm.reduce(a, backend=backend) - exact) < lost
    assert abs(gm.reduce(a, backend=backend) - exact) < 1e-6 * exact


# ---- traffic ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "share"), [("atomic", 1), ("warp_atomic", 32), ("block_atomic", 256)]
)
def test_each_rung_has_fewer_atomics(name, share):
    n = 2**14
    counted = _core.traffic("reduce", name, (np.ones(n, "f4"),), ())
    atomics = [s for s in counted["sites"] if s["kind"] == "atomic"]
    assert sum(s["lanes"] for s in atomics) == n // share


@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_no_races_at_any_length(variant):
    for n in (0, 1, 33, 4097, 20000):
        gm.traffic("reduce", np.ones(n, "f4"), variant=variant)


def test_each_byte_is_read_once():
    for n in (1, 4099, 50_001):
        loads = gm.traffic("reduce", np.ones(n, "i8"), variant="vec4").loads
        assert loads.bytes_asked == 8 * n
    loads = gm.traffic("reduce", np.ones(512 * 13 + 1, "i8"), variant="cluster").loads
    assert loads.bytes_asked == 8 * (512 * 13 + 1)  # whole chunks and an element behind them


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "c8", "?", "S8", "M8[s]"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match=r"a has dtype .*accepted is int32, int64, uint32"):
        gm.reduce(np.zeros(3, dtype), backend="sim")


def test_unaligned_vectors_are_refused_by_name(backend):
    a = gm.to_device(np.ones(9, "f4"), backend=backend)
    with pytest.raises(ValueError, match="variant vec4 needs a aligned to 16 bytes"):
        gm.reduce(a[1:], variant="vec4")
    with pytest.raises(ValueError, match="variant two_pass needs a C-contiguous"):
        gm.reduce(a[::2], variant="two_pass")


def test_out_must_fit(backend):
    a = np.ones(4)
    for out, error in [
        (np.empty(1), ValueError),
        (np.empty((), "f4"), TypeError),
        (a[0:1].reshape(()), ValueError),
    ]:
        with pytest.raises(error, match="out"):
            gm.reduce(a, out=out, backend=backend)
    out = np.empty(())
    assert gm.reduce(a, out=out, backend=backend) is out and out == 4


def test_an_unaligned_out(backend):
    memory = gm.DeviceArray((12,), "u1", backend=backend)
    out = memory[1:9].view("f8").reshape(())
    assert gm.reduce(gm.to_device(np.ones(7), backend=backend), out=out) is out
    assert out.to_host() == 7


# ---- the oracle -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_oracle_finds_a_lost_element(dtype):
    a = numbers(np.random.default_rng(5), 5000, dtype) | 1 if dtype[0] != "f" else None
    a = np.linspace(1, 2, 5000).astype(dtype) if a is None else a
    check(oracle.expected("reduce", a), a)
    with pytest.raises(AssertionError):
        check(oracle.expected("reduce", a[1:]), a)


def test_the_simulator_has_no_clusters():
    """One block does it all; "auto" takes a grid."""
    a = np.ones(100_000, "f4")
    for variant, taken, blocks in (("cluster", "cluster", 1), ("auto", "two_pass", 13)):
        counted = _core.traffic("reduce", variant, (a,), ())
        assert counted["variant"] == taken and counted["grid"] == (blocks, 1, 1)


def test_a_block_has_as_many_warps_as_chunks():
    for nbytes, warps in ((0, 1), (4, 1), (4096, 1), (4100, 2), (32 << 10, 8), (1 << 20, 32)):
        counted = _core.traffic("reduce", "cluster", (np.ones(nbytes // 4, "f4"),), ())
        assert counted["block"] == (32 * warps, 1, 1)


@pytest.mark.parametrize("name", ["vec4", "two_pass", "last_block"])
def test_the_last_tile_is_loaded_in_vectors_as_well(name):
    """30 tiles of 2048 vectors and half of one: a sector is touched once, 16 by a request."""
    t = gm.traffic("reduce", np.ones(250_000, "f4"), variant=name)
    in_vectors = [s for s in t.sites if s["kind"] == "load" and s["width"] == 128]
    assert sum(s["sectors"] for s in in_vectors) == 31_250
    assert sum(s["requests"] for s in in_vectors) == -(-31_250 // 16)
