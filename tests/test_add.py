"""add: every dtype, every memory kind, every variant."""

import itertools

import numpy as np
import pytest
from copy_cases import GuardedOutput, random_array
from hypothesis import given, settings
from hypothesis import strategies as st
from support import here

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

VARIANTS = gm.variants("add")
ON_SIM = [v for v in VARIANTS if v.reason_on("sim") is None]
DTYPES = ("i4", "i8", "u4", "u8", "f4", "f8")
KIND = {None: "pageable", "mapped": "mapped", "managed": "managed"}


def place(variant, *arrays, backend):
    return [oracle.placed(variant, a, backend) for a in arrays]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 31, 33, 1027, 65537, 2**20 + 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_dtype_and_size(variant, dtype, count, backend):
    here(variant, backend)
    a, b = oracle.arguments("add", count, dtype, seed=count)
    placed_a, placed_b = place(variant, a, b, backend=backend)
    out = oracle.placed(variant, np.full(count, 0x5A, dtype), backend)
    keywords = {"variant": variant.name}
    oracle.check("add", variant(placed_a, placed_b, out=out, backend=backend), a, b, **keywords)
    got = variant(placed_a, placed_b, backend=backend)
    oracle.check("add", got, a, b, **keywords)
    if variant.memory:
        assert gm.memory_kind(got) == variant.memory


@pytest.mark.parametrize("dtype", ["i4", "i8", "u4", "u8"])
def test_integers_wrap_around(dtype, backend):
    edge = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min, 5, 0, 1], dtype)
    one = np.array([1, np.iinfo(dtype).max, 7, 0, 2], dtype)
    with np.errstate(over="ignore"):
        assert np.array_equal(gm.add(edge, one, backend=backend), edge + one)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_special_numbers(dtype, backend):
    x = np.array([np.inf, np.inf, np.nan, -0.0, 0.0, np.finfo(dtype).max, 1e-45], dtype)
    y = np.array([-np.inf, np.inf, 1.0, -0.0, -0.0, np.finfo(dtype).max, 1e-45], dtype)
    with np.errstate(all="ignore"):
        wanted = x + y
    got = gm.add(x, y, backend=backend)
    assert np.array_equal(got, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(got[3:5]), np.signbit(wanted[3:5]))


@given(
    shape=st.lists(st.integers(0, 9), max_size=4).map(tuple),
    dtype=st.sampled_from(DTYPES),
    flip=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_random_shapes(shape, dtype, flip):
    a, b = oracle.arguments("add", shape, dtype, seed=3)
    if flip:
        a, b = a.T, b.T
    oracle.check("add", gm.add(a, b, backend="sim"), a, b)


@pytest.mark.parametrize(
    ("a", "b", "error", "words"),
    [
        (np.ones(3, "f4"), np.ones(3, "f8"), TypeError, "b has dtype float64.*a, float32"),
        (np.ones(3, "i4"), np.ones(3, "u4"), TypeError, "b has dtype uint32.*a, int32"),
        (np.ones(3, "f2"), np.ones(3, "f2"), TypeError, "a has dtype.*float16.*accepted is int32"),
        (np.ones(3, "c8"), np.ones(3, "c8"), TypeError, "a has dtype"),
        (np.ones(3, bool), np.ones(3, bool), TypeError, "a has dtype"),
        (np.ones(3), np.ones(4), ValueError, r"b has shape \(4,\), expected that of a, \(3,\)"),
        (np.ones((2, 3)), np.ones((3, 2)), ValueError, r"\(3, 2\), expected that of a, \(2, 3\)"),
        (np.ones((2, 3)), np.ones(3), ValueError, r"b has shape \(3,\)"),
        (np.ones(()), np.ones(1), ValueError, r"\(1,\), expected that of a, \(\)"),
    ],
)
def test_mismatched_inputs_are_refused(a, b, error, words, backend):
    with pytest.raises(error, match=words):
        gm.add(a, b, backend=backend)
    with pytest.raises(error, match=words):
        gm.add(gm.to_device(a, backend=backend), gm.to_device(b, backend=backend))


@pytest.mark.parametrize("name", ["zero_copy", "managed", "managed_prefetch"])
def test_memory_that_the_variant_cannot_use(name, backend):
    kind = gm.variants("add")[[v.name for v in VARIANTS].index(name)].memory
    good = gm.empty(5, kind=kind, backend=backend)
    good[:] = 1
    bad = np.ones(5, "f4")
    for x, y, out, where in (
        (bad, good, None, "a"),
        (good, bad, None, "b"),
        (good, good, np.zeros(5, "f4"), "out"),
    ):
        with pytest.raises(ValueError, match=rf"variant {name} needs {where} in .* pageable"):
            gm.add(x, y, variant=name, out=out, backend=backend)
    with pytest.raises(ValueError, match=r"it is in device memory"):
        gm.add(*(gm.to_device(a, backend=backend) for a in (bad, bad)), variant=name)


def test_zero_copy_accepts_all_page_locked_memory(backend):
    arrays = [
        gm.empty(1001, kind=k, backend=backend) for k in ("pinned", "write_combined", "mapped")
    ]
    for a in arrays:
        a[:] = 2
    for x in arrays:
        for out in arrays:
            if out is not x:
                out[:] = 0
                y = gm.empty(1001, kind="pinned", backend=backend)
                y[:] = 3
                assert gm.add(x, y, out=out, variant="zero_copy", backend=backend) is out
                assert (out == 5).all()
                out[:] = 2


def test_zero_copy_at_any_offset(backend):
    a, b, out = (gm.empty(1001, kind="mapped", backend=backend) for _ in range(3))
    a[:], b[:] = np.arange(1001), 1
    for i in range(5):
        out[:] = 7
        gm.add(a[i:], b[i:], out=out[i:], variant="zero_copy", backend=backend)
        assert np.array_equal(out[i:], a[i:] + 1) and (out[:i] == 7).all()
    with pytest.raises(ValueError, match="C-contiguous"):
        gm.add(a[::2], b[::2], variant="zero_copy", backend=backend)


@pytest.mark.parametrize(
    ("kind", "variant"),
    [("pageable", "explicit"), ("mapped", "zero_copy"), ("managed", "managed_prefetch")],
)
def test_auto_follows_the_memory_kind(kind, variant):
    """The result has the memory kind of the inputs; the named variant gives the same values."""
    a = gm.empty(5001, kind=kind, backend="sim")
    a[:] = np.arange(5001)
    got = gm.add(a, a, backend="sim")
    assert gm.memory_kind(got) == kind
    assert np.array_equal(got, gm.add(a, a, variant=variant, backend="sim"))


def test_out_must_not_overlap_an_input(backend):
    a, b = np.ones(9), np.ones(9)
    for out in (a, b):
        with pytest.raises(ValueError, match="out overlaps"):
            gm.add(a, b, out=out, backend=backend)


def test_device_views(backend, rng):
    a, b = rng.random((2, 40, 50))
    device_a, device_b = gm.to_device(a, backend=backend), gm.to_device(b, backend=backend)
    for view in (lambda v: v[::2], lambda v: v.T, lambda v: v[:, 1:], lambda v: v.reshape(-1)[1:]):
        if view(device_a).contiguous:
            pass
        assert np.array_equal(gm.add(view(device_a), view(device_b)).to_host(), view(a) + view(b))


# ---- slices --------------------------------------------------------------------------------

PLACES = list(itertools.product(range(4), repeat=3))  # elements before a, b and out
ENDS = [0, 1, 2, 3, 5, 31, 32, 33, 61, 64, 67, 97, 131, 257, 1031, 4099]


def add_slices(rng, backend, variant, dtype, count, places, poison=0x5A):
    """Add slices of fresh random arrays that have no element more; guard what is around the sum."""
    a, b = (random_array(rng, place + count, dtype) for place in places[:2])
    frame = GuardedOutput(backend, (places[2] + count) * a.itemsize, poison)
    expected = np.full(frame.out.shape, poison, "u1").view(dtype)
    with np.errstate(all="ignore"):
        expected[places[2] :] = a[places[0] :] + b[places[1] :]
    device_a, device_b = (gm.to_device(one, backend=backend) for one in (a, b))
    out = frame.out.view(dtype)[places[2] :]
    gm.add(device_a[places[0] :], device_b[places[1] :], out=out, variant=variant)
    if np.dtype(dtype).kind == "f":  # a NaN may come back as another
        after = frame.out.view(dtype).to_host()
        assert np.array_equal(after, expected, equal_nan=True), (places, count)
        expected = after
    frame.check(expected.view("u1"), (places, count))


@pytest.mark.parametrize("variant", ["auto", "explicit", "shifted"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_at_every_place_of_three_arrays(dtype, variant, backend, rng):
    for places in PLACES:
        add_slices(rng, backend, variant, dtype, int(rng.integers(150, 700)), places)


@pytest.mark.parametrize("variant", ["auto", "explicit", "shifted"])
@pytest.mark.parametrize("dtype", ["u4", "f8"])
@pytest.mark.parametrize("count", ENDS)
def test_slices_of_every_end(count, dtype, variant, backend, rng):
    """Of few elements, of several blocks, and of the lines and vectors around them."""
    for places in PLACES:
        add_slices(rng, backend, variant, dtype, count, places, int(rng.choice([0xAA, 0x55])))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_slice_added_to_itself(dtype, backend, rng):
    a = random_array(rng, 1500, dtype)
    device = gm.to_device(a, backend=backend)
    for begin in range(40):
        with np.errstate(all="ignore"):
            wanted = a[begin:] + a[begin:]
        got = gm.add(device[begin:], device[begin:]).to_host()
        assert np.array_equal(got, wanted, equal_nan=a.dtype.kind == "f")


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize("places", [(1, 1, 1), (1, 3, 0)])
def test_slices_of_more_elements_than_an_int_counts(places, rng):
    n = 2**31 + 1237
    row = rng.integers(0, 2**32, 2**20 - 3, dtype="u4")
    there = gm.to_device(row, backend="cuda")
    whole = gm.DeviceArray(n + 3, "u4", backend="cuda")
    for first in range(0, whole.size, row.size):
        part = whole[first : first + row.size]
        gm.copy(there[: part.size], out=part)
    out = gm.DeviceArray(n + 3, "u4", backend="cuda")
    out.fill_bytes(0xA5)
    out = out[places[2] : places[2] + n]
    gm.add(*(whole[place : place + n] for place in places[:2]), out=out)
    for start in (0, 2**30, 2**31 - 500, n - 1000, *rng.integers(0, n - 1000, 20)):
        indices = np.arange(start, start + 1000)
        a, b = (row[(indices + place) % row.size] for place in places[:2])
        assert np.array_equal(out[int(start) : int(start) + 1000].to_host(), a + b)


def traced(places, dtype, count):
    a, b, out = (gm.DeviceArray(k + count, dtype, backend="sim")[k:] for k in places)
    return gm.Traffic(_core.traffic("add", "auto", (a, b), (), out))


def equally_far(places, dtype):
    """Whether they are as many elements behind a vector."""
    return len({place % (16 // np.dtype(dtype).itemsize) for place in places}) == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_auto_joins_what_is_not_equally_far_behind_a_vector(dtype):
    for places in PLACES:
        wanted = "explicit" if equally_far(places, dtype) else "shifted"
        assert traced(places, dtype, 100).variant == wanted, places


@pytest.mark.parametrize("dtype", ["f4", "i8"])
@pytest.mark.parametrize(
    "places", [(0, 0, 0), (1, 1, 1), (3, 3, 3), (1, 2, 0), (0, 1, 0), (3, 3, 2), (0, 1, 3)]
)
def test_slices_are_added_in_whole_vectors(places, dtype):
    counted = traced(places, dtype, 2**14)
    sectors = 2**14 * np.dtype(dtype).itemsize // 32
    assert counted.loads.width == counted.stores.width == 128
    assert sectors <= counted.stores.sectors <= sectors + 8
    # The last lane of a warp, which has 16 sectors of each input, loads one more if it is shifted.
    most = 2 * sectors if equally_far(places, dtype) else 2 * sectors * (1 + 2 / 16)
    assert 2 * sectors <= counted.loads.sectors <= most + 16


def test_bench_gives_a_reason_for_skipped_variants():
    result = gm.bench("add", sizes="4K", backend="sim")
    reasons = {r["variant"]: r["reason"] for r in result.records}
    assert "mapped memory" in reasons["zero_copy"] and "managed memory" in reasons["managed"]
