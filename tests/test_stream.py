"""stream: every variant and mix of rows against NumPy; layouts, traffic and refusals."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import here

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

LADDER = gm.variants("stream")
VECTORS = LADDER[1:]
DTYPES = ["u4", "i4"]
MIXES = [(reads, writes) for reads in range(5) for writes in range(5)]
# Around a vector, a warp of them, a step of a block and of a tile, and past all blocks.
LENGTHS = [0, 1, 3, 4, 5, 127, 128, 132, 1024, 4092, 4096, 8192, 8196, 65_537]
DRAWN = settings(deadline=None, max_examples=80, suppress_health_check=list(HealthCheck))


def numbers(rng, shape, dtype="u4"):
    return rng.integers(0, 2**32, shape, dtype=np.uint32).view(dtype)


def wanted(a, writes):
    """Return the result, row by row."""
    row = np.zeros(a.shape[1], a.dtype)
    for one in a:
        row = row ^ one
    if writes:
        return np.array([row ^ a.dtype.type(w) for w in range(writes)], a.dtype)
    word = a.dtype.type(0)
    for one in row:
        word = word ^ one
    return np.array(word)


def poisoned(a, writes, backend):
    shape = (writes, a.shape[1]) if writes else ()
    out = gm.DeviceArray(shape, a.dtype, backend=backend)
    out.fill_bytes(0xA5)
    return out


def test_variants_in_order():
    assert [v.name for v in LADDER] == ["scalar", "vec4", "tiles"]


# ---- against NumPy ----------------------------------------------------------------------------


@pytest.mark.parametrize(("reads", "writes"), MIXES)
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_every_mix_and_length(variant, reads, writes, backend, rng):
    here(variant, backend)
    for n in LENGTHS:
        if variant in VECTORS and n % 4:
            continue
        a = numbers(rng, (reads, n))
        there, out = gm.to_device(a, backend=backend), poisoned(a, writes, backend)
        assert variant(there, writes, out=out) is out
        assert np.array_equal(out.to_host(), wanted(a, writes)), n
        assert there.to_host().tobytes() == a.tobytes()


@pytest.mark.parametrize("writes", [0, 1, 4])
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_more_steps_than_one(variant, writes, backend, rng):
    """Each block walks several times, and the last step is not a whole one."""
    here(variant, backend)
    for shape in ((1, 2_500_004), (2, 1_400_012), (0, 1_200_004)):
        a = numbers(rng, shape)
        got = variant(gm.to_device(a, backend=backend), writes).to_host()
        oracle.check("stream", got, a, writes=writes)


@given(
    reads=st.integers(0, 4),
    writes=st.integers(0, 4),
    n=st.integers(0, 20000),
    begin=st.integers(0, 3),
)
@DRAWN
def test_auto_at_any_place(backend, reads, writes, n, begin):
    memory = numbers(np.random.default_rng(n), reads * n + begin)
    there = gm.to_device(memory, backend=backend)[begin:].reshape(reads, n)
    a = memory[begin:].reshape(reads, n)
    assert np.array_equal(gm.stream(there, writes).to_host(), wanted(a, writes))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_host_arrays(dtype, backend, rng):
    a = numbers(rng, (2, 1000), dtype)
    for writes in (0, 1, 3):
        got = gm.stream(a, writes, backend=backend)
        assert got.dtype == a.dtype and np.array_equal(got, wanted(a, writes))
    assert np.array_equal(gm.stream(a, backend=backend), wanted(a, 1))


def test_any_layout(backend, rng):
    a = numbers(rng, (12, 40))
    there = gm.to_device(a, backend=backend)
    for view in (
        lambda v: v[::3],
        lambda v: v[:4, ::-2],
        lambda v: v[:, :3].T,
        lambda v: v[5:5],
        lambda v: v[:3, :0],
    ):
        for writes in (0, 2):
            assert np.array_equal(
                gm.stream(view(there), writes).to_host(), wanted(np.asarray(view(a)), writes)
            )
            assert np.array_equal(
                gm.stream(view(a), writes, backend=backend), wanted(np.asarray(view(a)), writes)
            )


def test_a_result_of_any_layout(backend, rng):
    a = numbers(rng, (2, 33))
    memory = gm.DeviceArray((33, 5), "u4", backend=backend)
    gm.stream(gm.to_device(a, backend=backend), 2, out=memory[:, 1:4:2].T)
    assert np.array_equal(memory.to_host()[:, 1:4:2].T, wanted(a, 2))


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_more_than_2_31_elements(variant):
    n = 2**31 + 12
    a = gm.DeviceArray((1, n), "u4", backend="cuda")
    a.fill_bytes(0)
    a[:, n - 1 :] = np.array([[77]], "u4")
    a[:, :1] = np.array([[5]], "u4")
    assert variant(a, 0).to_host() == 77 ^ 5
    out = gm.DeviceArray((1, n), "u4", backend="cuda")
    out.fill_bytes(0xA5)
    variant(a, 1, out=out)
    assert out[:, n - 1 :].to_host() == 77 and out[:, :1].to_host() == 5
    assert variant(out, 0).to_host() == 77 ^ 5


# ---- traffic ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("reads", "writes"), MIXES)
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_each_row_is_read_and_written_once(variant, reads, writes, rng):
    n = 36_868
    a = numbers(rng, (reads, n))
    counted = gm.traffic("stream", a, variant=variant, writes=writes)
    assert counted.loads.bytes_asked == 4 * n * reads
    assert counted.stores.bytes_asked == 4 * n * writes


@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_a_block_joins_its_words_once(variant, rng):
    counted = _core.traffic("stream", variant.name, (numbers(rng, (1, 2**16)),), (0,))
    atomics = [s for s in counted["sites"] if (s["space"], s["kind"]) == ("global", "atomic")]
    assert sum(s["lanes"] for s in atomics) == counted["grid"][0]


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "i8", "u2", "?", "S4"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match=r"a has dtype .*accepted is int32, uint32"):
        gm.stream(np.zeros((1, 3), dtype), backend="sim")


@pytest.mark.parametrize(
    ("shape", "keywords", "error", "words"),
    [
        ((5, 3), {}, ValueError, "a has 5 rows, expected at most 4"),
        ((7,), {}, ValueError, "a has 1 dimension, expected 2: rows of words"),
        ((1, 3), {"writes": 5}, ValueError, "writes is 5, expected 0 to 4"),
        ((1, 3), {"writes": -1}, ValueError, "writes is -1, expected 0 to 4"),
        ((1, 3), {"writes": 1.0}, TypeError, "writes must be an integer, not float"),
    ],
)
def test_shapes_and_numbers_out_of_range(shape, keywords, error, words, backend):
    with pytest.raises(error, match=words):
        gm.stream(np.zeros(shape, "u4"), backend=backend, **keywords)


@pytest.mark.parametrize("variant", VECTORS, ids=str)
def test_vectors_need_whole_rows_at_aligned_addresses(variant, backend):
    here(variant, backend)
    there = gm.to_device(np.zeros(101, "u4"), backend=backend)
    with pytest.raises(ValueError, match=f"variant {variant.name} needs rows whose length is a"):
        variant(there[:100].reshape(2, 50))
    with pytest.raises(ValueError, match=f"variant {variant.name} needs a aligned to 16 bytes"):
        variant(there[1:].reshape(1, 100))


def test_out_must_fit(backend):
    a = np.zeros((2, 8), "u4")
    for writes, out, error in [
        (1, np.empty((2, 8), "u4"), ValueError),
        (1, np.empty(8, "u4"), ValueError),
        (0, np.empty((1, 8), "u4"), ValueError),
        (1, np.empty((1, 8), "i4"), TypeError),
        (1, a[:1], ValueError),
    ]:
        with pytest.raises(error, match="out"):
            gm.stream(a, writes, out=out, backend=backend)


# ---- the oracle -------------------------------------------------------------------------------


def test_the_oracle_is_the_xor_of_the_rows(rng):
    for reads, writes in MIXES:
        a = numbers(rng, (reads, 9))
        got = oracle.expected("stream", a, writes=writes)
        assert got.dtype == a.dtype and np.array_equal(got, wanted(a, writes))
        assert got.shape == wanted(a, writes).shape


def test_the_oracle_finds_a_lost_word(rng):
    a = numbers(rng, (2, 100)) | np.uint32(1)
    for writes in (0, 1):
        lost = a.copy()
        lost[1, 57] = 0
        with pytest.raises(AssertionError):
            oracle.check("stream", wanted(lost, writes), a, writes=writes)


def test_the_work_of_a_mix():
    assert oracle.work("stream", (2, 100), "uint32", writes=1) == (1200, None)
    assert oracle.work("stream", (0, 100), "uint32", writes=3) == (1200, None)
    assert oracle.work("stream", (1, 100), "uint32", writes=0) == (404, None)
