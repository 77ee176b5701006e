"""scan: every variant, dtype and length against NumPy; wrapping, NaN, layouts and refusals."""

import os
import subprocess
import sys

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

LADDER = gm.variants("scan", instances=True)
FIXED_ORDER = [v for v in LADDER if v.name != "look_back"]
DTYPES = ["i4", "u4", "f4", "i8", "u8", "f8"]
# Around a warp, and the tiles of 256, 512, 2048, 4096, 8192 and 16384 elements.
LENGTHS = [0, 1, 2, 3, 31, 33, 255, 257, 511, 513, 2049, 4095, 4096, 4097, 8193, 16_385, 20_001]
MANY = 4096 * 70 + 5  # more than 32 tiles
DRAWN = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def numbers(rng, n, dtype):
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(n).astype(dtype)
    return rng.integers(0, 2**63, n, dtype=np.uint64).astype(dtype)


def poisoned(n, dtype, backend):
    out = gm.DeviceArray((n,), dtype, backend=backend)
    out.fill_bytes(0xA5)
    return out


def check(got, a):
    oracle.check("scan", got, a)


def test_variants_in_order():
    assert [v.name for v in gm.variants("scan")] == [
        "hillis_steele",
        "blelloch",
        "shuffles",
        "look_back",
        "all_sums",
        "pipelined",
        "cluster",
    ]


# ---- against NumPy ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_every_length(variant, dtype, backend, rng):
    here(variant, backend)
    for n in LENGTHS:
        a = numbers(rng, n, dtype)
        there, out = gm.to_device(a, backend=backend), poisoned(n, dtype, backend)
        assert variant(there, out=out) is out
        check(out.to_host(), a)
        assert there.to_host().tobytes() == a.tobytes()


@pytest.mark.parametrize("dtype", ["u4", "u8"])
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_many_tiles(variant, dtype, backend, rng):
    """More than a warp or a block looks at in one go, on several threads of the host."""
    here(variant, backend)
    larger = {"pipelined:k32": 8192, "pipelined:k64": 16384, "all_sums": 4096 * 7}
    n = larger[variant.name] * 40 + 5 if variant.name in larger else MANY
    a = gm.to_device(numbers(rng, n, dtype), backend=backend)
    wanted = a.to_host().cumsum(dtype=dtype)
    for _ in range(3):
        assert np.array_equal(variant(a).to_host(), wanted)


@pytest.mark.parametrize("dtype", ["i4", "f8"])
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_every_alignment(variant, dtype, backend, rng):
    """Of the elements and of the sums, each alone and both: vectors need both."""
    here(variant, backend)
    a = numbers(rng, 9000, dtype)
    there = gm.to_device(a, backend=backend)
    for begin in range(5):
        for behind in range(5):
            memory = poisoned(9010, dtype, backend)
            out = memory[behind : behind + 8990]
            variant(there[begin : begin + 8990], out=out)
            check(out.to_host(), a[begin : begin + 8990])
            around = memory.to_host().view("u1").reshape(9010, -1)
            assert (around[:behind] == 0xA5).all() and (around[behind + 8990 :] == 0xA5).all()


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_integers_wrap(variant, dtype, backend):
    here(variant, backend)
    a = np.full(9000, np.iinfo(dtype).max, dtype)
    got = variant(a, backend=backend)
    assert got.dtype == a.dtype and np.array_equal(got, a.cumsum(dtype=dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_nan_and_infinities_reach_what_follows_and_nothing_else(variant, dtype, backend, rng):
    here(variant, backend)
    for place in (0, 777, 4096, 8999):
        a = numbers(rng, 9000, dtype)
        for value in (np.nan, np.inf, -np.inf):
            a[place] = value
            got = variant(a, backend=backend)
            check(got, a)
            assert np.isfinite(got[:place]).all()
            assert np.array_equal(got[place:], np.full(9000 - place, value, dtype), equal_nan=True)
        a[place - 1] = np.inf  # inf - inf, in either order
        check(variant(a, backend=backend), a)


# Bytes: a warp's part of a tile; where a block alone, its first tiles, and on a GPU a cluster of 8
# or 16 blocks, its first tiles and what "auto" gives it end.
EDGES = {
    "sim": [2 << 10, 32 << 10, 34 << 10, 64 << 10, 128 << 10],
    "cuda": [2 << 10, 32 << 10, 34 << 10, 64 << 10, 512 << 10, 1 << 20, 2 << 20],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", [None, LADDER[-1]], ids=str)
def test_edges_of_clusters(variant, dtype, backend, rng):
    if variant:
        here(variant, backend)
    call = variant or gm.scan
    a = numbers(rng, EDGES[backend][-1] // np.dtype(dtype).itemsize + 8, dtype)
    for there, part in around(gm.to_device(a, backend=backend), a, EDGES[backend]):
        out = poisoned(part.size, dtype, backend)
        check(call(there, out=out).to_host(), part)


@given(n=st.integers(0, 40000), begin=st.integers(0, 9), dtype=st.sampled_from(DTYPES))
@DRAWN
def test_auto_at_any_place(backend, n, begin, dtype):
    a = numbers(np.random.default_rng(n), n + begin, dtype)
    check(gm.scan(gm.to_device(a, backend=backend)[begin:]).to_host(), a[begin:])


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
        check(gm.scan(view(there)).to_host(), np.asarray(view(a)))
        check(gm.scan(view(a), backend=backend), np.asarray(view(a)))
    raw = np.arange(33, dtype="u1")
    unaligned = gm.to_device(raw, backend=backend)[1:].view("u4")
    check(gm.scan(unaligned).to_host(), raw[1:].view("u4"))


def test_a_result_of_any_layout(backend, rng):
    a = rng.integers(0, 1000, 5000, dtype="i4")
    memory = gm.DeviceArray((5000, 3), "i4", backend=backend)
    gm.scan(gm.to_device(a, backend=backend), out=memory[::-1, 1])
    assert np.array_equal(memory.to_host()[::-1, 1], a.cumsum())


def test_lists_and_scalars(backend):
    assert gm.scan([1, 2, 3], backend=backend).tolist() == [1, 3, 6]
    assert gm.scan(2.5, backend=backend).tolist() == [2.5]
    assert gm.scan([], backend=backend).shape == (0,)


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_more_than_2_31_elements(variant):
    n = 2**31 + 5
    a = gm.DeviceArray((n,), "u4", backend="cuda")
    a.fill_bytes(1)
    got = variant(a)
    for begin in (0, 2**30, 2**31 - 500, n - 1000):
        count = np.arange(begin + 1, min(begin + 1000, n) + 1, dtype=np.uint64)
        wanted = (count * 0x01010101).astype("u4")
        assert np.array_equal(got[begin : begin + 1000].to_host(), wanted)


LATE = """
import numpy as np, gpumem as gm
a = np.random.default_rng().integers(0, 2**32, 1100 * 16384 + 77, dtype=np.uint32)
for _ in range(2):
    got = gm.scan(a, variant="pipelined", backend="sim")
    assert np.array_equal(got, a.cumsum(dtype="u4"))
"""


@pytest.mark.exhaustive
def test_blocks_that_start_late():
    """More blocks than a block has threads, so that some look back over more tiles than that."""
    environment = {**os.environ, "GPUMEM_SIM_MULTIPROCESSORS": "1024"}
    subprocess.run([sys.executable, "-c", LATE], check=True, env=environment, timeout=600)


# ---- states and counters, which a kernel sets to 0 before the one that needs them --------------

COUNTED = [9, MANY, 60_000, MANY]  # a tile, and more; memory of a call is used by the next


@pytest.mark.parametrize("variant", [None, *LADDER], ids=str)
def test_calls_in_a_row_on_one_stream(variant, backend, rng):
    if variant:
        here(variant, backend)
    call = variant or gm.scan
    arrays = [numbers(rng, n, "i8") for n in COUNTED]
    for a, got in in_a_row(call, arrays, backend, 2):
        check(got, a)


def test_calls_of_threads_at_once(backend, rng):
    """Each on its own stream and on the default one; a fixed order gives the same bits."""
    arrays = [numbers(rng, n, "f4") for n in COUNTED]
    assert agree_at_once(gm.scan, arrays, backend, 4)


@pytest.mark.parametrize("tiles", [1, 2, 300, 1025])
def test_a_small_kernel_sets_states_and_tickets_to_0(tiles):
    """Two words per tile and one for the counter, 2048 words in a block; a tile asks nobody."""
    kernels = gm.traffic("scan", np.ones(4096 * tiles, "i4"), variant="look_back").kernels
    launched = [(one["name"], one["grid"][0]) for one in kernels]
    zeros = [("scan_zeros", -(-(2 * tiles + 1) // 2048))] if tiles > 1 else []
    assert launched == [*zeros, ("scan_look_back", tiles)]


# ---- the order of additions -------------------------------------------------------------------


@pytest.mark.parametrize("variant", FIXED_ORDER, ids=str)
def test_the_same_bits_each_time(variant, backend, rng):
    here(variant, backend)
    for n in (60_001, MANY):
        a = gm.to_device(numbers(rng, n, "f4"), backend=backend)
        assert len({variant(a).to_host().tobytes() for _ in range(3)}) == 1


# ---- traffic ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["look_back", "all_sums", "pipelined", "cluster"])
def test_one_pass_reads_and_writes_once(variant):
    n = 4096 * 5
    for dtype in ("f4", "f8"):
        a = np.ones(n, dtype)
        counted = _core.traffic("scan", variant, (a,), ())
        sites = [s for s in counted["sites"] if s["space"] == "global"]
        for kind in ("load", "store"):  # and a few words of the tiles' states
            moved = sum(s["bytes"] for s in sites if s["kind"] == kind)
            assert a.nbytes <= moved <= a.nbytes + 1000


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("behind", [0, 1, 4, 31])
def test_the_copy_engine_moves_all_whole_rows(behind, dtype):
    """Wherever both arrays begin; by hand are the ends, and the result if aligned otherwise."""
    n, size = 40_001, np.dtype(dtype).itemsize
    there = gm.to_device(np.ones(n + 35, dtype), backend="sim")
    out = gm.DeviceArray(n + behind, dtype, backend="sim")[behind:]
    for begin in (0, 1, 2, 3, 4, 31, 32, 35):
        alike = (begin - behind) * size % 16 == 0
        head = -(behind if alike else begin) % (128 // size)
        rows = (n - head) * size // 128
        sites = _core.traffic("scan", "pipelined", (there[begin : begin + n],), (), out)["sites"]
        moved = {"load": 0, "store": 0}
        by_hand = 0  # sectors
        for site in sites:
            if site["space"] == "global" and site["by"] == "engine":
                moved[site["kind"]] += site["bytes"]
            elif site["space"] == "global" and site["kind"] == "store":
                by_hand += site["sectors"]
        assert moved == {"load": rows * 128, "store": rows * 128 if alike else 0}
        # Of whole lines, where it would be 5 / 4 otherwise. The simulator counts a lane's first
        # store with those of its warp's other lanes, also where these are a step ahead.
        assert by_hand <= (0 if alike else n * size / 32 * 17 / 16) + 60


@pytest.mark.parametrize("variant", ["hillis_steele", "blelloch", "shuffles"])
def test_three_launches_read_twice(variant):
    a = np.ones(4096 * 5, "f4")
    assert gm.traffic("scan", a, variant=variant).loads.bytes_asked >= 2 * a.nbytes


def test_a_single_tile_asks_nobody():
    counted = _core.traffic("scan", "auto", (np.ones(4096, "i4"),), ())
    assert counted["variant"] == "look_back" and counted["grid"] == (1, 1, 1)
    assert not [s for s in counted["sites"] if s["kind"] == "atomic"]


def test_the_simulator_has_no_clusters():
    """One block takes tile after tile; "auto" takes a grid."""
    for nbytes, warps in ((4, 1), (2048, 1), (2052, 2), (32 << 10, 16), (200 << 10, 32)):
        counted = _core.traffic("scan", "cluster", (np.ones(nbytes // 4, "f4"),), ())
        assert counted["grid"] == (1, 1, 1) and counted["block"] == (32 * warps, 1, 1)
    auto = _core.traffic("scan", "auto", (np.ones(50_000, "f4"),), ())
    assert auto["variant"] == "all_sums"


@pytest.mark.parametrize(
    ("nbytes", "variant"),
    [
        (16 << 10, "look_back"),
        ((16 << 10) + 4, "all_sums"),
        (3 << 20, "all_sums"),
        ((3 << 20) + 4, "pipelined:k32"),
        pytest.param(20 << 20, "pipelined:k32", marks=pytest.mark.exhaustive),
        pytest.param((20 << 20) + 4, "pipelined:k64", marks=pytest.mark.exhaustive),
    ],
)
def test_auto_by_size(nbytes, variant):
    counted = _core.traffic("scan", "auto", (np.ones(nbytes // 4, "f4"),), ())
    assert counted["variant"] == variant


def test_the_tree_has_bank_conflicts_and_the_others_have_none():
    a = np.ones(2**14, "f4")
    ways = {v.name: gm.traffic("scan", a, variant=v).shared.bank_ways for v in LADDER}
    assert ways.pop("blelloch") > 4
    assert set(ways.values()) == {1}


@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_no_races_at_any_length(variant):
    for n in (0, 1, 33, 4097, 60_000):
        gm.traffic("scan", np.ones(n, "f4"), variant=variant)
        gm.traffic("scan", np.ones(n, "i8"), variant=variant)


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "c8", "?", "S8", "M8[s]"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match=r"a has dtype .*accepted is int32, int64, uint32"):
        gm.scan(np.zeros(3, dtype), backend="sim")


def test_other_layouts_are_refused_by_name(backend):
    a = gm.to_device(np.ones(9, "f4"), backend=backend)
    for variant in LADDER:
        with pytest.raises(ValueError, match=f"variant {variant.name} needs a C-contiguous"):
            variant(a[::2])


def test_out_must_fit(backend):
    a = np.ones(4)
    for out, error in [
        (np.empty(3), ValueError),
        (np.empty((2, 2)), ValueError),
        (np.empty(4, "f4"), TypeError),
        (a, ValueError),
    ]:
        with pytest.raises(error, match="out"):
            gm.scan(a, out=out, backend=backend)
    out = np.empty(4)
    assert gm.scan(a, out=out, backend=backend) is out and out.tolist() == [1, 2, 3, 4]


# ---- the oracle -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_oracle_finds_a_lost_element(dtype):
    a = np.linspace(1, 9, 5000).astype(dtype)
    check(oracle.expected("scan", a), a)
    lost = a.copy()
    lost[2000] = 0
    with pytest.raises(AssertionError):
        check(oracle.expected("scan", lost), a)
