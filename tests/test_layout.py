"""shift_points: array of structures, structure of arrays and structured dtypes, bit for bit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layout_cases import (
    FLOATS,
    POINTS,
    as_layout,
    fields,
    guarded,
    layouts,
    random_points,
)
from support import here

import gpumem as gm

AOS = [v for v in POINTS if v.name.startswith("aos")]


SIZES = [0, 1, 2, 3, 31, 32, 33, 97, 1027, 65537 + 5]


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


FEWER_EXAMPLES = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


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


def run_and_check(rng, run, p, device_points, shift, layout, backend):
    out = guarded(rng, p, backend)
    assert run(device_points, *shift, out=out.array) is out.array
    check(out.array.to_host(), shifted(p, *shift, layout))
    out.assert_margins_unchanged()


def test_ladder_order():
    assert [v.name for v in POINTS] == ["aos", "aos_vec2", "soa", "soa_vec2", "vec4"]


# ---- every size, layout and shift ---------------------------------------------------


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


# ---- from the host ------------------------------------------------------------------


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


# ---- layouts and addresses on the device --------------------------------------------


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


# ---- beyond 32 bits -----------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
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


# ---- traffic ------------------------------------------------------------------------


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
