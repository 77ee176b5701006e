"""strided_write: every variant with every slice, dtype, layout and address; in place."""

import numpy as np
import pytest
from access import (
    BEYOND,
    DRAWN_DTYPES,
    DTYPES,
    FEWER,
    ODD_DTYPES,
    SIZES,
    SLICED,
    SLICES,
    VIEWS,
    counted,
    drawn_name,
    floats,
    guarded,
    random_bytes,
    written,
)
from hypothesis import given
from hypothesis import strategies as st
from support import here

import gpumem as gm
from gpumem.families import oracle
from gpumem.families.table import find

VARIANTS = gm.variants("strided_write")
# What takes any dtype and any layout.
GENERAL = pytest.mark.parametrize(
    "run", [gm.strided_write, find("strided_write", "any")], ids=["auto", "any"]
)


def write_and_check(rng, run, n, dtype, offset, stride, backend):
    """Write to a slice of guarded memory."""
    values = random_bytes(rng, (n,), dtype)
    a = random_bytes(rng, (counted(n, offset, stride),), dtype)
    out = guarded(rng, (n,), dtype, backend, values=values)
    there = gm.to_device(a, backend=backend)
    assert run(out.array, there, offset=offset, stride=stride) is out.array
    out.check("strided_write", written(values, a, offset, stride))
    assert there.to_host().tobytes() == a.tobytes()


# ---- every size, element and slice ------------------------------------------------


@pytest.mark.parametrize("itemsize", DTYPES)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_slice_on_the_device(variant, itemsize, backend, rng):
    here(variant, backend)
    for n in SIZES:
        for offset, stride in SLICES if n > 2000 else SLICES + BEYOND:
            write_and_check(rng, variant, n, DTYPES[itemsize], offset, stride, backend)


@pytest.mark.parametrize("dtype", [*DTYPES.values(), *ODD_DTYPES])
@GENERAL
def test_any_dtype(run, dtype, backend, rng):
    for n in [0, 1, 33, 1027]:
        for offset, stride in SLICES:
            write_and_check(rng, run, n, dtype, offset, stride, backend)


def test_structures_with_padding(backend, rng):
    """Every byte of an element is copied, the padding between the fields included."""
    dtype = np.dtype([("small", "u1"), ("large", "f8")], align=True)
    a = random_bytes(rng, (25,), dtype)
    out = gm.to_device(random_bytes(rng, (100,), dtype), backend=backend)
    wanted = out.to_host().view(f"V{dtype.itemsize}")
    wanted[::4] = a.view(wanted.dtype)
    gm.strided_write(out, gm.to_device(a, backend=backend), 0, 4)
    assert out.to_host().tobytes() == wanted.tobytes()


def test_the_defaults_are_offset_1_stride_2(backend):
    out = np.zeros(9, "i8")
    gm.strided_write(out, np.array([1, 2, 3, 4]), backend=backend)
    assert out.tolist() == [0, 1, 0, 2, 0, 3, 0, 4, 0]


@FEWER
@given(data=st.data(), n=st.integers(0, 300), sliced=SLICED, dtype=DRAWN_DTYPES)
def test_drawn_slices(backend, data, n, sliced, dtype):
    offset, stride = sliced
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    out = random_bytes(random, (n,), dtype)
    a = random_bytes(random, (counted(n, offset, stride),), dtype)
    wanted = written(out, a, offset, stride)
    name = drawn_name(data, "strided_write", dtype)
    assert gm.strided_write(out, a, offset, stride, variant=name, backend=backend) is out
    oracle.compare("strided_write", out, wanted)


# ---- layouts and addresses ------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
def test_any_layout_from_the_host(view, backend, rng):
    for offset, stride in SLICES:
        base = random_bytes(rng, (120,), "f8")
        wanted = base.copy()
        out = VIEWS[view](base)
        a = random_bytes(rng, (2 * counted(out.size, offset, stride),), "f8")[::2]
        VIEWS[view](wanted)[offset::stride] = a
        assert gm.strided_write(out, a, offset, stride, backend=backend) is out
        oracle.compare("strided_write", base, wanted)


def test_an_unaligned_array_on_the_host(backend, rng):
    out = random_bytes(rng, (401,), "u1")[1:].view("f8")
    a = random_bytes(rng, (25,), "f8")
    wanted = written(out.copy(), a, 1, 2)
    gm.strided_write(out, a, backend=backend)
    assert out.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V3", "V24"])
@GENERAL
def test_any_layout_on_the_device(run, dtype, view, backend, rng):
    for offset, stride in SLICES:
        base = random_bytes(rng, (120,), dtype)
        out = guarded(rng, base.shape, dtype, backend, values=base)
        into = VIEWS[view](out.array)
        a = random_bytes(rng, (2 * counted(into.size, offset, stride),), dtype)
        VIEWS[view](base)[offset::stride] = a[::-2]
        there = gm.to_device(a, backend=backend)[::-2]
        assert run(into, there, offset=offset, stride=stride) is into
        out.check("strided_write", base)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V6"])
@pytest.mark.parametrize("shift", range(0, 18))
def test_auto_takes_any_address(dtype, shift, backend, rng):
    for into, of in [(shift, 0), (0, shift), (shift, (7 * shift + 3) % 19)]:
        for n in (70, 300):
            a = guarded(rng, (n,), dtype, backend, of)
            out = guarded(rng, (3 * n,), dtype, backend, into)
            wanted = written(out.array.to_host(), a.array.to_host(), 2, 3)
            gm.strided_write(out.array, a.array, 2, 3)
            out.check("strided_write", wanted)
            a.untouched()


@pytest.mark.parametrize("gap", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16", "V6"])
@GENERAL
def test_a_field_of_packed_records(run, dtype, gap, backend, rng):
    """Steps between elements are not a multiple of the element size."""
    size = np.dtype(dtype).itemsize

    def field(records):
        return records[:, gap:].view(dtype)[:, 0]

    records = random_bytes(rng, (70, gap + size), "u1")
    there = gm.to_device(records, backend=backend)
    for offset, stride in SLICES:
        base = random_bytes(rng, records.shape, "u1")
        out = guarded(rng, base.shape, "u1", backend, values=base)
        run(field(out.array), field(there)[offset::stride], offset=offset, stride=stride)
        field(base)[offset::stride] = field(records)[offset::stride]
        out.check("strided_write", base)


# ---- in place ------------------------------------------------


@pytest.mark.parametrize("name", ["auto", *[v.name for v in VARIANTS]])
def test_written_in_place(name, backend):
    if name != "auto":
        here(find("strided_write", name), backend)
    out = np.arange(10, dtype="f4")
    a = np.full(3, -1, "f4")
    assert gm.strided_write(out, a, 2, 3, variant=name, backend=backend) is out
    assert out.tolist() == [0, 1, -1, 3, 4, -1, 6, 7, -1, 9]
    there = gm.to_device(out, backend=backend)
    part = there[:5]
    a = gm.to_device(np.array([8, 9], "f4"), backend=backend)
    assert gm.strided_write(part, a, -1, -3, variant=name) is part
    assert there.to_host().tolist() == [0, 9, -1, 3, 8, -1, 6, 7, -1, 9]


def test_a_source_may_be_read_only(backend):
    a = np.ones(5)
    a.flags.writeable = False
    out = np.zeros(10)
    gm.strided_write(out, a, backend=backend)
    assert out.tolist() == [0, 1] * 5


def test_parts_of_one_array_side_by_side(backend):
    """Arrays overlap if they share bytes, not if they share an owner."""
    base = np.arange(10)
    gm.strided_write(base[:5], base[5:8], 0, 2, backend=backend)
    assert base.tolist() == [5, 1, 6, 3, 7, 5, 6, 7, 8, 9]
    there = gm.to_device(np.arange(10), backend=backend)
    gm.strided_write(there[:5], there[5:8], 0, 2)
    assert there.to_host().tolist() == [5, 1, 6, 3, 7, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_counting_traffic_leaves_the_callers_array_alone(variant, rng):
    out, a = random_bytes(rng, (1000,), "f4"), random_bytes(rng, (250,), "f4")
    before = out.tobytes()
    t = gm.traffic("strided_write", out, a, variant=variant, offset=3, stride=4)
    assert out.tobytes() == before
    assert t.result is not out
    oracle.compare("strided_write", np.asarray(t.result), written(out, a, 3, 4))


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
