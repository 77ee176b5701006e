"""shift_points: array of structures, structure of arrays and structured dtypes, bit for bit."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import here

import gpumem as gm

POINTS = gm.variants("shift_points")
AOS = [v for v in POINTS if v.name.startswith("aos")]
SIZES = [0, 1, 2, 3, 31, 32, 33, 97, 1027, 65537 + 5]
FLOATS = ["f4", "f8"]
SHIFTS = [
    (1.5, -2.25),
    (0.1, 1e-3),
    (-0.0, 0.0),
    (1e300, -1e39),
    (np.inf, -np.inf),
    (np.nan, 1.0),
    (1e-45, 5e-324),
    (3, -7),
]
MARGIN = 256  # guard bytes before and after each array
FEWER_EXAMPLES = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def fields(dtype):
    return np.dtype([("x", dtype), ("y", dtype)])


def random_points(rng, n, dtype, layout):
    """Random bit patterns, including subnormals, infinities and NaN, and ordinary numbers."""
    a = np.frombuffer(rng.bytes(2 * n * np.dtype(dtype).itemsize), dtype).copy()
    a[::3] = rng.standard_normal(a[::3].size)
    return as_layout(a, layout)


def as_layout(flat, layout):
    """View a flat array as points in the given layout."""
    if layout == "fields":
        return flat.view(fields(flat.dtype))
    return flat.reshape(-1, 2) if layout == "aos" else flat.reshape(2, -1)


def layouts(variant):
    by_name = {"aos": ["aos", "fields"], "soa": ["soa"]}
    return by_name.get(variant.name[:3], ["aos", "fields", "soa"])


def reads_as_aos(variant, n, layout):
    """Whether a 2 x 2 array in SoA layout is read as AoS, because the variant does not decide."""
    return (n, layout) == (2, "soa") and (variant is None or "aos" in layouts(variant))


def alignment(variant, size):
    """Alignment in bytes that the variant needs."""
    return 16 if variant.name == "vec4" else 2 * size if "vec2" in variant.name else size


def shifted(p, dx, dy, layout):
    """The expected result, computed by NumPy."""
    with np.errstate(all="ignore"):
        if layout == "fields":
            wanted = p.copy()
            for name, d in (("x", dx), ("y", dy)):
                wanted[name] = p[name] + p.dtype[name].type(d)
            return wanted
        d = np.array([dx, dy], p.dtype)
        return p + (d if layout == "aos" else d[:, None])


def check(got, wanted):
    """Bits must be equal, except that any NaN matches any NaN."""
    assert isinstance(got, np.ndarray)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    if got.dtype.names:
        got, wanted = (np.stack([a["x"], a["y"]], -1) for a in (got, wanted))
    got, wanted = np.ascontiguousarray(got), np.ascontiguousarray(wanted)
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(got), nan)
    bits = f"u{got.dtype.itemsize}"
    np.testing.assert_array_equal(got.view(bits)[~nan], wanted.view(bits)[~nan])


class Guarded(NamedTuple):
    """A device array inside a buffer of random bytes, and the buffer's initial contents."""

    array: Any
    buffer: Any
    before: np.ndarray
    first: int

    def assert_margins_unchanged(self):
        after, last = self.buffer.to_host(), self.first + self.array.nbytes
        np.testing.assert_array_equal(after[: self.first], self.before[: self.first])
        np.testing.assert_array_equal(after[last:], self.before[last:])

    def assert_unchanged(self):
        np.testing.assert_array_equal(self.buffer.to_host(), self.before)


def guarded(rng, like, backend, shift=0, values=None):
    """A guarded array with the shape and dtype of `like`; it holds `values`, or random bytes."""
    first = MARGIN + shift
    before = np.frombuffer(rng.bytes(like.nbytes + 2 * first), "u1").copy()
    if values is not None:
        before[first : first + like.nbytes] = np.frombuffer(values.tobytes(), "u1")
    buffer = gm.to_device(before, backend=backend)
    array = buffer[first : first + like.nbytes].view(like.dtype).reshape(like.shape)
    return Guarded(array, buffer, before, first)


def run_and_check(rng, run, p, device_points, shift, layout, backend):
    out = guarded(rng, p, backend)
    assert run(device_points, *shift, out=out.array) is out.array
    check(out.array.to_host(), shifted(p, *shift, layout))
    out.assert_margins_unchanged()


def test_ladder_order():
    assert [v.name for v in POINTS] == ["aos", "aos_vec2", "soa", "soa_vec2", "vec4"]


# ---- every size, layout and shift ------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("variant", "layout"),
    [(v, layout) for v in POINTS for layout in layouts(v)],
    ids=lambda x: str(x),
)
def test_every_size_on_the_device(variant, layout, dtype, backend, rng):
    here(variant, backend)
    for n in SIZES:
        if reads_as_aos(variant, n, layout):
            continue
        p = random_points(rng, n, dtype, layout)
        device_points = gm.to_device(p, backend=backend)
        for shift in SHIFTS[:2] if n > 2000 else SHIFTS:
            run_and_check(rng, variant, p, device_points, shift, layout, backend)
        assert device_points.to_host().tobytes() == p.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", ["aos", "soa", "fields"])
def test_auto_detects_the_layout(layout, dtype, backend, rng):
    for n in SIZES:
        if reads_as_aos(None, n, layout):
            continue
        p = random_points(rng, n, dtype, layout)
        device_points = gm.to_device(p, backend=backend)
        for shift in SHIFTS[:2] if n > 2000 else SHIFTS:
            run_and_check(rng, gm.shift_points, p, device_points, shift, layout, backend)


@pytest.mark.parametrize("dtype", FLOATS)
def test_two_by_two_is_an_array_of_structures(dtype, backend):
    """Except for the soa variants, which read it as a structure of arrays."""
    p = np.array([[1, 2], [3, 4]], dtype)
    wanted_by_name = {name: [[11, 12], [103, 104]] for name in ("soa", "soa_vec2")}
    for each in (p, gm.to_device(p, backend=backend)):
        for name in ("auto", *(v.name for v in POINTS if v.reason_on(backend) is None)):
            got = gm.shift_points(each, 10, 100, variant=name, backend=backend)
            got = got if each is p else got.to_host()
            assert got.tolist() == wanted_by_name.get(name, [[11, 102], [13, 104]]), name


@FEWER_EXAMPLES
@given(
    data=st.data(),
    n=st.integers(0, 300),
    dtype=st.sampled_from(FLOATS),
    layout=st.sampled_from(["aos", "soa", "fields"]),
    shift=st.tuples(st.floats(), st.floats()),
)
def test_random_points(backend, data, n, dtype, layout, shift):
    names = [v for v in POINTS if layout in layouts(v) and v.reason_on(backend) is None]
    names = [v.name for v in names if not reads_as_aos(v, n, layout)]
    names += [] if reads_as_aos(None, n, layout) else ["auto"]
    name = data.draw(st.sampled_from(names))
    p = random_points(np.random.default_rng(data.draw(st.integers(0, 2**32))), n, dtype, layout)
    got = gm.shift_points(p, *shift, variant=name, backend=backend)
    check(got, shifted(p, *shift, layout))


@FEWER_EXAMPLES
@given(
    p=st.lists(st.tuples(st.floats(width=32), st.floats(width=32)), min_size=1, max_size=40),
    shift=st.tuples(st.floats(width=32), st.floats(width=32)),
)
def test_random_values(backend, p, shift):
    p = np.array(p, "f4")
    for v in POINTS:
        if v.reason_on(backend) is None:
            for layout in layouts(v):
                if reads_as_aos(v, len(p), layout):
                    continue
                each = as_layout(
                    np.ascontiguousarray(p.T if layout == "soa" else p).ravel(), layout
                )
                check(v(each, *shift, backend=backend), shifted(each, *shift, layout))


@pytest.mark.parametrize(("variant"), POINTS, ids=str)
def test_a_shift_is_rounded_to_the_dtype_first(variant, backend):
    """In float32, 2**24 + 1 rounds to 2**24; adding the unrounded shift would change the sums."""
    here(variant, backend)
    p = np.array([[1, 1], [-3, 0.5], [0, 0]], "f4")
    p = np.ascontiguousarray(p.T) if layouts(variant)[0] == "soa" else p
    for shift in [(2.0**24 + 1, -(2.0**24) - 1), (0.1, 1 + 2**-24 + 2**-50), (1e39, -1e300)]:
        got = variant(p, *shift, backend=backend)
        check(got, shifted(p, *shift, layouts(variant)[0]))


@pytest.mark.parametrize(
    "number",
    [np.float32(0.1), np.float64(0.1), np.int64(3), 3, Fraction(1, 3), np.array(2.5)],
    ids=repr,
)
def test_any_kind_of_number(number, backend):
    p = np.ones((3, 2), "f4")
    for got in (
        gm.shift_points(p, number, 0, backend=backend)[:, 0],
        gm.shift_points(p, dx=0, dy=number, backend=backend)[:, 1],
    ):
        assert got.tolist() == 3 * [float(np.float32(1) + np.float32(float(number)))]


# ---- from the host ------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", POINTS, ids=str)
def test_from_the_host(variant, dtype, backend, rng):
    here(variant, backend)
    for layout in layouts(variant):
        p = random_points(rng, 97, dtype, layout)
        before = p.tobytes()
        wanted = shifted(p, 1.5, -2.25, layout)
        got = variant(p, 1.5, -2.25, backend=backend)
        assert got.flags.c_contiguous and not np.shares_memory(got, p)
        check(got, wanted)
        out = np.zeros_like(p)
        assert variant(p, 1.5, -2.25, out=out, backend=backend) is out
        check(out, wanted)
        assert p.tobytes() == before
        stream = gm.Stream(backend=backend)
        device_result = variant(gm.to_device(p, backend=backend), 1.5, -2.25, stream=stream)
        stream.synchronize()
        check(device_result.to_host(), wanted)


VIEWS = {
    "rows": (lambda a: a.reshape(-1, 2)[::3], "aos"),
    "reversed": (lambda a: a.reshape(-1, 2)[::-1], "aos"),
    "columns": (lambda a: a.reshape(-1, 4)[:, 1:3], "aos"),
    "two-apart": (lambda a: a.reshape(-1, 4)[:, ::2], "aos"),
    "swapped": (lambda a: a.reshape(-1, 2)[:, ::-1], "aos"),
    "turned": (lambda a: a.reshape(2, -1).T, "aos"),
    "turned-back": (lambda a: a.reshape(-1, 2).T, "soa"),
    "part": (lambda a: a.reshape(2, -1)[:, 5:40], "soa"),
    "two-rows": (lambda a: a.reshape(6, -1)[4:0:-3], "soa"),
    "steps": (lambda a: a.reshape(2, -1)[:, ::2], "soa"),
    "fields": (lambda a: a.view(fields(a.dtype))[::2], "fields"),
    "fields-reversed": (lambda a: a.view(fields(a.dtype))[::-1], "fields"),
    "none": (lambda a: a.reshape(-1, 2)[5:5], "aos"),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("view", VIEWS)
def test_any_layout_from_the_host(view, dtype, backend, rng):
    make, layout = VIEWS[view]
    p = make(random_points(rng, 120, dtype, "aos").reshape(-1))
    wanted = shifted(p, 0.5, 3, layout)
    check(gm.shift_points(p, 0.5, 3, backend=backend), wanted)
    for variant in POINTS:
        if layout in layouts(variant) and variant.reason_on(backend) is None:
            check(variant(p, 0.5, 3, backend=backend), wanted)


# ---- layouts and addresses on the device ------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("view", VIEWS)
def test_any_layout_on_the_device(view, dtype, backend, rng):
    """auto accepts every layout; a named variant accepts it or raises ValueError."""
    make, layout = VIEWS[view]
    flat = random_points(rng, 120, dtype, "aos").reshape(-1)
    p, device_points = make(flat), make(gm.to_device(flat, backend=backend))
    run_and_check(rng, gm.shift_points, p, device_points, (0.5, 3), layout, backend)
    for variant in POINTS:
        if layout in layouts(variant) and variant.reason_on(backend) is None:
            out = guarded(rng, p, backend)
            try:
                variant(device_points, 0.5, 3, out=out.array)
            except ValueError as error:
                assert f"variant {variant.name}" in str(error)
                assert not device_points.contiguous
                out.assert_unchanged()
            else:
                check(out.array.to_host(), shifted(p, 0.5, 3, layout))
                out.assert_margins_unchanged()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("variant", "layout"),
    [
        *((None, layout) for layout in ("aos", "fields", "soa")),
        *((variant, layout) for variant in POINTS for layout in layouts(variant)),
    ],
    ids=lambda v: str(v or "auto"),
)
def test_offsets_of_whole_elements(variant, dtype, layout, backend, rng):
    """Offsets of 1 to 3 elements: most are too misaligned for vector loads."""
    if variant is not None:
        here(variant, backend)
    size = np.dtype(dtype).itemsize
    run = variant or gm.shift_points
    for n in (1, 5, 33, 1027):
        p = random_points(rng, n, dtype, layout)
        wanted = shifted(p, 0.5, 3, layout)
        for output_offset, input_offset in [
            (size, 0),
            (0, size),
            (size, size),
            (2 * size, 3 * size),
        ]:
            points = guarded(rng, p, backend, input_offset, values=p)
            out = guarded(rng, p, backend, output_offset)
            if variant is None or not (output_offset | input_offset) % alignment(variant, size):
                run(points.array, 0.5, 3, out=out.array)
                check(out.array.to_host(), wanted)
                out.assert_margins_unchanged()
            else:
                with pytest.raises(ValueError, match=rf"variant {variant.name} .*align"):
                    run(points.array, 0.5, 3, out=out.array)
                out.assert_unchanged()
            points.assert_unchanged()
        for offset in (2 * size, 4 * size):
            if variant is not None and offset % alignment(variant, size):
                continue
            points = guarded(rng, p, backend, offset, values=p)
            check(run(points.array, 0.5, 3).to_host(), wanted)


@pytest.mark.parametrize("layout", ["aos", "fields", "soa"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_auto_accepts_any_address(dtype, layout, backend, rng):
    p = random_points(rng, 131, dtype, layout)
    for offset in range(1, 18):
        for output_offset, input_offset in [
            (offset, 0),
            (0, offset),
            (offset, (5 * offset + 3) % 13),
        ]:
            points = guarded(rng, p, backend, input_offset, values=p)
            out = guarded(rng, p, backend, output_offset)
            gm.shift_points(points.array, 0.5, 3, out=out.array)
            check(out.array.to_host(), shifted(p, 0.5, 3, layout))
            out.assert_margins_unchanged()
            points.assert_unchanged()


# ---- beyond 32 bits ------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("variant", "layout"),
    [(v, layout) for v in POINTS for layout in layouts(v) if layout != "fields"],
    ids=str,
)
def test_element_offsets_beyond_32_bits(variant, layout, rng):
    here(variant, "cuda")
    n = 2**31 + 1234  # points
    row = rng.standard_normal((2**19 - 1, 2)).astype("f4")
    device_row = gm.to_device(row.reshape(-1), backend="cuda")
    flat = gm.DeviceArray(2 * n, "f4", backend="cuda")
    for first in range(0, flat.size, device_row.size):
        part = flat[first : first + device_row.size]
        gm.copy(device_row[: part.size], out=part)
    soa = layout == "soa"
    out = variant(flat.reshape(2, n) if soa else flat.reshape(n, 2), 0.5, -3).reshape(2 * n)
    for start in (0, n - 500, n, 2**31 - 500, 2**32 - 500, 2 * n - 1000):
        start = start // 2 * 2
        indices = np.arange(start, start + 1000)
        is_y = indices >= n if soa else indices % 2 == 1
        wanted = row.reshape(-1)[indices % row.size] + np.where(is_y, -3, 0.5).astype("f4")
        np.testing.assert_array_equal(out[start : start + 1000].to_host(), wanted)


# ---- refusals ------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", POINTS, ids=str)
def test_a_named_variant_refuses_another_layout(variant, dtype, backend, rng):
    here(variant, backend)
    for layout in {"aos", "soa", "fields"} - set(layouts(variant)):
        p = random_points(rng, 33, dtype, layout)
        for each in (p, gm.to_device(p, backend=backend)):
            out = guarded(rng, p, backend)
            with pytest.raises(ValueError, match=r"\bp\b"):
                keywords = {} if each is p else {"out": out.array}
                variant(each, 1, 2, **keywords, backend=backend)
            out.assert_unchanged()
        if layout != "fields":
            with pytest.raises(ValueError, match=r"\bp\b"):
                gm.traffic("shift_points", p, variant=variant, dx=1, dy=2)


DTYPES = {
    "int": "i4",
    "long": "i8",
    "byte": "u1",
    "bool": "bool",
    "half": "f2",
    "complex": "c8",
    "double-complex": "c16",
    "text": "S8",
    "time": "m8[s]",
    "bytes": "V8",
    "fields-of-ints": fields("i4"),
    "fields-of-halves": fields("f2"),
    "other-names": [("a", "f4"), ("b", "f4")],
    "other-types": [("x", "f4"), ("y", "f8")],
    "one-field": [("x", "f4")],
    "three-fields": [("x", "f4"), ("y", "f4"), ("z", "f4")],
    "a-gap-between": {"names": ["x", "y"], "formats": ["f4", "f4"], "offsets": [0, 8]},
    "a-gap-at-the-end": {
        "names": ["x", "y"],
        "formats": ["f4", "f4"],
        "offsets": [0, 4],
        "itemsize": 12,
    },
    "one-upon-the-other": {"names": ["x", "y"], "formats": ["f4", "f4"], "offsets": [0, 0]},
    "fields-of-fields": [("x", fields("f4")), ("y", fields("f4"))],
    "fields-of-arrays": [("x", "f4", 2), ("y", "f4", 2)],
}


@pytest.mark.parametrize("kind", DTYPES)
def test_unsupported_dtypes(kind, backend):
    dtype = np.dtype(DTYPES[kind])
    p = np.zeros(7 if dtype.names else (7, 2), dtype)
    for each in (p, gm.to_device(p, backend=backend)):
        for name in ("auto", *(v.name for v in POINTS)):
            with pytest.raises(TypeError, match=r"\bp\b.*float32.*float64"):
                gm.shift_points(each, 1, 2, variant=name, backend=backend)


@pytest.mark.parametrize(
    "shape", [(), (0,), (2,), (7,), (3, 3), (0, 0), (0, 3), (3, 1), (1, 1), (2, 3, 2), (5, 2, 1)]
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_unsupported_shapes(dtype, shape, backend):
    p = np.zeros(shape, dtype)
    for each in (p, gm.to_device(p, backend=backend)):
        for name in ("auto", *(v.name for v in POINTS)):
            with pytest.raises(ValueError, match=r"\bp\b"):
                gm.shift_points(each, 1, 2, variant=name, backend=backend)


@pytest.mark.parametrize("shape", [(), (3, 2), (2, 3), (1, 1), (2, 2, 2)], ids=str)
def test_unsupported_shapes_of_structures(shape, backend):
    p = np.zeros(shape, fields("f4"))
    for each in (p, gm.to_device(p, backend=backend)):
        with pytest.raises(ValueError, match=r"\bp\b"):
            gm.shift_points(each, 1, 2, backend=backend)


NO_NUMBERS = {
    "text": "1",
    "bytes": b"1",
    "bytearray": bytearray(b"1"),
    "none": None,
    "complex": 1j,
    "complex64": np.complex64(1),
    "list": [1.0],
    "tuple": (1,),
    "array": np.ones(2),
    "array-of-text": np.array("1"),
    "array-of-complex": np.array(1j),
}


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("word", ["dx", "dy"])
def test_shifts_that_are_not_numbers(word, value, backend):
    p = np.zeros((5, 2), "f4")
    keywords = {"dx": 1, "dy": 2} | {word: NO_NUMBERS[value]}
    for each in (p, gm.to_device(p, backend=backend)):
        with pytest.raises(TypeError, match=rf"\b{word}\b"):
            gm.shift_points(each, **keywords, backend=backend)
    with pytest.raises(TypeError, match=rf"\b{word}\b"):
        gm.traffic("shift_points", p, **keywords)


def test_field_order(backend):
    """x is found by field name, at any offset, or the dtype is refused."""
    for dtype in (
        [("y", "f4"), ("x", "f4")],
        {"names": ["x", "y"], "formats": ["f4", "f4"], "offsets": [4, 0]},
        {"names": ["y", "x"], "formats": ["f4", "f4"], "offsets": [4, 0]},
    ):
        p = np.zeros(3, dtype)
        p["x"], p["y"] = 1, 2
        for each in (p, gm.to_device(p, backend=backend)):
            try:
                got = gm.shift_points(each, 10, 20, backend=backend)
            except TypeError as error:
                assert "p has dtype" in str(error)
                continue
            got = got if each is p else got.to_host()
            assert got["x"].tolist() == [11] * 3 and got["y"].tolist() == [22] * 3


def test_mismatched_out_is_refused(backend):
    p = np.zeros((5, 2), "f4")
    for out, error, message in [
        (np.ones((2, 5), "f4"), ValueError, r"out has shape \(2, 5\), expected \(5, 2\)"),
        (np.ones(10, "f4"), ValueError, r"out has shape \(10,\), expected \(5, 2\)"),
        (np.ones((5, 2), "f8"), TypeError, r"out has dtype.*float64.*float32"),
        (np.ones(5, fields("f4")), (TypeError, ValueError), "out has"),
    ]:
        before = out.tobytes()
        with pytest.raises(error, match=message):
            gm.shift_points(p, 1, 2, out=out, backend=backend)
        device_out = gm.to_device(out, backend=backend)
        with pytest.raises(error, match=message):
            gm.shift_points(gm.to_device(p, backend=backend), 1, 2, out=device_out)
        assert out.tobytes() == device_out.to_host().tobytes() == before
    for buffer in (np.zeros((9, 2), "f4"), gm.to_device(np.zeros((9, 2), "f4"), backend=backend)):
        for overlapping in (buffer[:5], buffer[4:]):
            with pytest.raises(ValueError, match="out overlaps p"):
                gm.shift_points(buffer[:5], 1, 2, out=overlapping, backend=backend)


def test_mismatched_structured_out_is_refused(backend):
    p = np.zeros(5, fields("f4"))
    for out, error, message in [
        (np.ones(4, p.dtype), ValueError, r"out has shape \(4,\), expected \(5,\)"),
        (np.ones((5, 1), p.dtype), ValueError, r"out has shape \(5, 1\), expected \(5,\)"),
        (np.ones((5, 2), "f4"), TypeError, r"out has dtype"),
        (np.ones(5, fields("f8")), TypeError, r"out has dtype"),
    ]:
        before = out.tobytes()
        with pytest.raises(error, match=message):
            gm.shift_points(p, 1, 2, out=out, backend=backend)
        device_out = gm.to_device(out, backend=backend)
        with pytest.raises(error, match=message):
            gm.shift_points(gm.to_device(p, backend=backend), 1, 2, out=device_out)
        assert out.tobytes() == device_out.to_host().tobytes() == before


def test_overlapping_structures_are_refused(backend):
    """Including layouts that must be copied before the transfer."""
    buffer = np.zeros(10, fields("f4"))
    for p, out in [
        (buffer[:5], buffer[4:9]),
        (buffer[::2], buffer[:5]),
        (buffer[4::-1], buffer[:5]),
    ]:
        with pytest.raises(ValueError, match="out overlaps p"):
            gm.shift_points(p, 1, 2, out=out, backend=backend)
        assert buffer.tobytes() == bytes(80)
    device_points = gm.to_device(buffer, backend=backend)
    with pytest.raises(ValueError, match="out overlaps p"):
        gm.shift_points(device_points[:5], 1, 2, out=device_points[4:9])
    out = np.zeros(5, fields("f4"))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        gm.shift_points(buffer[:5], 1, 2, out=out, backend=backend)


def test_a_list_of_pairs(backend):
    got = gm.shift_points([[1.0, 2.0], [3.0, 4.0]], 1, 2, backend=backend)
    assert np.array_equal(got, [[2.0, 4.0], [4.0, 6.0]])


# ---- traffic ------------------------------------------------

COUNT = 256 * 16  # points; a multiple of every variant's points per block


@pytest.mark.parametrize(
    ("name", "dtype", "sectors", "width", "requests", "efficiency"),
    [
        ("aos", "f4", 8, 32, 2, 0.5),
        ("aos", "f8", 16, 64, 2, 0.5),
        ("aos_vec2", "f4", 8, 64, 1, 1),
        ("aos_vec2", "f8", 16, 128, 1, 1),
        ("soa", "f4", 4, 32, 2, 1),
        ("soa", "f8", 8, 64, 2, 1),
        ("soa_vec2", "f4", 8, 64, 1, 1),
        ("soa_vec2", "f8", 16, 128, 1, 1),
        ("vec4", "f4", 16, 128, 0.5, 1),
        ("vec4", "f8", 16, 128, 1, 1),
    ],
)
def test_sectors(name, dtype, sectors, width, requests, efficiency, rng):
    """Loading x and y separately from an array of structures wastes half of every sector."""
    (variant,) = [v for v in POINTS if v.name == name]
    layout = layouts(variant)[0]
    p = random_points(rng, COUNT, dtype, layout)
    t = gm.traffic("shift_points", p, variant=variant, dx=1.5, dy=-2)
    check(np.asarray(t.result), shifted(p, 1.5, -2, layout))
    for side in (t.loads, t.stores):
        assert side.requests == requests * COUNT // 32
        assert side.sectors_per_request == sectors
        assert side.lines_per_request == sectors / 4
        assert side.efficiency == efficiency
        assert side.width == width
        assert side.bytes_asked == p.nbytes
    assert t.bytes_moved == 2 * p.nbytes / efficiency


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", AOS, ids=str)
def test_structures_have_the_same_traffic(variant, dtype, rng):
    pairs = random_points(rng, COUNT, dtype, "aos")
    plain = gm.traffic("shift_points", pairs, variant=variant, dx=1.5, dy=-2)
    p = pairs.reshape(-1).view(fields(dtype))
    t = gm.traffic("shift_points", p, variant=variant, dx=1.5, dy=-2)
    assert (t.loads.to_dict(), t.stores.to_dict()) == (
        plain.loads.to_dict(),
        plain.stores.to_dict(),
    )


@pytest.mark.parametrize("variant", POINTS, ids=str)
def test_the_claims_hold(variant, rng):
    p = random_points(rng, COUNT, "f4", layouts(variant)[0])
    t = gm.traffic("shift_points", p, variant=variant, dx=1, dy=2)
    assert t.loads.sectors_per_request == variant.claims["load_sectors"]
    assert t.stores.sectors_per_request == variant.claims["store_sectors"]
    assert t.loads.width == t.stores.width == variant.claims["width"]


@pytest.mark.parametrize("variant", POINTS, ids=str)
def test_every_point_is_loaded_and_stored_once(variant, rng):
    for n in (1, 33, 1027):
        for dtype in FLOATS:
            p = random_points(rng, n, dtype, layouts(variant)[0])
            before = p.tobytes()
            t = gm.traffic("shift_points", p, variant=variant, dx=1, dy=2)
            assert t.loads.bytes_asked == t.stores.bytes_asked == p.nbytes
            assert p.tobytes() == before


def test_auto_uses_vectors_if_aligned(rng):
    flat = random_points(rng, COUNT + 2, "f4", "aos").reshape(-1)
    device_points = gm.to_device(flat, backend="sim")
    for first, layout, name in [
        (4, "aos", "vec4"),
        (2, "aos", "aos_vec2"),
        (1, "aos", "aos"),
        (4, "soa", "vec4"),
        (2, "soa", "soa_vec2"),
        (1, "soa", "soa"),
    ]:
        p = as_layout(device_points[first:][: 2 * COUNT], layout)
        assert gm.traffic("shift_points", p, dx=1, dy=2).variant == name


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["soa_vec2", "vec4"])
def test_vector_across_the_end_of_x_and_the_start_of_y(name, dtype, backend, rng):
    """With an odd number of points, y starts at an odd element: no vector of y is aligned."""
    (variant,) = [v for v in POINTS if v.name == name]
    for n in (1, 3, 5, 7, 129, 1025):
        p = random_points(rng, n, dtype, "soa")
        device_points = gm.to_device(p, backend=backend)
        run_and_check(rng, variant, p, device_points, (1.5, -2.25), "soa", backend)
