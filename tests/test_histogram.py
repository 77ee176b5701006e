"""histogram: every variant and length against NumPy; one value, layouts, counts and refusals."""

import numpy as np
import pytest
from support import here

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

LADDER = gm.variants("histogram")
ANY_ALIGNMENT = [v for v in LADDER if v.alignment == 0]
# Around a vector of 16 bytes, a warp's bytes, a block's, and past several blocks.
LENGTHS = [0, 1, 15, 16, 17, 31, 511, 513, 8191, 32768, 32769, 100_003]


def poisoned(backend):
    out = gm.DeviceArray((256,), "u8", backend=backend)
    out.fill_bytes(0xA5)
    return out


def check(got, a):
    oracle.check("histogram", got, a)


def test_variants_in_order():
    assert [v.name for v in LADDER] == [
        "global_atomic",
        "shared",
        "per_warp",
        "vec16",
        "lane_banks",
    ]


# ---- against NumPy ----------------------------------------------------------------------------


@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_every_length(variant, backend, rng):
    here(variant, backend)
    for n in LENGTHS:
        a = rng.integers(0, 256, n, dtype="u1")
        there, out = gm.to_device(a, backend=backend), poisoned(backend)
        assert variant(there, out=out) is out
        check(out.to_host(), a)
        assert there.to_host().tobytes() == a.tobytes()


@pytest.mark.parametrize("variant", LADDER, ids=str)
@pytest.mark.parametrize("value", [0, 7, 128, 255])
def test_one_value(variant, value, backend):
    here(variant, backend)
    a = np.full(70_001, value, "u1")
    got = variant(a, backend=backend)
    assert got[value] == a.size and got.sum() == a.size
    assert got.dtype == np.uint64 and got.shape == (256,)


@pytest.mark.parametrize("variant", ANY_ALIGNMENT, ids=str)
def test_every_alignment(variant, backend, rng):
    """The bytes in front of the first vector and behind the last, also where there is none."""
    here(variant, backend)
    a = rng.integers(0, 256, 200, dtype="u1")
    there = gm.to_device(a, backend=backend)
    for begin in range(17):
        for n in (0, 1, 3, 14, 15, 16, 17, 33, 180):
            check(variant(there[begin : begin + n]).to_host(), a[begin : begin + n])


def test_any_shape_and_layout(backend, rng):
    a = rng.integers(0, 256, (13, 40, 7), dtype="u1")
    there = gm.to_device(a, backend=backend)
    for view in (
        lambda v: v,
        lambda v: v.T,
        lambda v: v[::-1, ::3],
        lambda v: v[:0],
        lambda v: v[1, 2, 3],
        lambda v: v[:, :, 0],
    ):
        check(gm.histogram(view(there)).to_host(), np.asarray(view(a)))
        check(gm.histogram(view(a), backend=backend), np.asarray(view(a)))


def test_a_result_of_any_layout(backend, rng):
    a = rng.integers(0, 256, 5000, dtype="u1")
    wanted = np.bincount(a, minlength=256)
    memory = gm.DeviceArray((256, 3), "u8", backend=backend)
    gm.histogram(gm.to_device(a, backend=backend), out=memory[:, 1])
    assert np.array_equal(memory.to_host()[:, 1], wanted)
    here_too = np.zeros((256, 2), "u8")
    gm.histogram(a, out=here_too[::-1, 0], backend=backend)
    assert np.array_equal(here_too[::-1, 0], wanted) and not here_too[:, 1].any()
    raw = gm.DeviceArray((2049,), "u1", backend=backend)
    gm.histogram(gm.to_device(a, backend=backend), out=raw[1:].view("u8"))
    assert np.array_equal(raw[1:].to_host().view("u8"), wanted)


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize("variant", ANY_ALIGNMENT, ids=str)
def test_more_than_2_32_bytes(variant):
    a = gm.DeviceArray((2**32 + 6,), "u1", backend="cuda")
    a.fill_bytes(7)
    got = variant(a[1:]).to_host()
    assert got[7] == got.sum() == 2**32 + 5


# ---- traffic ----------------------------------------------------------------------------------


def test_one_value_is_no_slower_with_a_bank_per_lane():
    """The same passes through the banks, and one for each request."""
    n = 2**16
    passes = []
    for a in (np.full(n, 9, "u1"), np.random.default_rng(2).integers(0, 256, n, dtype="u1")):
        shared = gm.traffic("histogram", a, variant="lane_banks").shared
        assert shared.bank_ways == 1 and shared.atomics.requests == n // 32
        assert shared.atomics.bytes_asked == 4 * n  # no two lanes at one counter
        passes.append(shared.passes)
    assert passes[0] == passes[1]


def test_lanes_with_equal_bytes_meet_at_one_counter_otherwise():
    a = np.full(2**14, 9, "u1")
    for name in ("shared", "per_warp", "vec16"):
        atomics = gm.traffic("histogram", a, variant=name).shared.atomics
        assert atomics.bytes_asked == 4 * atomics.requests


def test_blocks_add_their_counts_once():
    a = np.arange(2**17, dtype=np.uint32).astype("u1")
    for variant in LADDER[1:]:
        counted = _core.traffic("histogram", variant.name, (a,), ())
        atomics = [s for s in counted["sites"] if (s["space"], s["kind"]) == ("global", "atomic")]
        assert sum(s["lanes"] for s in atomics) == 256 * counted["grid"][0]


@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_no_races_at_any_length(variant):
    for n in (0, 1, 17, 33_000):
        gm.traffic("histogram", np.ones(n, "u1"), variant=variant)


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["i1", "?", "u2", "f4", "S1", "V1"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match=r"a has dtype .*accepted is uint8"):
        gm.histogram(np.zeros(3, dtype), backend="sim")


def test_unaligned_vectors_are_refused_by_name(backend):
    a = gm.to_device(np.ones(99, "u1"), backend=backend)
    with pytest.raises(ValueError, match="variant vec16 needs a aligned to 16 bytes"):
        gm.histogram(a[1:], variant="vec16")
    with pytest.raises(ValueError, match="variant shared needs a C-contiguous"):
        gm.histogram(a[::2], variant="shared")


def test_out_must_fit(backend):
    a = np.ones(2048, "u1")
    for out, error, words in [
        (np.empty(255, "u8"), ValueError, "out"),
        (np.empty(256, "i8"), TypeError, "out has dtype .*int64.*, expected .*uint64"),
        (np.empty(256, "u1"), TypeError, "out has dtype .*uint8.*, expected .*uint64"),
        (a.view("u8"), ValueError, "out overlaps a"),
    ]:
        with pytest.raises(error, match=words):
            gm.histogram(a, out=out, backend=backend)
        if not np.shares_memory(a, out):
            with pytest.raises(error, match=words):
                there = gm.to_device(a, backend=backend)
                gm.histogram(there, out=gm.to_device(out, backend=backend))
    out = np.empty(256, "u8")
    assert gm.histogram(a, out=out, backend=backend) is out and out[1] == 2048


# ---- the oracle -------------------------------------------------------------------------------


def test_the_oracle_finds_a_lost_byte(rng):
    a = rng.integers(0, 256, 1000, dtype="u1")
    check(oracle.expected("histogram", a), a)
    with pytest.raises(AssertionError):
        check(oracle.expected("histogram", a[1:]), a)
