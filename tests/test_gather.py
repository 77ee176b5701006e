"""gather: every variant with every index, dtype, layout and address; indices out of range."""

import numpy as np
import pytest
from access import (
    COUNT,
    DRAWN_DTYPES,
    DTYPES,
    FEWER,
    LADDER,
    ODD_DTYPES,
    SIZES,
    VIEWS,
    by_element,
    drawn_name,
    far_indices,
    guarded,
    indices,
    led_to,
    random_bytes,
    raw,
    taken,
    touched,
)
from hypothesis import given
from hypothesis import strategies as st
from support import here

import gpumem as gm
from gpumem.count.traffic import Access
from gpumem.families import oracle
from gpumem.families.table import find

VARIANTS = gm.variants("gather")
RUNGS = [v for v in VARIANTS if v.name in LADDER]
# What takes any dtype and any layout.
GENERAL = pytest.mark.parametrize("run", [gm.gather, find("gather", "any")], ids=["auto", "any"])


def gather_and_check(rng, run, a, there, index, backend):
    """Gather from `there`, which holds `a`, into guarded memory."""
    wanted = taken(a, index)
    out = guarded(rng, wanted.shape, a.dtype, backend)
    assert run(there, gm.to_device(index, backend=backend), out=out.array) is out.array
    out.check("gather", wanted)


# ---- every size, element and index ------------------------------------------------


@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@by_element(VARIANTS, DTYPES.values())
def test_every_size_on_the_device(variant, dtype, index_dtype, backend, rng):
    here(variant, backend)
    for n in SIZES:
        a = random_bytes(rng, (n,), dtype)
        there = gm.to_device(a, backend=backend)
        counts = SIZES if n == 97 else {0, n, 1027}
        for count in counts if n else [0]:
            index = indices(rng, n, (count,), index_dtype)
            gather_and_check(rng, variant, a, there, index, backend)
        assert there.to_host().tobytes() == a.tobytes()


@pytest.mark.parametrize("dtype", [*DTYPES.values(), *ODD_DTYPES])
@GENERAL
def test_any_dtype(run, dtype, backend, rng):
    for n in [0, 1, 33, 1027]:
        a = random_bytes(rng, (n,), dtype)
        there = gm.to_device(a, backend=backend)
        for index_dtype in ("i4", "i8"):
            index = indices(rng, n, (65 if n else 0,), index_dtype)
            gather_and_check(rng, run, a, there, index, backend)


def test_structures_with_padding(backend, rng):
    """Every byte of an element is copied, the padding between the fields included."""
    dtype = np.dtype([("small", "u1"), ("large", "f8")], align=True)
    a = random_bytes(rng, (100,), dtype)
    index = indices(rng, 100, (40,), "i8")
    got = gm.gather(a, index, backend=backend)
    assert got.tobytes() == a.view(f"V{dtype.itemsize}")[index].tobytes()


@pytest.mark.parametrize("shape", [(), (1,), (7, 3), (2, 0, 3), (4, 5, 2, 3)], ids=str)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_index_gives_the_shape(variant, shape, backend, rng):
    here(variant, backend)
    a = random_bytes(rng, (50,), "f4")
    there = gm.to_device(a, backend=backend)
    for dtype in ("i4", "i8"):
        index = np.asarray(indices(rng, 50, shape, dtype))
        gather_and_check(rng, variant, a, there, index, backend)
        got = variant(a, index, backend=backend)
        oracle.compare("gather", np.asarray(got), taken(a, index))


@FEWER
@given(data=st.data(), n=st.integers(1, 300), dtype=DRAWN_DTYPES)
def test_drawn_indices(backend, data, n, dtype):
    a = random_bytes(np.random.default_rng(data.draw(st.integers(0, 2**32))), (n,), dtype)
    index = data.draw(st.lists(st.integers(-n, n - 1), max_size=100))
    index = np.array(index, data.draw(st.sampled_from(["i4", "i8"])))
    name = drawn_name(data, "gather", dtype)
    got = gm.gather(a, index, variant=name, backend=backend)
    oracle.compare("gather", got, a[index])


# ---- layouts and addresses ------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
def test_any_layout_from_the_host(view, backend, rng):
    part = VIEWS[view](random_bytes(rng, (120,), "f8"))
    index = indices(rng, part.size, (6, 8) if part.size else (0, 8), "i8").T[::-1]
    oracle.compare("gather", gm.gather(part, index, backend=backend), part[index])


def test_unaligned_arrays_on_the_host(backend, rng):
    a = random_bytes(rng, (401,), "u1")[1:].view("f8")
    index = np.frombuffer(b"x" + indices(rng, 50, (20,), "i8").tobytes(), "u1")[1:].view("i8")
    oracle.compare("gather", gm.gather(a, index, backend=backend), a[index].copy())


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V3", "V24"])
@GENERAL
def test_any_layout_on_the_device(run, dtype, view, backend, rng):
    whole = random_bytes(rng, (120,), dtype)
    part, there = VIEWS[view](whole), VIEWS[view](gm.to_device(whole, backend=backend))
    index = indices(rng, part.size, (50 if part.size else 0,), "i8")
    gather_and_check(rng, run, part, there, index, backend)


# Views of an index of 6 by 8.
INDEX_VIEWS = {
    "steps": lambda i: i.reshape(-1)[::3],
    "reversed": lambda i: i.reshape(-1)[::-1],
    "row": lambda i: i[4],
    "column": lambda i: i[:, 5],
    "part": lambda i: i[2:5],
    "some-rows": lambda i: i[::2],
    "some-columns": lambda i: i[:, 1::3],
    "transposed": lambda i: i.T,
    "both-reversed": lambda i: i[::-1, ::-1],
    "none": lambda i: i[3:3, ::2],
}


@pytest.mark.parametrize("view", INDEX_VIEWS)
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@GENERAL
def test_any_layout_of_the_index(run, index_dtype, view, backend, rng):
    for dtype in ("u1", "f4", "V12"):
        a = random_bytes(rng, (50,), dtype)
        index = indices(rng, 50, (6, 8), index_dtype)
        there = INDEX_VIEWS[view](gm.to_device(index, backend=backend))
        wanted = taken(a, INDEX_VIEWS[view](index))
        out = guarded(rng, wanted.shape, dtype, backend)
        assert run(gm.to_device(a, backend=backend), there, out=out.array) is out.array
        out.check("gather", wanted)


@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@GENERAL
def test_any_address_of_the_index(run, index_dtype, backend, rng):
    a = random_bytes(rng, (50,), "f4")
    for shift in range(9):
        index = indices(rng, 50, (33,), index_dtype)
        there = guarded(rng, index.shape, index_dtype, backend, shift, values=index)
        got = run(gm.to_device(a, backend=backend), there.array)
        oracle.compare("gather", got.to_host(), a[index])


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V6"])
@pytest.mark.parametrize("shift", range(0, 18))
def test_auto_takes_any_address(dtype, shift, backend, rng):
    for into, of in [(shift, 0), (0, shift), (shift, (7 * shift + 3) % 19)]:
        for n in (70, 300):
            a = guarded(rng, (n,), dtype, backend, of)
            index = indices(rng, n, (n + 3,), "i4")
            out = guarded(rng, index.shape, dtype, backend, into)
            gm.gather(a.array, gm.to_device(index, backend=backend), out=out.array)
            out.check("gather", a.array.to_host()[index])
            a.untouched()


@pytest.mark.parametrize("gap", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V6"])
@GENERAL
def test_fields_of_packed_records(run, dtype, gap, backend, rng):
    """Steps between elements, and between values of the index, are not multiples of their size."""

    def field(records, of):
        return records[:, gap:].view(of)[:, 0]

    records = random_bytes(rng, (70, gap + np.dtype(dtype).itemsize), "u1")
    there = gm.to_device(records, backend=backend)
    for index_dtype in ("i4", "i8"):
        index = indices(rng, 70, (70,), index_dtype)
        index_records = random_bytes(rng, (70, gap + index.itemsize), "u1")
        field(index_records, index_dtype)[:] = index
        index_there = field(gm.to_device(index_records, backend=backend), index_dtype)
        out = guarded(rng, index.shape, dtype, backend)
        run(field(there, dtype), index_there, out=out.array)
        out.check("gather", field(records, dtype)[index])


# ---- wrapped and clipped ------------------------------------------------


@pytest.mark.parametrize("mode", ["wrap", "clip"])
@pytest.mark.parametrize("variant", [None, *VARIANTS], ids=lambda v: str(v or "auto"))
def test_an_index_far_outside(variant, mode, backend, rng):
    if variant:
        here(variant, backend)
    run = variant or gm.gather
    for n in (1, 2, 5, 97, 1024):
        a = random_bytes(rng, (n,), "f4")
        there = gm.to_device(a, backend=backend)
        for index in far_indices(rng, n, 1027):
            wanted = a[led_to(index, n, mode)]
            out = guarded(rng, wanted.shape, "f4", backend)
            run(there, gm.to_device(index, backend=backend), mode=mode, out=out.array)
            out.check("gather", wanted)
            assert run(a, index, mode=mode, backend=backend).tobytes() == wanted.tobytes()
    few = rng.integers(-300, 300, (7, 5))
    got = run(a, few, mode=mode, backend=backend)
    assert got.tobytes() == np.take(a, few, mode=mode).tobytes()


@pytest.mark.parametrize("dtype", ["u1", "f8", "V3", "V24", "c16"])
def test_modes_with_any_element_and_layout(dtype, backend, rng):
    a = random_bytes(rng, (90,), dtype)
    there = gm.to_device(a, backend=backend)[::-3]
    index = rng.integers(-99, 99, 60)
    for mode in ("wrap", "clip"):
        got = gm.gather(there, gm.to_device(index, backend=backend)[::2], mode=mode)
        assert got.to_host().tobytes() == a[::-3][led_to(index[::2], 30, mode)].tobytes()
        oracle.compare(
            "gather", gm.gather(a, index, mode=mode, backend=backend), a[led_to(index, 90, mode)]
        )


def test_modes_of_nothing(backend):
    empty = np.empty(0, "f4")
    for mode in ("wrap", "clip"):
        assert gm.gather(empty, np.empty((3, 0), "i8"), mode=mode, backend=backend).shape == (3, 0)
        for a, index in (
            (empty, np.array([0])),
            [gm.to_device(x, backend=backend) for x in (empty, np.array([0]))],
        ):
            with pytest.raises(IndexError, match="a has no elements"):
                gm.gather(a, index, mode=mode, backend=backend)
    for mode in ("Wrap", "", None, 1, ["wrap"]):
        with pytest.raises(ValueError, match=r'mode is .*, expected "raise", "wrap" or "clip"'):
            gm.gather(np.zeros(3), np.array([0]), mode=mode, backend=backend)


def test_traffic_of_a_wrapped_index(rng):
    """The sectors are those of the places that the index leads to."""
    a, index = random_bytes(rng, (2**16,), "f4"), rng.integers(-(2**40), 2**40, COUNT)
    t = gm.traffic("gather", a, index, mode="wrap")
    assert data_loads(t, 32).sectors == touched(index % a.size, 4, 32)


# ---- refusals ------------------------------------------------

BAD = [5, 7, -6, 2**31 - 1, -(2**31), 2**31, 2**32, 2**32 + 1, -(2**32), 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("name", ["auto", *[v.name for v in VARIANTS]])
def test_an_index_out_of_range(name, backend, rng):
    """Nothing is written, not even the elements that valid values of the index refer to."""
    if name != "auto":
        here(find("gather", name), backend)
    a = random_bytes(rng, (5,), "f4")
    there = gm.to_device(a, backend=backend)
    for bad in BAD:
        said = f"index {bad} is out of bounds for axis 0 with size 5"
        for dtype in ("i4", "i8") if -(2**31) <= bad < 2**31 else ("i8",):
            for count, place in [(1, 0), (40, 39), (3000, 0), (3000, 1234), (3000, 2999)]:
                index = indices(rng, 5, (count,), dtype)
                index[place] = bad
                out = guarded(rng, index.shape, "f4", backend)
                with pytest.raises(IndexError, match=said):
                    gm.gather(
                        there, gm.to_device(index, backend=backend), out=out.array, variant=name
                    )
                out.untouched()
                kept = random_bytes(rng, index.shape, "f4")
                before = kept.tobytes()
                with pytest.raises(IndexError, match=said):
                    gm.gather(a, index, out=kept, variant=name, backend=backend)
                assert kept.tobytes() == before
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        gm.gather(a, np.array([[0, 1], [5, 9]]), variant=name, backend=backend)
    gm.gather(a, np.array([-5, 4]), variant=name, backend=backend)


def test_an_index_out_of_range_anywhere(backend, rng):
    """In a large index, in one that goes backwards, and when traffic is counted."""
    a = random_bytes(rng, (1000,), "u2")
    index = indices(rng, 1000, (300_007,), "i4")
    for place in rng.integers(0, index.size, 5):
        bad = index.copy()
        bad[place] = 1000
        there = gm.to_device(bad, backend=backend)
        for each in (there, there[::-1], there[place % 2 :: 2]):
            with pytest.raises(IndexError, match="index 1000 is out of bounds"):
                gm.gather(gm.to_device(a, backend=backend), each)
        if place > 0:
            gm.gather(gm.to_device(a, backend=backend), there[:place])
    with pytest.raises(IndexError, match="index 1000 is out of bounds"):
        gm.traffic("gather", a, bad)


@pytest.mark.parametrize("name", ["auto", *[v.name for v in VARIANTS]])
def test_nothing_to_take_from(name, backend):
    if name != "auto":
        here(find("gather", name), backend)
    a = np.empty(0, "f4")
    for shape in [(0,), (3, 0)]:
        got = gm.gather(a, np.empty(shape, "i8"), variant=name, backend=backend)
        assert got.shape == shape and got.dtype == a.dtype
    for index in (0, -1):
        with pytest.raises(IndexError, match=f"index {index} is out of bounds .* with size 0"):
            gm.gather(a, np.array([index]), variant=name, backend=backend)


@pytest.mark.parametrize(
    "dtype", ["f4", "f8", "bool", "i2", "u1", "u4", "u8", "c16", "S4", "m8[s]"]
)
def test_what_is_no_index(dtype, backend):
    a, index = np.arange(5.0), np.zeros(3, dtype)
    for arrays in ((a, index), [gm.to_device(array, backend=backend) for array in (a, index)]):
        with pytest.raises(TypeError, match=r"index has dtype.*int32.*int64"):
            gm.gather(*arrays, backend=backend)


def test_the_index_is_not_overwritten(backend):
    for new in (np.copy, lambda array: gm.to_device(array, backend=backend)):
        a, whole = new(np.arange(9)), new(np.zeros(8, "i8"))
        with pytest.raises(ValueError, match="out overlaps index"):
            gm.gather(a, whole[:5], out=whole[3:], backend=backend)
        assert raw(whole) == bytes(64)


# ---- words ------------------------------------------------

WORDS = find("gather", "words")
EACH = 4  # neighbours that a thread moves at a time
OF_A_BLOCK = 256 * EACH * 4
COUNTS = [0, 1, 3, 4, 5, OF_A_BLOCK - 1, OF_A_BLOCK, OF_A_BLOCK + 1, 3 * OF_A_BLOCK + 2, 65_543]
SMALL = pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
BY_MODE = pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
OF_32_OR_64_BITS = pytest.mark.parametrize("index_dtype", ["i4", "i8"])
MANY = 2**20  # elements; of more auto takes rows with loads in flight


def some_outside(rng, n, count, dtype, mode):
    """Indices; a few are outside if that is no error, beside others that are inside."""
    index = indices(rng, n, (count,), dtype)
    if mode != "raise" and count > 2:
        index[index < 0] += n
        places = np.append(rng.integers(0, max(count // EACH, 1), count // 50) * EACH + 2, 1)
        index[places] = rng.choice([-n - 1, -1, n, 7 * n, 2**31 - 1, -(2**31)], places.size)
    return index


def wanted_of(a, index, mode):
    return a[index if mode == "raise" else led_to(index, a.size, mode)]


def said(dtype):
    """What words says of a call that it does not take."""
    store = min(16, EACH * np.dtype(dtype).itemsize)
    return (
        "variant words needs a contiguous index at a multiple of 16 bytes and a result at one of "
        rf'{store} \(variant="auto" takes any\)$'
    )


@SMALL
@OF_32_OR_64_BITS
@BY_MODE
def test_words_of_any_count(mode, index_dtype, dtype, backend, rng):
    here(WORDS, backend)
    for n in (97, 1):
        a = random_bytes(rng, (n,), dtype)
        there = gm.to_device(a, backend=backend)
        for count in COUNTS:
            index = some_outside(rng, n, count, index_dtype, mode)
            wanted = wanted_of(a, index, mode)
            for shift in (0, EACH * a.itemsize):  # in bytes
                at = guarded(rng, index.shape, index_dtype, backend, 4 * shift, values=index)
                out = guarded(rng, wanted.shape, dtype, backend, shift)
                WORDS(there, at.array, mode=mode, out=out.array)
                out.check("gather", wanted)
                at.untouched()


@SMALL
@OF_32_OR_64_BITS
@BY_MODE
def test_words_of_an_index_outside_alone(mode, index_dtype, dtype, backend, rng):
    """At each place of four, and where fewer than four are left; its neighbours are inside."""
    here(WORDS, backend)
    n, count = 97, 2 * OF_A_BLOCK + 3
    a = random_bytes(rng, (n,), dtype)
    there = gm.to_device(a, backend=backend)
    good = rng.integers(0, n, count).astype(index_dtype)
    for bad in (n, -n - 1):
        for place in (0, 1, 2, 3, OF_A_BLOCK + 6, count - 4, count - 2, count - 1):
            index = good.copy()
            index[place] = bad
            at = gm.to_device(index, backend=backend)
            out = guarded(rng, index.shape, dtype, backend)
            if mode != "raise":
                WORDS(there, at, mode=mode, out=out.array)
                out.check("gather", wanted_of(a, index, mode))
                continue
            with pytest.raises(IndexError, match=f"index {bad} is out of bounds for axis 0"):
                WORDS(there, at, out=out.array)
            out.untouched()


@SMALL
@OF_32_OR_64_BITS
@BY_MODE
def test_words_under_observation(mode, index_dtype, dtype, rng):
    """No race, no stray access, and none that is not aligned; each element is stored once."""
    for n in (1, 97):
        a = random_bytes(rng, (n,), dtype)
        for count in COUNTS:
            index = some_outside(rng, n, count, index_dtype, mode)
            t = gm.traffic("gather", a, index, variant=WORDS, mode=mode)
            oracle.compare("gather", np.asarray(t.result), wanted_of(a, index, mode))
            assert t.variant == "words" and t.stores.bytes_asked == count * a.itemsize


@SMALL
def test_words_of_a_misaligned_call(dtype, backend, rng):
    """Refused by name, saying what is needed; nothing is written."""
    here(WORDS, backend)
    a = random_bytes(rng, (97,), dtype)
    there = gm.to_device(a, backend=backend)
    store = min(16, EACH * a.itemsize)
    for index_dtype in ("i4", "i8"):
        size = np.dtype(index_dtype).itemsize
        index = indices(rng, 97, (70,), index_dtype)
        shifts = [(into, 0) for into in range(a.itemsize, 17, a.itemsize)]
        shifts += [(0, of) for of in range(size, 17, size)]
        for into, of in shifts:
            at = guarded(rng, index.shape, index_dtype, backend, of, values=index)
            out = guarded(rng, index.shape, dtype, backend, into)
            if of % 16 == 0 and into % store == 0:
                WORDS(there, at.array, out=out.array)
                out.check("gather", a[index])
                continue
            for mode in ("raise", "wrap", "clip"):
                with pytest.raises(ValueError, match=said(dtype)):
                    WORDS(there, at.array, mode=mode, out=out.array)
            out.untouched()
            none = guarded(rng, (0,), dtype, backend, into)
            WORDS(there, at.array[:0], out=none.array)  # nothing is loaded or stored
            none.untouched()


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8"])
def test_auto_takes_any_call_of_many_elements(dtype, backend, rng):
    """Also what words does not take, and values that lead outside."""
    a = random_bytes(rng, (97,), dtype)
    there = gm.to_device(a, backend=backend)
    count = MANY + 7
    for index_dtype in ("i4", "i8"):
        index = indices(rng, 97, (2 * count,), index_dtype)
        whole = gm.to_device(index, backend=backend)
        for cut in (slice(0, count), slice(1, count + 1), slice(None, None, 2), slice(None, 6, -1)):
            for into in (0, a.itemsize, 3 * a.itemsize):
                out = guarded(rng, index[cut].shape, dtype, backend, into)
                gm.gather(there, whole[cut], out=out.array)
                out.check("gather", a[index[cut]])
    for mode in ("wrap", "clip"):
        far = some_outside(rng, 97, count, "i4", mode)
        got = gm.gather(there, gm.to_device(far, backend=backend), mode=mode)
        assert got.to_host().tobytes() == wanted_of(a, far, mode).tobytes()


@SMALL
def test_words_of_an_index_with_steps(dtype, backend, rng):
    here(WORDS, backend)
    a = random_bytes(rng, (97,), dtype)
    there = gm.to_device(a, backend=backend)
    for index_dtype in ("i4", "i8"):
        index = indices(rng, 97, (12, 16), index_dtype)
        at = gm.to_device(index, backend=backend)
        views = [
            (at.reshape(-1)[::2], index.reshape(-1)[::2]),
            (at.reshape(-1)[::-1], index.reshape(-1)[::-1]),
            (at[::2, 0], index[::2, 0]),
        ]
        for view, wanted in views:
            out = guarded(rng, view.shape, dtype, backend)
            with pytest.raises(ValueError, match="variant words needs index C-contiguous"):
                WORDS(there, view, out=out.array)
            out.untouched()
            gm.gather(there, view, out=out.array)
            out.check("gather", a[wanted])
        out = guarded(rng, index.shape, dtype, backend)
        WORDS(there, at, out=out.array)  # several axes
        out.check("gather", a[index])


@pytest.mark.parametrize(
    ("dtype", "large"),
    [
        ("u1", "words"),
        ("u2", "words"),
        ("f4", "words"),
        ("f8", "unroll2"),
        ("c16", "unroll2"),
        ("V3", "any"),
    ],
)
def test_what_auto_takes(dtype, large, rng):
    """Loads in flight for large calls; `cached` where the index does not suit words."""
    small = "cached" if large != "any" else "any"
    a = gm.to_device(random_bytes(rng, (97,), dtype), backend="sim")
    for index_dtype in ("i4", "i8"):
        index = indices(rng, 97, (MANY + 2,), index_dtype)
        there = gm.to_device(index, backend="sim")
        for cut, wanted in [
            (slice(0, 2049), small),
            (slice(0, MANY), small),
            (slice(0, MANY + 1), large),
            (slice(1, MANY + 2), small if large == "words" else large),
        ]:
            assert gm.traffic("gather", a, there[cut], mode="wrap").variant == wanted
    assert gm.traffic("gather", a, there.reshape(2, -1), mode="wrap").variant == large
    steps = gm.to_device(np.zeros(2 * MANY + 4, "i4"), backend="sim")[::2]
    assert gm.traffic("gather", a, steps, mode="wrap").variant == "any"


# ---- traffic ------------------------------------------------


def data_loads(t, width):
    """The loads of elements; those of the index have another width."""
    loads = [s for s in t.sites if (s["space"], s["kind"]) == ("global", "load")]
    assert {site["width"] for site in loads} == {width, 96 - width}
    assert sum(site["requests"] for site in loads) == 2 * (COUNT // 32)
    return Access([site for site in loads if site["width"] == width])


INDICES = {
    "in-order": lambda random: np.arange(COUNT),
    "shifted": lambda random: np.arange(COUNT) + 1,
    "one-address": lambda random: np.full(COUNT, 77),
    "one-address-per-warp": lambda random: random.integers(0, 2**20, (COUNT // 32, 1)).repeat(
        32, 1
    ),
    "permuted-in-lines": lambda random: random.permuted(np.arange(COUNT).reshape(-1, 32), axis=1),
    "permuted-lines": lambda random: random.permuted(
        random.permuted(np.arange(COUNT).reshape(-1, 32), axis=1), axis=0
    ),
    "from-the-end": lambda random: -1 - np.arange(COUNT),
    "near": lambda random: random.integers(0, 64, COUNT),
    "random": lambda random: random.integers(0, 2**20, COUNT),
}


@pytest.mark.parametrize("order", INDICES)
@pytest.mark.parametrize("variant", RUNGS, ids=str)
def test_sectors_of_an_index(variant, order, rng):
    a = random_bytes(rng, (2**20,), "f4")
    index = INDICES[order](rng).reshape(-1)
    t = gm.traffic("gather", a, index, variant=variant)
    oracle.compare("gather", np.asarray(t.result), a[index])
    data = data_loads(t, 32)
    assert data.requests == t.stores.requests == COUNT // 32
    assert (t.stores.sectors_per_request, t.stores.efficiency) == (4, 1)
    assert data.sectors == touched(index % a.size, 4, 32)
    assert data.lines == touched(index % a.size, 4, 128)
    assert t.loads.sectors == data.sectors + 8 * data.requests
    if order.startswith("one-address"):
        assert (data.sectors_per_request, data.lines_per_request) == (1, 1)
        assert data.efficiency == 0.125
        assert data.bytes_asked / (128 * data.lines) == 0.03125
    elif order in ("in-order", "permuted-in-lines", "from-the-end"):
        assert (data.sectors_per_request, data.efficiency) == (4, 1)
        assert data.lines_per_request == 1
    elif order == "near":
        assert data.sectors_per_request <= 8
    elif order == "random":
        assert 31.5 < data.sectors_per_request <= 32


@pytest.mark.parametrize("variant", RUNGS, ids=str)
def test_sectors_of_8_bytes_and_an_index_of_4(variant, rng):
    a = random_bytes(rng, (COUNT,), "f8")
    for index, sectors in [
        (np.arange(COUNT), 8),
        (rng.permuted(np.arange(COUNT).reshape(-1, 16), axis=1).reshape(-1), 8),
        (np.zeros(COUNT), 1),
        (rng.integers(0, 2, COUNT // 32).repeat(32) * 8, 1),
    ]:
        t = gm.traffic("gather", a, index.astype("i4"), variant=variant)
        data = data_loads(t, 64)
        assert data.sectors_per_request == sectors
        assert t.stores.sectors_per_request == 8
        assert t.loads.sectors == data.sectors + 4 * data.requests


@SMALL
@OF_32_OR_64_BITS
@pytest.mark.parametrize("mode", ["raise", "wrap"])
def test_words_ask_for_vectors(mode, index_dtype, dtype, rng):
    """The index comes in vectors, and one store has four elements."""
    a = random_bytes(rng, (2**16,), dtype)
    index = rng.permutation(a.size)[:COUNT].astype(index_dtype)  # no element twice
    t = gm.traffic("gather", a, index, variant=WORDS, mode=mode)
    warps = COUNT // (32 * EACH)
    (stores,) = [s for s in t.sites if (s["space"], s["kind"]) == ("global", "store")]
    assert (stores["width"], stores["requests"]) == (8 * EACH * a.itemsize, warps)
    assert (t.stores.efficiency, t.stores.bytes_asked) == (1, COUNT * a.itemsize)
    loads = [s for s in t.sites if (s["space"], s["kind"]) == ("global", "load")]
    assert {s["width"] for s in loads} == {128, 8 * a.itemsize}
    vectors = Access([s for s in loads if s["width"] == 128])
    assert vectors.bytes_asked == COUNT * index.itemsize
    assert vectors.requests == warps * EACH * index.itemsize // 16
    assert vectors.sectors_per_request == (16 if index_dtype == "i4" else 32)
    data = Access([s for s in loads if s["width"] != 128])
    # Of a warp's requests, each for one of four.
    places = index.reshape(-1, 32, EACH).swapaxes(1, 2)
    assert (data.requests, data.bytes_asked) == (warps * EACH, COUNT * a.itemsize)
    assert data.sectors == touched(places, a.itemsize, 32)


@pytest.mark.parametrize("name", ["unroll2", "unroll4", "unroll8"])
def test_unrolled_rows_load_what_is_there(name, rng):
    """The index is loaded before its end is looked at: no access past it, no element twice."""
    for count in (1, 33, 1027, 2049, 5003):
        for dtype in ("u1", "f8"):
            a, index = random_bytes(rng, (97,), dtype), indices(rng, 97, (count,), "i4")
            t = gm.traffic("gather", a, index, variant=name)
            oracle.compare("gather", np.asarray(t.result), a[index])
            assert t.stores.bytes_asked == count * a.itemsize
