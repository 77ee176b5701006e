"""strided_read: every variant with every slice, dtype, layout and address."""

import numpy as np
import pytest
from access import (
    BEYOND,
    COUNT,
    DRAWN_DTYPES,
    DTYPES,
    FEWER,
    LADDER,
    ODD_DTYPES,
    SIZES,
    SLICED,
    SLICES,
    VIEWS,
    by_element,
    drawn_name,
    guarded,
    random_bytes,
    touched,
)
from hypothesis import given
from hypothesis import strategies as st
from support import here

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle, table
from gpumem.families.table import find

VARIANTS = gm.variants("strided_read")
# What takes any dtype and any layout.
GENERAL = pytest.mark.parametrize(
    "run", [gm.strided_read, find("strided_read", "strided")], ids=["auto", "strided"]
)


def read_and_check(rng, run, a, there, offset, stride, backend):
    """Read a slice of `there`, which holds `a`, into guarded memory."""
    wanted = a[offset::stride]
    out = guarded(rng, wanted.shape, a.dtype, backend)
    assert run(there, offset=offset, stride=stride, out=out.array) is out.array
    out.check("strided_read", wanted)


# ---- every size, element and slice ------------------------------------------------


@by_element(VARIANTS, DTYPES.values())
def test_every_slice_on_the_device(variant, dtype, backend, rng):
    here(variant, backend)
    for n in SIZES:
        a = random_bytes(rng, (n,), dtype)
        there = gm.to_device(a, backend=backend)
        for offset, stride in SLICES if n > 2000 else SLICES + BEYOND:
            read_and_check(rng, variant, a, there, offset, stride, backend)
        assert there.to_host().tobytes() == a.tobytes()


@pytest.mark.parametrize("dtype", [*DTYPES.values(), *ODD_DTYPES])
@GENERAL
def test_any_dtype(run, dtype, backend, rng):
    for n in [0, 1, 33, 1027]:
        a = random_bytes(rng, (n,), dtype)
        there = gm.to_device(a, backend=backend)
        for offset, stride in SLICES:
            read_and_check(rng, run, a, there, offset, stride, backend)


def test_structures_with_padding(backend, rng):
    """Every byte of an element is copied, the padding between the fields included."""
    dtype = np.dtype([("small", "u1"), ("large", "f8")], align=True)
    a = random_bytes(rng, (100,), dtype)
    got = gm.strided_read(a, 1, 3, backend=backend)
    assert got.dtype == dtype
    assert got.tobytes() == a.view(f"V{dtype.itemsize}")[1::3].tobytes()


def test_the_defaults_are_offset_1_stride_2(backend):
    assert gm.strided_read(np.arange(9), backend=backend).tolist() == [1, 3, 5, 7]


@pytest.mark.parametrize("integer", [np.int64, np.int8, np.uint16, np.array], ids=str)
def test_any_kind_of_integer(integer, backend):
    got = gm.strided_read(np.arange(9), integer(2), stride=integer(3), backend=backend)
    assert got.tolist() == [2, 5, 8]


@FEWER
@given(data=st.data(), n=st.integers(0, 300), sliced=SLICED, dtype=DRAWN_DTYPES)
def test_drawn_slices(backend, data, n, sliced, dtype):
    offset, stride = sliced
    a = random_bytes(np.random.default_rng(data.draw(st.integers(0, 2**32))), (n,), dtype)
    name = drawn_name(data, "strided_read", dtype)
    got = gm.strided_read(a, offset, stride, variant=name, backend=backend)
    oracle.compare("strided_read", got, a[offset::stride])


# ---- layouts and addresses ------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
def test_any_layout_from_the_host(view, backend, rng):
    part = VIEWS[view](random_bytes(rng, (120,), "f8"))
    for offset, stride in SLICES:
        got = gm.strided_read(part, offset, stride, backend=backend)
        oracle.compare("strided_read", got, part[offset::stride])


def test_an_unaligned_array_on_the_host(backend, rng):
    a = random_bytes(rng, (401,), "u1")[1:].view("f8")
    oracle.compare("strided_read", gm.strided_read(a, 3, 2, backend=backend), a[3::2].copy())


def test_a_read_only_array_on_the_host(backend):
    a = np.ones(5)
    a.flags.writeable = False
    assert gm.strided_read(a, backend=backend).tolist() == [1, 1]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V3", "V24"])
@GENERAL
def test_any_layout_on_the_device(run, dtype, view, backend, rng):
    whole = random_bytes(rng, (120,), dtype)
    there = VIEWS[view](gm.to_device(whole, backend=backend))
    for offset, stride in SLICES:
        read_and_check(rng, run, VIEWS[view](whole), there, offset, stride, backend)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V6"])
@pytest.mark.parametrize("shift", range(0, 18))
def test_auto_takes_any_address(dtype, shift, backend, rng):
    for into, of in [(shift, 0), (0, shift), (shift, (7 * shift + 3) % 19)]:
        for n in (70, 300):
            a = guarded(rng, (n,), dtype, backend, of)
            wanted = a.array.to_host()[1::2]
            out = guarded(rng, wanted.shape, dtype, backend, into)
            gm.strided_read(a.array, out=out.array)
            out.check("strided_read", wanted)
            a.untouched()


@pytest.mark.parametrize("gap", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V6"])
@GENERAL
def test_a_field_of_packed_records(run, dtype, gap, backend, rng):
    """Steps between elements are not a multiple of the element size."""
    size = np.dtype(dtype).itemsize
    records = random_bytes(rng, (70, gap + size), "u1")
    there = gm.to_device(records, backend=backend)[:, gap:].view(dtype)[:, 0]
    a = records[:, gap:].view(dtype)[:, 0].copy()
    for offset, stride in SLICES:
        read_and_check(rng, run, a, there, offset, stride, backend)


# ---- words ------------------------------------------------

WORDS = find("strided_read", "words")
WORD = 4  # bytes
SMALL = pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
STEPS = [1, 2, 3, 5, 6, 15, 40, -1, -2, -3, -17]


def of_counts(rng, dtype, count, stride):
    """An array of which the slice from `offset` has `count` elements; and the offset."""
    first = 3 if stride > 0 else -1 - 3
    a = random_bytes(rng, (max(count - 1, 0) * abs(stride) + 1 + 3,), dtype)
    offset = first if count else a.size if stride > 0 else -a.size - 1
    assert len(a[offset::stride]) == count
    return a, offset


def edges(dtype):
    """Counts about whole words and whole blocks, which have 1024 words."""
    each = WORD // np.dtype(dtype).itemsize
    counts = (0, 1, 3, 4, 5, 4095, 4096, 4097, 1024 * each - 1, 1024 * each + 1, 3 * 4096 + 2)
    return sorted({*counts, 5 * 1024 * each})


@SMALL
@pytest.mark.parametrize("stride", STEPS)
def test_words_of_any_count(stride, dtype, backend, rng):
    here(WORDS, backend)
    for count in edges(dtype):
        a, offset = of_counts(rng, dtype, count, stride)
        there = guarded(rng, a.shape, dtype, backend, 5 * a.itemsize, values=a)
        for shift in (0, WORD, 3 * WORD):
            out = guarded(rng, (count,), dtype, backend, shift)
            WORDS(there.array, offset, stride, out=out.array)
            out.check("strided_read", a[offset::stride])
        there.untouched()


@SMALL
@pytest.mark.parametrize("stride", [2, 3, -1])
def test_words_under_observation(stride, dtype, rng):
    """No race, no stray access, and none that is not aligned; each element is loaded once."""
    for count in edges(dtype):
        a, offset = of_counts(rng, dtype, count, stride)
        for threads in (None, 32, 96, 1024):
            keywords = {"offset": offset, "stride": stride, "threads": threads}
            t = gm.traffic("strided_read", a, variant=WORDS, **keywords)
            oracle.compare("strided_read", np.asarray(t.result), a[offset::stride])
            assert t.loads.bytes_asked == t.stores.bytes_asked == count * a.itemsize


@pytest.mark.parametrize("stride", [3, -2])
@pytest.mark.parametrize(
    ("dtype", "shift"), [("u1", 1), ("u1", 2), ("u1", 3), ("u1", 7), ("u2", 2)]
)
def test_words_of_a_result_at_an_odd_byte(dtype, shift, stride, backend, rng):
    """Refused by name; auto is right, and loads as many at a time as it can."""
    here(WORDS, backend)
    said = (
        rf"variant words needs a result that begins at a multiple of 4 bytes, this one is "
        rf'{shift % WORD} beyond one \(variant="auto" takes any alignment\)$'
    )
    for count in (1, 5, 4097):
        a, offset = of_counts(rng, dtype, count, stride)
        there = gm.to_device(a, backend=backend)
        out = guarded(rng, (count,), dtype, backend, shift)
        with pytest.raises(ValueError, match=said):
            WORDS(there, offset, stride, out=out.array)
        out.untouched()
        gm.strided_read(there, offset, stride, out=out.array)
        out.check("strided_read", a[offset::stride])


def chosen(a, out, **parameters):
    counted = _core.traffic(
        "strided_read", "auto", (a,), table.parameters("strided_read", parameters), out
    )
    return counted["variant"]


def test_what_auto_takes_by_the_result(rng):
    """Whole words if it begins with one; else four loads in flight."""
    a = gm.to_device(random_bytes(rng, (400,), "u1"), backend="sim")
    whole = gm.to_device(random_bytes(rng, (300,), "u1"), backend="sim")
    for shift in range(9):
        out = whole[shift : shift + 100]
        wanted = "words" if shift % WORD == 0 else "unroll4"
        for part, offset, stride in ((out[:80], 0, 5), (out, -1, -4)):
            assert chosen(a, part, offset=offset, stride=stride) == wanted
            assert part.to_host().tobytes() == a.to_host()[offset::stride].tobytes()


# ---- traffic ------------------------------------------------


def test_backwards_is_as_good_as_forwards(rng):
    a = random_bytes(rng, (2**13,), "f4")
    for name in LADDER:
        t = gm.traffic("strided_read", a, variant=name, offset=-1, stride=-1)
        assert (t.loads.sectors_per_request, t.loads.efficiency) == (4, 1)


@SMALL
@pytest.mark.parametrize("stride", [1, 2, 3, 7, -3])
def test_words_store_words(stride, dtype, rng):
    """One request stores 32 words, of elements that are each loaded by a request of their own."""
    n = COUNT * abs(stride)
    a = random_bytes(rng, (n,), dtype)
    offset = 0 if stride > 0 else -1
    t = gm.traffic("strided_read", a, variant=WORDS, offset=offset, stride=stride)
    each = WORD // a.itemsize
    assert (t.stores.width, t.stores.requests) == (8 * WORD, COUNT // (32 * each))
    assert (t.stores.sectors_per_request, t.stores.efficiency) == (4, 1)
    assert (t.loads.width, t.loads.requests) == (8 * a.itemsize, COUNT // 32)
    places = np.arange(n)[offset::stride].reshape(-1, 32, each).swapaxes(1, 2)
    assert t.loads.sectors == touched(places, a.itemsize, 32)
