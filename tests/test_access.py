"""What strided_read, strided_write and gather have in common: rungs, refusals, traffic."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from access import (
    APART,
    BEYOND,
    BY_CHOICE,
    COUNT,
    DTYPES,
    LADDER,
    SLICES,
    WORDS,
    arguments,
    by_element,
    counted,
    fits,
    floats,
    guarded,
    random_bytes,
    raw,
    touched,
    written,
)
from support import here

import gpumem as gm
from gpumem.families import oracle

FAMILIES = ("strided_read", "strided_write", "gather")
ALL = [variant for family in FAMILIES for variant in gm.variants(family)]
RUNGS = [v for v in ALL if v.name in (*LADDER, WORDS)]
STRIDED = [v for v in ALL if v.name in LADDER and v.family != "gather"]
GENERAL = {"strided_read": "strided", "strided_write": "any", "gather": "any"}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_ladder(family):
    names = [v.name for v in gm.variants(family)]
    assert [name for name in names if name in LADDER] == LADDER
    assert GENERAL[family] in names
    assert (WORDS in names) == (family != "strided_write")
    sizes = {WORDS: {1, 2, 4}, GENERAL[family]: set(range(1, 33)), "strided": set(range(1, 33))}
    for variant in gm.variants(family):
        takes = {size for size in range(1, 33) if fits(variant, f"V{size}")}
        assert takes == sizes.get(variant.name, set(DTYPES))
        assert variant.in_place == (family == "strided_write")


@pytest.mark.parametrize("variant", RUNGS, ids=str)
def test_other_elements_are_refused(variant, backend, rng):
    here(variant, backend)
    more = ("f8", "c16") if variant.name == WORDS else ()
    for dtype in ("V3", "S5", "V12", "V32", *more):
        arrays, keywords, _ = arguments(variant.family, rng, dtype, backend)
        before = [array.to_host().tobytes() for array in arrays]
        with pytest.raises(ValueError, match=f"variant {variant.name}.*elements of"):
            variant(*arrays, **keywords)
        assert [array.to_host().tobytes() for array in arrays] == before


# ---- calls ------------------------------------------------


@pytest.mark.parametrize("variant", ALL, ids=str)
def test_from_the_host(variant, backend, rng):
    here(variant, backend)
    arrays, keywords, wanted = arguments(variant.family, rng, "f4")
    before = [array.copy() for array in arrays]
    got = variant(*arrays, backend=backend, **keywords)
    oracle.compare(variant.family, got, wanted)
    if variant.in_place:
        assert got is arrays[0]
    else:
        assert got.flags.c_contiguous and not np.shares_memory(got, arrays[0])
        assert arrays[0].tobytes() == before[0].tobytes()
        out = random_bytes(rng, wanted.shape, "f4")
        assert variant(*arrays, out=out, backend=backend, **keywords) is out
        oracle.compare(variant.family, out, wanted)
    assert arrays[-1].tobytes() == before[-1].tobytes()


@pytest.mark.parametrize("variant", ALL, ids=str)
def test_on_a_stream(variant, backend, rng):
    here(variant, backend)
    stream = gm.Stream(backend=backend)
    dtype = "f8" if fits(variant, "f8") else "f4"
    arrays, keywords, wanted = arguments(variant.family, rng, dtype, backend)
    got = variant(*arrays, stream=stream, **keywords)
    stream.synchronize()
    oracle.compare(variant.family, got.to_host(), wanted)


# ---- layouts and addresses ------------------------------------------------


@pytest.mark.parametrize("variant", RUNGS, ids=str)
def test_gaps_are_refused_by_name(variant, backend, rng):
    here(variant, backend)
    arrays, keywords, wanted = arguments(variant.family, rng, "f4", backend)
    whole = gm.to_device(random_bytes(rng, (2 * 97,), "f4"), backend=backend)
    for view in (whole[::2], whole[:97][::-1]):
        before = whole.to_host().tobytes()
        with pytest.raises(ValueError, match=f"variant {variant.name}"):
            variant(view, *arrays[1:], **keywords)
        assert whole.to_host().tobytes() == before
    oracle.compare(variant.family, variant(*arrays, **keywords).to_host(), wanted)


@by_element(RUNGS, ["u2", "f4", "f8", "c16"])
def test_an_unaligned_address_is_refused_by_name(variant, dtype, backend, rng):
    """An array may start at any element, but not in the middle of one."""
    here(variant, backend)
    arrays, keywords, wanted = arguments(variant.family, rng, dtype)
    size = np.dtype(dtype).itemsize
    rest = [gm.to_device(array, backend=backend) for array in arrays[1:]]
    for shift in (size, 3 * size, size // 2, size + 1):
        first = guarded(rng, arrays[0].shape, dtype, backend, shift, values=arrays[0])
        if shift % size == 0:
            got = variant(first.array, *rest, **keywords)
            oracle.compare(variant.family, got.to_host(), wanted)
            continue
        with pytest.raises(ValueError, match=f"variant {variant.name}.*align"):
            variant(first.array, *rest, **keywords)
        first.untouched()
        if not variant.in_place:
            out = guarded(rng, wanted.shape, dtype, backend, shift)
            there = gm.to_device(arrays[0], backend=backend)
            with pytest.raises(ValueError, match=f"variant {variant.name}.*align"):
                variant(there, *rest, out=out.array, **keywords)
            out.untouched()


# ---- beyond 32 bits ------------------------------------------------


@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize("variant", ALL, ids=str)
def test_places_beyond_32_bits(variant, backend):
    """In a large array, most of whose pages are never touched."""
    here(variant, backend)
    wide = ("c16", 2**28 + 1000) if fits(variant, "c16") else ("f4", 2**30 + 1000)
    for dtype, n in (("u1", 2**32 + 1000), wide):
        whole = gm.DeviceArray(n, dtype, backend=backend)
        far = n // 2 - 500  # 2**31 elements, or 2**31 bytes
        marks = [0, 5, far - 1, far, far + 5, 2 * far + 5, n - 1]
        for k, mark in enumerate(marks):
            one = gm.to_device(np.array([k + 1], dtype), backend=backend)
            gm.copy(one, out=whole[mark : mark + 1])
        if variant.family == "gather":
            for index in (np.array(marks), np.array(marks) - n):
                got = variant(whole, gm.to_device(index, backend=backend))
                assert got.to_host().tolist() == [1, 2, 3, 4, 5, 6, 7]
            index = gm.to_device(np.array([-1, 5], "i4"), backend=backend)
            assert variant(whole, index).to_host().tolist() == [7, 2]
            continue
        for offset, stride, wanted in [
            (5, far, [2, 5, 6]),
            (2 * far + 5, -far, [6, 5, 2]),
            (n - 1, 1, [7]),
            (-n, 2 * n, [1]),
            (-n + 5, 2**62, [2]),
        ]:
            if variant.family == "strided_write":
                wanted = [k + 10 for k in wanted]
                a = gm.to_device(np.array(wanted, dtype), backend=backend)
                variant(whole, a, offset=offset, stride=stride)
            else:
                got = variant(whole, offset=offset, stride=stride)
                assert got.to_host().tolist() == wanted
                continue
            for k, place in enumerate(range(n)[offset::stride]):
                assert whole[place : place + 1].to_host().tolist() == wanted[k : k + 1]
                one = gm.to_device(np.array([wanted[k] - 10], dtype), backend=backend)
                gm.copy(one, out=whole[place : place + 1])


def repeated(row, n):
    """A device array of n elements that repeats those of row."""
    whole = gm.DeviceArray(n, row.dtype, backend=row.backend)
    for first in range(0, n, row.size):
        part = whole[first : first + row.size]
        gm.copy(row[: part.size], out=part)
    return whole


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize("variant", ALL, ids=str)
def test_more_elements_than_an_int_counts(variant, rng):
    here(variant, "cuda")
    n = 2**31 + 12345
    row = gm.to_device(random_bytes(rng, (2**20 - 3,), "u1"), backend="cuda")
    if variant.family == "gather":
        index = rng.integers(-row.size, row.size, row.size)
        wanted = row.to_host()[index]
        there = gm.to_device(index.astype("i4"), backend="cuda")
        out = variant(row, repeated(there, n))
        first = 0
    elif variant.family == "strided_read":
        wanted, first = row.to_host(), 3
        out = variant(repeated(row, n + first), offset=first, stride=1)
    else:
        wanted, first = row.to_host(), 0
        out = gm.DeviceArray(n, "u1", backend="cuda")
        out.fill_bytes(0xA5)
        variant(out, repeated(row, n), offset=0, stride=1)
    for start in (0, 2**30, 2**31 - 5000, n - 10_000, *rng.integers(0, n - 10_000, 20)):
        part = out[int(start) : int(start) + 10_000].to_host()
        places = (np.arange(start, start + part.size) + first) % wanted.size
        np.testing.assert_array_equal(part, wanted[places])


# ---- refusals ------------------------------------------------


@pytest.mark.parametrize("family", ["strided_read", "strided_write"])
@pytest.mark.parametrize(
    "value", [1.0, "1", None, (1,), [2], 1j, np.float32(2), np.array([1, 2])], ids=repr
)
@pytest.mark.parametrize("word", ["offset", "stride"])
def test_what_is_no_offset_or_stride(word, value, family, backend):
    arrays = (np.arange(9.0),) if family == "strided_read" else (np.arange(9.0), np.arange(4.0))
    for each in (arrays, [gm.to_device(array, backend=backend) for array in arrays]):
        with pytest.raises(TypeError, match=word):
            getattr(gm, family)(*each, **{word: value}, backend=backend)
    assert arrays[0].tolist() == list(range(9))
    with pytest.raises(TypeError, match=word):
        gm.traffic(family, *arrays, **{word: value})


def cut(first, second):
    """Two parts of one array."""

    def make(new):
        whole = new(floats(40))
        return whole[first], whole[second]

    return make


def of(*arrays):
    return lambda new: tuple(map(new, arrays))


class Refusal(NamedTuple):
    function: Any
    arrays: Any  # called with a function that puts an array on the host or the device
    keywords: dict
    error: type
    said: str


NONE = np.zeros(2, "i8")


READS, WRITES, GATHERS = gm.strided_read, gm.strided_write, gm.gather


REFUSALS = {
    "read-2d": Refusal(READS, of(floats(3, 4)), {}, ValueError, "a has 2 dimensions, expected 1"),
    "read-0d": Refusal(READS, of(floats()), {}, ValueError, "a has 0 dimensions, expected 1"),
    "read-stride-0": Refusal(READS, of(floats(9)), {"stride": 0}, ValueError, "stride is 0"),
    "read-none-stride-0": Refusal(READS, of(floats(0)), {"stride": 0}, ValueError, "stride is 0"),
    "write-2d": Refusal(
        WRITES, of(floats(3, 4), floats(4)), {}, ValueError, "out has 2 dimensions, expected 1"
    ),
    "write-0d": Refusal(
        WRITES, of(floats(), floats(0)), {}, ValueError, "out has 0 dimensions, expected 1"
    ),
    "write-stride-0": Refusal(
        WRITES, of(floats(9), floats(4)), {"stride": 0}, ValueError, "stride is 0"
    ),
    "write-short": Refusal(
        WRITES, of(floats(9), floats(3)), {}, ValueError, r"a has shape \(3,\), expected \(4,\)"
    ),
    "write-long": Refusal(
        WRITES, of(floats(9), floats(5)), {}, ValueError, r"a has shape \(5,\), expected \(4,\)"
    ),
    "write-one": Refusal(
        WRITES, of(floats(9), floats(1)), {}, ValueError, r"a has shape \(1,\), expected \(4,\)"
    ),
    "write-backwards": Refusal(
        WRITES,
        of(floats(9), floats(5)),
        {"offset": 4, "stride": -2},
        ValueError,
        r"a has shape \(5,\), expected \(3,\)",
    ),
    "write-beyond": Refusal(
        WRITES,
        of(floats(9), floats(1)),
        {"offset": 9},
        ValueError,
        r"a has shape \(1,\), expected \(0,\)",
    ),
    "write-to-none": Refusal(
        WRITES, of(floats(0), floats(1)), {}, ValueError, r"a has shape \(1,\), expected \(0,\)"
    ),
    "write-from-2d": Refusal(WRITES, of(floats(9), floats(4, 1)), {}, ValueError, r"\ba has "),
    "write-from-0d": Refusal(WRITES, of(floats(9), floats()), {}, ValueError, r"\ba has "),
    "write-dtype": Refusal(
        WRITES,
        of(floats(9), floats(4).astype("f8")),
        {},
        TypeError,
        r"\ba has dtype.*float64.*float32",
    ),
    "write-dtype-of-same-size": Refusal(
        WRITES,
        of(floats(9), floats(4).astype("i4")),
        {},
        TypeError,
        r"\ba has dtype.*int32.*float32",
    ),
    "write-itself": Refusal(
        WRITES,
        cut(slice(None), slice(None)),
        {"offset": 0, "stride": 1},
        ValueError,
        "overlaps",
    ),
    "write-from-its-end": Refusal(
        WRITES, cut(slice(None), slice(20, None)), {"offset": 0}, ValueError, "overlaps"
    ),
    "write-from-its-start": Refusal(
        WRITES, cut(slice(1, None), slice(19)), {}, ValueError, "overlaps"
    ),
    "gather-2d": Refusal(
        GATHERS, of(floats(3, 4), NONE), {}, ValueError, "a has 2 dimensions, expected 1"
    ),
    "gather-0d": Refusal(
        GATHERS, of(floats(), NONE), {}, ValueError, "a has 0 dimensions, expected 1"
    ),
}


@pytest.mark.parametrize("place", ["host", "device"])
@pytest.mark.parametrize("refusal", REFUSALS)
def test_refusals(refusal, place, backend):
    function, make, keywords, error, said = REFUSALS[refusal]
    for variant in ["auto", *gm.variants(function.__name__)]:
        name = variant if variant == "auto" else variant.name
        if name != "auto" and variant.reason_on(backend) is not None:
            continue
        arrays = make(np.copy if place == "host" else lambda a: gm.to_device(a, backend=backend))
        before = [raw(array) for array in arrays]
        with pytest.raises(error, match=said):
            function(*arrays, **keywords, variant=name, backend=backend)
        assert [raw(array) for array in arrays] == before


@pytest.mark.parametrize("function", [READS, GATHERS], ids=["strided_read", "gather"])
def test_a_result_that_does_not_fit(function, backend):
    a = floats(9)
    rest = (np.zeros(4, "i8"),) if function is GATHERS else ()
    for out, error, said in [
        (floats(3), ValueError, r"out has shape \(3,\), expected \(4,\)"),
        (floats(4, 1), ValueError, r"out has shape \(4, 1\), expected \(4,\)"),
        (floats(4).astype("f8"), TypeError, "out has dtype.*float64.*float32"),
    ]:
        with pytest.raises(error, match=said):
            function(a, *rest, out=out, backend=backend)
        with pytest.raises(error, match=said):
            there = [gm.to_device(array, backend=backend) for array in (a, *rest)]
            function(*there, out=gm.to_device(out, backend=backend))
        assert out.reshape(-1).tolist() == list(range(out.size))
    for new in (np.copy, lambda array: gm.to_device(array, backend=backend)):
        whole = new(floats(40))
        with pytest.raises(ValueError, match="out overlaps a"):
            function(whole[:9], *map(new, rest), out=whole[7:11], backend=backend)
        assert raw(whole) == floats(40).tobytes()
    out = floats(4)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        function(a, *rest, out=out, backend=backend)


@pytest.mark.parametrize("family", FAMILIES)
def test_objects_and_mixed_places(family, backend, rng):
    function = getattr(gm, family)
    arrays, keywords, _ = arguments(family, rng, "f4")
    with pytest.raises(TypeError, match=r"dtype.*'O'"):
        function(arrays[0].astype("O"), *arrays[1:], **keywords, backend=backend)
    if len(arrays) == 2:
        there = [gm.to_device(array, backend=backend) for array in arrays]
        for mixed in ((arrays[0], there[1]), (there[0], arrays[1])):
            with pytest.raises(TypeError, match="all on the"):
                function(*mixed, **keywords)
    with pytest.raises(ValueError, match=rf"variant is 'vec4', known for {family} are"):
        function(*arrays, **keywords, variant="vec4", backend=backend)


# ---- traffic ------------------------------------------------


def sparse(rng, family, dtype, offset, stride):
    """Arguments of which COUNT elements are accessed, and the indices of these."""
    n = COUNT * abs(stride)
    n += offset if stride > 0 else 0
    places = np.arange(n)[offset::stride]
    assert places.size == COUNT
    a = random_bytes(rng, (n,), dtype)
    if family == "strided_read":
        return (a,), places
    return (a, random_bytes(rng, (COUNT,), dtype)), places


def check_sides(variant, t, itemsize, places):
    """Check that one side is coalesced and the other strided, with one request per warp each."""
    near, far = (t.loads, t.stores) if variant.family == "strided_write" else (t.stores, t.loads)
    for side in (near, far):
        assert side.requests == COUNT // 32
        assert side.bytes_asked == COUNT * itemsize
        assert side.width == 8 * itemsize
    assert near.sectors_per_request == itemsize
    assert near.efficiency == 1
    assert far.sectors == touched(places, itemsize, 32)
    assert far.lines == touched(places, itemsize, 128)
    assert far.efficiency == COUNT * itemsize / (32 * far.sectors)
    return far


@pytest.mark.parametrize("variant", STRIDED, ids=str)
def test_every_offset_costs_4_or_5_sectors(variant, rng):
    for offset in range(34):
        arrays, places = sparse(rng, variant.family, "f4", offset, 1)
        t = gm.traffic(variant.family, *arrays, variant=variant, offset=offset, stride=1)
        far = check_sides(variant, t, 4, places)
        assert far.sectors_per_request == (4 if offset % 8 == 0 else 5)
        assert far.efficiency == (1 if offset % 8 == 0 else 0.8)


@pytest.mark.parametrize("variant", STRIDED, ids=str)
def test_every_stride_costs_4_sectors_more_up_to_32(variant, rng):
    for stride in range(1, 34):
        arrays, places = sparse(rng, variant.family, "f4", 0, stride)
        t = gm.traffic(variant.family, *arrays, variant=variant, offset=0, stride=stride)
        far = check_sides(variant, t, 4, places)
        assert far.sectors_per_request == min(32, 4 * stride)
        assert far.lines_per_request == min(32, stride)


@pytest.mark.parametrize("itemsize", [1, 2, 8, 16])
@pytest.mark.parametrize("variant", STRIDED, ids=str)
def test_sectors_of_other_elements(variant, itemsize, rng):
    for offset, stride in [(0, 1), (1, 1), (3, 2), (0, 5), (-1, -1), (-1, -4)]:
        arrays, places = sparse(rng, variant.family, DTYPES[itemsize], offset, stride)
        t = gm.traffic(variant.family, *arrays, variant=variant, offset=offset, stride=stride)
        far = check_sides(variant, t, itemsize, places)
        if (offset, stride) in [(0, 1), (-1, -1)]:
            assert far.sectors_per_request == itemsize


@pytest.mark.parametrize("variant", ALL, ids=str)
def test_every_element_is_moved_once(variant, rng):
    """Even if warps are not full, and for a shape instead of arrays."""
    for dtype in ("u1", "f4", "c16" if fits(variant, "c16") else "u2"):
        arrays, keywords, wanted = arguments(variant.family, rng, dtype, n=1027)
        t = gm.traffic(variant.family, *arrays, variant=variant, **keywords)
        oracle.compare(variant.family, np.asarray(t.result), wanted)
        moved = arrays[1].size if variant.family != "strided_read" else wanted.size
        assert t.stores.bytes_asked == moved * wanted.itemsize
    dtype = np.dtype("f8" if fits(variant, "f8") else "f4")
    t = gm.traffic(variant.family, shape=(1000,), dtype=dtype, variant=variant)
    assert t.variant == variant.name
    assert t.stores.bytes_asked in (500 * dtype.itemsize, 1000 * dtype.itemsize)


@pytest.mark.parametrize(
    BY_CHOICE,
    [
        ("f4", 0, 1, "strided", "strided"),
        ("f4", 4, 1, "strided", "strided"),
        ("f4", 1, 1, "strided", "strided"),
        ("f4", -4, -1, "unroll4", "cached"),
        ("f4", 0, 2**62, "strided", "strided"),  # a single element
        ("u1", 3, 1, "strided", "strided"),
        ("u1", -4, -1, "words", "unroll4"),
        ("u2", 0, -2, "strided", "strided"),  # a single element
        ("f8", -1, -1, "unroll4", "cached"),
        *APART,
    ],
)
def test_what_auto_takes(dtype, offset, stride, read, write):
    """Copies of contiguous slices; few loads in flight if elements are far apart, words if they are
    small and near; several stores in flight for bytes and halves alone."""
    a = np.zeros(4096, dtype)
    part = np.zeros(counted(4096, offset, stride), dtype)
    for family, arrays, wanted in (
        ("strided_read", (a,), read),
        ("strided_write", (a, part), write),
    ):
        t = gm.traffic(family, *arrays, offset=offset, stride=stride)
        assert t.variant == wanted


@pytest.mark.parametrize("family", ["strided_read", "strided_write"])
def test_traffic_of_any_offset_and_stride(family, rng):
    """What lies past the ends of the array is not accessed."""
    a = random_bytes(rng, (97,), "f4")
    for offset, stride in SLICES + BEYOND:
        more = (random_bytes(rng, (counted(97, offset, stride),), "f4"),)
        arrays = (a,) if family == "strided_read" else (a, *more)
        t = gm.traffic(family, *arrays, offset=offset, stride=stride)
        wanted = (
            a[offset::stride] if family == "strided_read" else written(a, *more, offset, stride)
        )
        oracle.compare(family, np.asarray(t.result), wanted)
        assert t.stores.bytes_asked == more[0].nbytes
