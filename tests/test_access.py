"""strided_read, strided_write and gather: every variant at every size, slice and index."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import here

import gpumem as gm
from gpumem.count.traffic import Access
from gpumem.families import oracle

READ, WRITE, GATHER = (gm.variants(name) for name in ("strided_read", "strided_write", "gather"))
ALL = READ + WRITE + GATHER
LADDER = ["cached", "uncached", "readonly", "unroll2", "unroll4", "unroll8"]
GENERAL = {"strided_read": "strided", "strided_write": "any", "gather": "any"}
SIZES = [0, 1, 31, 32, 33, 97, 1027, 65537 + 5]
SLICES = [
    (0, 1),
    (1, 1),
    (8, 1),
    (1, 2),
    (0, 3),
    (5, 32),
    (31, 33),
    (-1, -1),
    (-1, -2),
    (30, -7),
    (-40, 1),
    (-1000, 5),
    (2, 5000),
]
BEYOND = [
    (10**6, 1),
    (10**6, -1),
    (-(10**6), 2),
    (-(10**6), -2),
    (0, 10**12),
    (3, -(10**12)),
    (2**63, 1),
    (-(2**63) - 1, 1),
    (2**100, -1),
    (1, 2**63),
    (-1, -(2**63)),
    (-1, -(2**100)),
]
DTYPES = {1: "u1", 2: "u2", 4: "f4", 8: "f8", 16: "c16"}
ODD_DTYPES = ["V3", "S5", "V12", "V32", "bool", "M8[s]", "f2"]
MARGIN = 256
FEWER = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def random_bytes(rng, shape, dtype):
    """Any bits, so a NaN of every payload."""
    a = np.empty(shape, dtype)
    a.reshape(-1).view("u1")[...] = np.frombuffer(rng.bytes(a.nbytes), "u1")
    if a.dtype.kind == "b":
        a.view("u1")[...] &= 1
    return a


class Guarded(NamedTuple):
    """A device array of random bytes amid bytes that must stay."""

    array: Any
    buffer: Any
    before: np.ndarray
    first: int

    def check(self, family, wanted):
        """The array holds just this, and around it nothing has changed."""
        oracle.compare(family, self.array.to_host(), wanted)
        after = self.before.copy()
        after[self.first : self.first + wanted.nbytes] = np.frombuffer(wanted.tobytes(), "u1")
        np.testing.assert_array_equal(self.buffer.to_host(), after)

    def untouched(self):
        np.testing.assert_array_equal(self.buffer.to_host(), self.before)


def guarded(rng, shape, dtype, backend, shift=0, values=None):
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    first = MARGIN + shift
    before = np.frombuffer(rng.bytes(nbytes + 2 * first), "u1").copy()
    if values is not None:
        before[first : first + nbytes] = np.frombuffer(values.tobytes(), "u1")
    buffer = gm.to_device(before, backend=backend)
    array = buffer[first : first + nbytes].view(dtype).reshape(shape)
    return Guarded(array, buffer, before, first)


def counted(n, offset, stride):
    return len(range(n)[offset::stride])


def written(out, a, offset, stride):
    """What strided_write should leave in out."""
    wanted = out.copy()
    wanted[offset::stride] = a
    return wanted


def taken(a, index):
    """a[index], an array also where the index has no dimensions."""
    return a[index.reshape(-1)].reshape(index.shape)


def indices(rng, n, shape, dtype):
    """Any places of n, half of them told from the end."""
    if n == 0:
        return np.empty(shape, dtype)
    index = rng.integers(-n, n, shape).astype(dtype)
    if index.size > 1:
        index.reshape(-1)[[0, -1]] = -n, n - 1
    return index


def read_and_check(rng, run, a, there, offset, stride, backend):
    wanted = a[offset::stride]
    out = guarded(rng, wanted.shape, a.dtype, backend)
    assert run(there, offset=offset, stride=stride, out=out.array) is out.array
    out.check("strided_read", wanted)


def write_and_check(rng, run, n, dtype, offset, stride, backend):
    values = random_bytes(rng, (n,), dtype)
    a = random_bytes(rng, (counted(n, offset, stride),), dtype)
    out = guarded(rng, (n,), dtype, backend, values=values)
    there = gm.to_device(a, backend=backend)
    assert run(out.array, there, offset=offset, stride=stride) is out.array
    out.check("strided_write", written(values, a, offset, stride))
    assert there.to_host().tobytes() == a.tobytes()


def gather_and_check(rng, run, a, there, index, backend):
    wanted = taken(a, index)
    out = guarded(rng, wanted.shape, a.dtype, backend)
    assert run(there, gm.to_device(index, backend=backend), out=out.array) is out.array
    out.check("gather", wanted)


def arguments(family, rng, dtype, backend=None, n=97):
    """Arrays and keywords of a call, and its result; on the device if a backend is named."""
    a = random_bytes(rng, (n,), dtype)
    keywords = {} if family == "gather" else {"offset": 2, "stride": 3}
    if family == "strided_read":
        arrays, wanted = (a,), a[2::3]
    elif family == "strided_write":
        arrays = (a, random_bytes(rng, (counted(n, 2, 3),), dtype))
        wanted = written(*arrays, 2, 3)
    else:
        arrays = (a, indices(rng, n, (5, 7), "i8"))
        wanted = taken(*arrays)
    if backend is not None:
        arrays = tuple(gm.to_device(array, backend=backend) for array in arrays)
    return arrays, keywords, wanted


def test_the_ladders():
    for variants in (READ, WRITE, GATHER):
        family = variants[0].family
        names = [v.name for v in variants]
        assert [name for name in names if name in LADDER] == LADDER
        assert GENERAL[family] in names
        for variant in variants:
            takes = {size for size in range(1, 33) if oracle.takes(variant, (9,), f"V{size}")}
            assert takes == (set(DTYPES) if variant.name in LADDER else set(range(1, 33)))
            assert variant.in_place == (family == "strided_write")


# ---- every size, element and slice ------------------------------------------------


@pytest.mark.parametrize("itemsize", DTYPES)
@pytest.mark.parametrize("variant", READ, ids=str)
def test_read_every_slice_on_the_device(variant, itemsize, backend, rng):
    here(variant, backend)
    for n in SIZES:
        a = random_bytes(rng, (n,), DTYPES[itemsize])
        there = gm.to_device(a, backend=backend)
        for offset, stride in SLICES if n > 2000 else SLICES + BEYOND:
            read_and_check(rng, variant, a, there, offset, stride, backend)
        assert there.to_host().tobytes() == a.tobytes()


@pytest.mark.parametrize("itemsize", DTYPES)
@pytest.mark.parametrize("variant", WRITE, ids=str)
def test_write_every_slice_on_the_device(variant, itemsize, backend, rng):
    here(variant, backend)
    for n in SIZES:
        for offset, stride in SLICES if n > 2000 else SLICES + BEYOND:
            write_and_check(rng, variant, n, DTYPES[itemsize], offset, stride, backend)


@pytest.mark.parametrize("itemsize", DTYPES)
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@pytest.mark.parametrize("variant", GATHER, ids=str)
def test_gather_every_size_on_the_device(variant, index_dtype, itemsize, backend, rng):
    here(variant, backend)
    for n in SIZES:
        a = random_bytes(rng, (n,), DTYPES[itemsize])
        there = gm.to_device(a, backend=backend)
        counts = SIZES if n == 97 else {0, n, 1027}  # the kernel's work; where it may reach
        for count in counts if n else [0]:
            index = indices(rng, n, (count,), index_dtype)
            gather_and_check(rng, variant, a, there, index, backend)
        assert there.to_host().tobytes() == a.tobytes()


AUTO = (gm.strided_read, gm.strided_write, gm.gather)
REST = tuple(
    next(v for v in variants if v.name == GENERAL[v.family]) for variants in (READ, WRITE, GATHER)
)


@pytest.mark.parametrize("dtype", [*DTYPES.values(), *ODD_DTYPES])
@pytest.mark.parametrize("functions", [AUTO, REST], ids=["auto", "general"])
def test_any_dtype(functions, dtype, backend, rng):
    read, write, gather = functions
    for n in [0, 1, 33, 1027]:
        a = random_bytes(rng, (n,), dtype)
        there = gm.to_device(a, backend=backend)
        for offset, stride in SLICES:
            read_and_check(rng, read, a, there, offset, stride, backend)
            write_and_check(rng, write, n, dtype, offset, stride, backend)
        for index_dtype in ("i4", "i8"):
            index = indices(rng, n, (65 if n else 0,), index_dtype)
            gather_and_check(rng, gather, a, there, index, backend)


@pytest.mark.parametrize("variant", [v for v in ALL if v.name in LADDER], ids=str)
def test_other_elements_are_refused(variant, backend, rng):
    here(variant, backend)
    for dtype in ("V3", "S5", "V12", "V32"):
        arrays, keywords, _ = arguments(variant.family, rng, dtype, backend)
        before = [array.to_host().tobytes() for array in arrays]
        with pytest.raises(ValueError, match=f"variant {variant.name}.*elements of"):
            variant(*arrays, **keywords)
        assert [array.to_host().tobytes() for array in arrays] == before


def test_structures_with_padding(backend, rng):
    """Every byte of an element goes along, also those between the fields."""
    dtype = np.dtype([("small", "u1"), ("large", "f8")], align=True)
    a = random_bytes(rng, (100,), dtype)
    raw = a.view(f"V{dtype.itemsize}")
    got = gm.strided_read(a, 1, 3, backend=backend)
    assert got.dtype == dtype and got.tobytes() == raw[1::3].tobytes()
    index = indices(rng, 100, (40,), "i8")
    assert gm.gather(a, index, backend=backend).tobytes() == raw[index].tobytes()
    out = gm.to_device(random_bytes(rng, (100,), dtype), backend=backend)
    wanted = out.to_host().view(raw.dtype)
    wanted[::4] = raw[:25]
    gm.strided_write(out, gm.to_device(a[:25], backend=backend), 0, 4)
    assert out.to_host().tobytes() == wanted.tobytes()


@pytest.mark.parametrize("shape", [(), (1,), (7, 3), (2, 0, 3), (4, 5, 2, 3)], ids=str)
@pytest.mark.parametrize("variant", GATHER, ids=str)
def test_the_index_gives_the_shape(variant, shape, backend, rng):
    here(variant, backend)
    a = random_bytes(rng, (50,), "f4")
    there = gm.to_device(a, backend=backend)
    for dtype in ("i4", "i8"):
        index = np.asarray(indices(rng, 50, shape, dtype))
        gather_and_check(rng, variant, a, there, index, backend)
        got = variant(a, index, backend=backend)
        oracle.compare("gather", np.asarray(got), taken(a, index))


def test_the_defaults_are_offset_1_stride_2(backend):
    a = np.arange(9)
    assert gm.strided_read(a, backend=backend).tolist() == [1, 3, 5, 7]
    out = np.zeros(9, "i8")
    gm.strided_write(out, np.array([1, 2, 3, 4]), backend=backend)
    assert out.tolist() == [0, 1, 0, 2, 0, 3, 0, 4, 0]


# ---- drawn ------------------------------------------------

SLICED = st.tuples(
    st.integers(-350, 350), st.one_of(st.integers(-40, -1), st.integers(1, 40), st.just(1))
)
DRAWN_DTYPES = st.sampled_from([*DTYPES.values(), "V3"])


def drawn_name(data, family, dtype):
    fits = [v.name for v in gm.variants(family) if oracle.takes(v, (9,), dtype)]
    return data.draw(st.sampled_from(["auto", *fits]))


@FEWER
@given(data=st.data(), n=st.integers(0, 300), sliced=SLICED, dtype=DRAWN_DTYPES)
def test_drawn_slices(backend, data, n, sliced, dtype):
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    a = random_bytes(random, (n,), dtype)
    name = drawn_name(data, "strided_read", dtype)
    got = gm.strided_read(a, *sliced, variant=name, backend=backend)
    oracle.compare("strided_read", got, a[sliced[0] :: sliced[1]])

    values = random_bytes(random, (counted(n, *sliced),), dtype)
    wanted = written(a, values, *sliced)
    name = drawn_name(data, "strided_write", dtype)
    assert gm.strided_write(a, values, *sliced, variant=name, backend=backend) is a
    oracle.compare("strided_write", a, wanted)


@FEWER
@given(data=st.data(), n=st.integers(1, 300), dtype=DRAWN_DTYPES)
def test_drawn_indices(backend, data, n, dtype):
    a = random_bytes(np.random.default_rng(data.draw(st.integers(0, 2**32))), (n,), dtype)
    index = data.draw(st.lists(st.integers(-n, n - 1), max_size=100))
    index = np.array(index, data.draw(st.sampled_from(["i4", "i8"])))
    name = drawn_name(data, "gather", dtype)
    got = gm.gather(a, index, variant=name, backend=backend)
    oracle.compare("gather", got, a[index])


# ---- from the host ------------------------------------------------


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
def test_a_stream(variant, backend, rng):
    here(variant, backend)
    stream = gm.Stream(backend=backend)
    arrays, keywords, wanted = arguments(variant.family, rng, "f8", backend)
    got = variant(*arrays, stream=stream, **keywords)
    stream.synchronize()
    oracle.compare(variant.family, got.to_host(), wanted)


VIEWS = {
    "stepped": lambda a: a[::3],
    "part": lambda a: a[7:80],
    "reversed": lambda a: a[::-1],
    "reversed-steps": lambda a: a[90:2:-4],
    "column": lambda a: a.reshape(-1, 4)[:, 1],
    "reversed-column": lambda a: a.reshape(-1, 4)[::-1, 3],
    "row-of-the-turned": lambda a: a.reshape(4, -1).T[5],
    "one": lambda a: a[9:10],
    "none": lambda a: a[9:9],
}


@pytest.mark.parametrize("view", VIEWS)
def test_any_layout_from_the_host(view, backend, rng):
    whole = random_bytes(rng, (120,), "f8")
    part = VIEWS[view](whole)
    for offset, stride in SLICES:
        got = gm.strided_read(part, offset, stride, backend=backend)
        oracle.compare("strided_read", got, part[offset::stride])

        a = random_bytes(rng, (2 * counted(part.size, offset, stride),), "f8")[::2]
        base = random_bytes(rng, (120,), "f8")
        wanted = base.copy()
        VIEWS[view](wanted)[offset::stride] = a
        out = VIEWS[view](base)
        assert gm.strided_write(out, a, offset, stride, backend=backend) is out
        oracle.compare("strided_write", base, wanted)
    index = indices(rng, part.size, (6, 8) if part.size else (0, 8), "i8").T[::-1]
    oracle.compare("gather", gm.gather(part, index, backend=backend), part[index])


def test_an_unaligned_array_on_the_host(backend, rng):
    buffer = random_bytes(rng, (401,), "u1")
    a = buffer[1:].view("f8")
    oracle.compare("strided_read", gm.strided_read(a, 3, 2, backend=backend), a[3::2].copy())
    index = np.frombuffer(b"x" + indices(rng, 50, (20,), "i8").tobytes(), "u1")[1:].view("i8")
    oracle.compare("gather", gm.gather(a, index, backend=backend), a[index].copy())
    values = random_bytes(rng, (25,), "f8")
    wanted = written(a.copy(), values, 1, 2)
    gm.strided_write(a, values, backend=backend)
    assert a.tobytes() == wanted.tobytes()


# ---- layouts and addresses on the device ------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V3", "V24"])
@pytest.mark.parametrize("functions", [AUTO, REST], ids=["auto", "general"])
def test_any_layout_on_the_device(functions, dtype, view, backend, rng):
    read, write, gather = functions
    whole = random_bytes(rng, (120,), dtype)
    there = gm.to_device(whole, backend=backend)
    part, part_there = VIEWS[view](whole), VIEWS[view](there)
    for offset, stride in SLICES:
        read_and_check(rng, read, part, part_there, offset, stride, backend)

        a = random_bytes(rng, (2 * counted(part.size, offset, stride),), dtype)
        base = random_bytes(rng, (120,), dtype)
        out = guarded(rng, base.shape, dtype, backend, values=base)
        VIEWS[view](base)[offset::stride] = a[::-2]
        into = VIEWS[view](out.array)
        got = write(into, gm.to_device(a, backend=backend)[::-2], offset=offset, stride=stride)
        assert got is into
        out.check("strided_write", base)
    index = indices(rng, part.size, (50 if part.size else 0,), "i8")
    gather_and_check(rng, gather, part, part_there, index, backend)


# Views of an index of 6 by 8.
INDEX_VIEWS = {
    "steps": lambda i: i.reshape(-1)[::3],
    "reversed": lambda i: i.reshape(-1)[::-1],
    "row": lambda i: i[4],
    "column": lambda i: i[:, 5],
    "part": lambda i: i[2:5],
    "some-rows": lambda i: i[::2],
    "some-columns": lambda i: i[:, 1::3],
    "turned": lambda i: i.T,
    "turned-round": lambda i: i[::-1, ::-1],
    "none": lambda i: i[3:3, ::2],
}


@pytest.mark.parametrize("view", INDEX_VIEWS)
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@pytest.mark.parametrize("run", [gm.gather, REST[2]], ids=["auto", "general"])
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
@pytest.mark.parametrize("run", [gm.gather, REST[2]], ids=["auto", "general"])
def test_any_address_of_the_index(run, index_dtype, backend, rng):
    a = random_bytes(rng, (50,), "f4")
    for shift in range(9):
        index = indices(rng, 50, (33,), index_dtype)
        there = guarded(rng, index.shape, index_dtype, backend, shift, values=index)
        got = run(gm.to_device(a, backend=backend), there.array)
        oracle.compare("gather", got.to_host(), a[index])


@pytest.mark.parametrize("variant", [v for v in ALL if v.name in LADDER], ids=str)
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


@pytest.mark.parametrize("dtype", ["u2", "f4", "f8", "c16"])
@pytest.mark.parametrize("variant", [v for v in ALL if v.name in LADDER], ids=str)
def test_an_unaligned_address_is_refused_by_name(variant, dtype, backend, rng):
    """From any element of an array on, but not from the middle of one."""
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


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V6"])
@pytest.mark.parametrize("shift", range(0, 18))
def test_auto_takes_any_address(dtype, shift, backend, rng):
    for into, of in [(shift, 0), (0, shift), (shift, (7 * shift + 3) % 19)]:
        for n in (70, 300):
            a = guarded(rng, (n,), dtype, backend, of)
            values = a.array.to_host()
            wanted = values[1::2]
            out = guarded(rng, wanted.shape, dtype, backend, into)
            gm.strided_read(a.array, out=out.array)
            out.check("strided_read", wanted)

            index = indices(rng, n, (n + 3,), "i4")
            wanted = values[index]
            out = guarded(rng, wanted.shape, dtype, backend, into)
            gm.gather(a.array, gm.to_device(index, backend=backend), out=out.array)
            out.check("gather", wanted)

            out = guarded(rng, (3 * n,), dtype, backend, into)
            wanted = written(out.array.to_host(), values, 2, 3)
            gm.strided_write(out.array, a.array, 2, 3)
            out.check("strided_write", wanted)
            a.untouched()


@pytest.mark.parametrize("gap", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V6"])
@pytest.mark.parametrize("functions", [AUTO, REST], ids=["auto", "general"])
def test_elements_a_few_bytes_apart(functions, dtype, gap, backend, rng):
    """The fields of packed records: steps that are no multiple of an element."""
    read, write, gather = functions
    size = np.dtype(dtype).itemsize

    def field(records, of=dtype):
        return records[:, gap : gap + np.dtype(of).itemsize].view(of)[:, 0]

    records = random_bytes(rng, (70, gap + size), "u1")
    there = gm.to_device(records, backend=backend)
    a = field(records).copy()
    for offset, stride in SLICES:
        read_and_check(rng, read, a, field(there), offset, stride, backend)
        before = random_bytes(rng, (70, gap + size), "u1")
        out = guarded(rng, before.shape, "u1", backend, values=before)
        write(field(out.array), field(there)[offset::stride], offset=offset, stride=stride)
        field(before)[offset::stride] = a[offset::stride]
        out.check("strided_write", before)
    for index_dtype in ("i4", "i8"):
        index = indices(rng, 70, (70,), index_dtype)
        raw_index = random_bytes(rng, (70, gap + index.itemsize), "u1")
        field(raw_index, index_dtype)[:] = index
        out = guarded(rng, index.shape, dtype, backend)
        places = field(gm.to_device(raw_index, backend=backend), index_dtype)
        gather(field(there), places, out=out.array)
        out.check("gather", a[index])


# ---- beyond 32 bits ------------------------------------------------


@pytest.mark.parametrize("variant", ALL, ids=str)
def test_places_beyond_32_bits(variant, backend):
    """Of a large array, most of which no memory is ever used for."""
    here(variant, backend)
    for dtype, n in (("u1", 2**32 + 1000), ("c16", 2**28 + 1000)):
        whole = gm.DeviceArray(n, dtype, backend=backend)
        far = n // 2 - 500  # 2**31, or that many bytes
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
    """A device array of n elements, those of row over and over."""
    whole = gm.DeviceArray(n, row.dtype, backend=row.backend)
    for first in range(0, n, row.size):
        part = whole[first : first + row.size]
        gm.copy(row[: part.size], out=part)
    return whole


@pytest.mark.gpu
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


# ---- in place ------------------------------------------------


@pytest.mark.parametrize("name", ["auto", *[v.name for v in WRITE]])
def test_written_in_place(name, backend, rng):
    if name != "auto":
        here(next(v for v in WRITE if v.name == name), backend)
    out = np.arange(10, dtype="f4")
    a = np.full(3, -1, "f4")
    assert gm.strided_write(out, a, 2, 3, variant=name, backend=backend) is out
    assert out.tolist() == [0, 1, -1, 3, 4, -1, 6, 7, -1, 9]
    there = gm.to_device(out, backend=backend)
    here_too = there[:5]
    a = gm.to_device(np.array([8, 9], "f4"), backend=backend)
    assert gm.strided_write(here_too, a, -1, -3, variant=name) is here_too
    assert there.to_host().tolist() == [0, 9, -1, 3, 8, -1, 6, 7, -1, 9]


def test_a_source_may_be_read_only(backend):
    a = np.ones(5)
    a.flags.writeable = False
    out = np.zeros(10)
    gm.strided_write(out, a, backend=backend)
    assert out.tolist() == [0, 1] * 5
    assert gm.strided_read(a, backend=backend).tolist() == [1, 1]


def test_parts_of_one_array_side_by_side(backend):
    """What overlaps is told by the bytes, not by the owner."""
    base = np.arange(10)
    gm.strided_write(base[:5], base[5:8], 0, 2, backend=backend)
    assert base.tolist() == [5, 1, 6, 3, 7, 5, 6, 7, 8, 9]
    there = gm.to_device(np.arange(10), backend=backend)
    gm.strided_write(there[:5], there[5:8], 0, 2)
    assert there.to_host().tolist() == [5, 1, 6, 3, 7, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("variant", WRITE, ids=str)
def test_observed_the_callers_array_stays(variant, rng):
    out, a = random_bytes(rng, (1000,), "f4"), random_bytes(rng, (250,), "f4")
    before = out.tobytes()
    t = gm.traffic("strided_write", out, a, variant=variant, offset=3, stride=4)
    assert out.tobytes() == before
    assert t.result is not out
    oracle.compare("strided_write", np.asarray(t.result), written(out, a, 3, 4))


# ---- refusals ------------------------------------------------

BAD = [5, 7, -6, 2**31 - 1, -(2**31), 2**31, 2**32, 2**32 + 1, -(2**32), 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("name", ["auto", *[v.name for v in GATHER]])
def test_an_index_out_of_range(name, backend, rng):
    """Nothing is written: not even what the good places of the index ask for."""
    if name != "auto":
        here(next(v for v in GATHER if v.name == name), backend)
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
    """In a large index, in one that goes backwards, and observed."""
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


@pytest.mark.parametrize("name", ["auto", *[v.name for v in GATHER]])
def test_nothing_to_take_from(name, backend):
    if name != "auto":
        here(next(v for v in GATHER if v.name == name), backend)
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


@pytest.mark.parametrize("integer", [np.int64, np.int8, np.uint16, np.array], ids=str)
def test_any_kind_of_integer(integer, backend):
    a = np.arange(9)
    got = gm.strided_read(a, integer(2), stride=integer(3), backend=backend)
    assert got.tolist() == [2, 5, 8]


def floats(*shape):
    return np.arange(np.prod(shape), dtype="f4").reshape(shape)


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
    arrays: Any  # callable: what puts an array on the host or the device -> arguments
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


def raw(array):
    return (array if isinstance(array, np.ndarray) else array.to_host()).tobytes()


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


def test_the_index_is_not_overwritten(backend):
    for new in (np.copy, lambda array: gm.to_device(array, backend=backend)):
        a, whole = new(np.arange(9)), new(np.zeros(8, "i8"))
        with pytest.raises(ValueError, match="out overlaps index"):
            gm.gather(a, whole[:5], out=whole[3:], backend=backend)
        assert raw(whole) == bytes(64)


def test_what_cannot_be_written_to(backend):
    out = floats(9)
    out.flags.writeable = False
    with pytest.raises(ValueError, match=r"out.*read-only"):
        gm.strided_write(out, floats(4), backend=backend)
    assert out.tolist() == floats(9).tolist()
    with pytest.raises(TypeError, match="out must be"):
        gm.strided_write([0.0] * 9, floats(4), backend=backend)
    with pytest.raises(TypeError, match="out must be"):
        gm.strided_write(bytearray(9), np.zeros(4, "u1"), backend=backend)


@pytest.mark.parametrize("family", ["strided_read", "strided_write", "gather"])
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

COUNT = 256 * 8 * 4  # elements moved: a whole number of tiles of every variant
SINGLE = ["cached", "uncached", "readonly"]


def touched(places, itemsize, piece):
    """Aligned pieces of so many bytes touched, a warp's 32 elements at a time."""
    pieces = np.sort(np.asarray(places).reshape(-1, 32) * itemsize // piece, axis=1)
    return int(len(pieces) + np.count_nonzero(np.diff(pieces, axis=1)))


def sparse(rng, family, dtype, offset, stride):
    """Arguments of which just COUNT elements are addressed, and where they are."""
    n = COUNT * abs(stride)
    n += offset if stride > 0 else 0
    places = np.arange(n)[offset::stride]
    assert places.size == COUNT
    a = random_bytes(rng, (n,), dtype)
    if family == "strided_read":
        return (a,), places
    return (a, random_bytes(rng, (COUNT,), dtype)), places


def check_sides(variant, t, itemsize, places):
    """One side is that of the addresses, the other coalesced, each in one request per warp."""
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


@pytest.mark.parametrize("variant", [v for v in READ + WRITE if v.name in LADDER], ids=str)
def test_every_offset_costs_4_or_5_sectors(variant, rng):
    for offset in range(34):
        arrays, places = sparse(rng, variant.family, "f4", offset, 1)
        t = gm.traffic(variant.family, *arrays, variant=variant, offset=offset, stride=1)
        far = check_sides(variant, t, 4, places)
        assert far.sectors_per_request == (4 if offset % 8 == 0 else 5)
        assert far.efficiency == (1 if offset % 8 == 0 else 0.8)


@pytest.mark.parametrize("variant", [v for v in READ + WRITE if v.name in LADDER], ids=str)
def test_every_stride_costs_4_sectors_more_up_to_32(variant, rng):
    for stride in range(1, 34):
        arrays, places = sparse(rng, variant.family, "f4", 0, stride)
        t = gm.traffic(variant.family, *arrays, variant=variant, offset=0, stride=stride)
        far = check_sides(variant, t, 4, places)
        assert far.sectors_per_request == min(32, 4 * stride)
        assert far.lines_per_request == min(32, stride)


@pytest.mark.parametrize("itemsize", [1, 2, 8, 16])
@pytest.mark.parametrize("variant", [v for v in READ + WRITE if v.name in LADDER], ids=str)
def test_sectors_of_other_elements(variant, itemsize, rng):
    for offset, stride in [(0, 1), (1, 1), (3, 2), (0, 5), (-1, -1), (-1, -4)]:
        arrays, places = sparse(rng, variant.family, DTYPES[itemsize], offset, stride)
        t = gm.traffic(variant.family, *arrays, variant=variant, offset=offset, stride=stride)
        far = check_sides(variant, t, itemsize, places)
        if (offset, stride) in [(0, 1), (-1, -1)]:
            assert far.sectors_per_request == itemsize


def test_backwards_is_as_good_as_forwards(rng):
    (a,), _ = sparse(rng, "strided_read", "f4", -1, -1)
    for name in LADDER:
        t = gm.traffic("strided_read", a, variant=name, offset=-1, stride=-1)
        assert (t.loads.sectors_per_request, t.loads.efficiency) == (4, 1)


def data_loads(t, width):
    """The loads of what the index points to, which the width of an access tells from the index."""
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
@pytest.mark.parametrize("variant", [v for v in GATHER if v.name in LADDER], ids=str)
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


@pytest.mark.parametrize("variant", [v for v in GATHER if v.name in LADDER], ids=str)
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


@pytest.mark.parametrize("variant", ALL, ids=str)
def test_every_element_is_moved_once(variant, rng):
    """Also where warps are not full, and for a shape instead of arrays."""
    for dtype in ("u1", "f4", "c16"):
        arrays, keywords, wanted = arguments(variant.family, rng, dtype, n=1027)
        t = gm.traffic(variant.family, *arrays, variant=variant, **keywords)
        oracle.compare(variant.family, np.asarray(t.result), wanted)
        moved = arrays[1].size if variant.family != "strided_read" else wanted.size
        assert t.stores.bytes_asked == moved * wanted.itemsize
    t = gm.traffic(variant.family, shape=(1000,), dtype="f8", variant=variant)
    assert t.variant == variant.name
    assert t.stores.bytes_asked in (500 * 8, 1000 * 8)


@pytest.mark.parametrize(
    ("offset", "stride", "read", "write"),
    [
        (0, 1, "strided", "strided"),
        (4, 1, "strided", "strided"),
        (1, 1, "unroll4", "unroll4"),
        (-4, -1, "unroll4", "unroll4"),
        (0, 2, "unroll4", "unroll4"),
        (0, 4, "unroll4", "cached"),
        (-1, -16, "cached", "cached"),
        (0, 2**62, "strided", "strided"),  # a single element
    ],
)
def test_what_auto_takes(offset, stride, read, write):
    """Copies of slices without steps that begin at 16 bytes; few loads in flight for far apart
    elements."""
    a = np.zeros(4096, "f4")
    part = np.zeros(counted(4096, offset, stride), "f4")
    for family, arrays, wanted in (
        ("strided_read", (a,), read),
        ("strided_write", (a, part), write),
    ):
        t = gm.traffic(family, *arrays, offset=offset, stride=stride)
        assert t.variant == wanted


@pytest.mark.parametrize("family", ["strided_read", "strided_write"])
def test_observed_any_offset_and_stride(family, rng):
    """What is beyond the ends asks for nothing."""
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
