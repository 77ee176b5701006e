"""polynomial, sample, static_value: every memory space against NumPy, also from many threads."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import at_once
from support import here

import gpumem as gm
from gpumem.families import oracle

POLYNOMIAL = gm.variants("polynomial")
SAMPLE = gm.variants("sample")
STATIC = gm.variants("static_value")
FLOATS = ["f4", "f8"]
SIZES = [0, 1, 31, 32, 33, 1027, 70001]
MAX_COEFFICIENTS = {  # number of coefficients, by element size
    "local": lambda size: 64,
    "register": lambda size: 16,
    "register_bounded": lambda size: 16,
    "register_vec4": lambda size: 16,
    "constant": lambda size: 32768 // size,
    "constant_divergent": lambda size: 1024 // size,
    "shared": lambda size: 227 * 1024 // size,
    "shared_vec4": lambda size: 227 * 1024 // size,
}
FEWER = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def there(a, backend):
    return gm.to_device(a, backend=backend)


def poisoned(shape, dtype, backend):
    out = gm.DeviceArray(shape, dtype, backend=backend)
    out.fill_bytes(0xA5)
    return out


# ---- polynomial -----------------------------------------------------------------------------


def check_polynomial(got, x, c):
    """Compare with Horner's rule in long double, within one rounding per operation."""
    assert isinstance(got, np.ndarray) and (got.shape, got.dtype) == (x.shape, x.dtype)
    wide, magnitude = np.zeros(x.shape, np.longdouble), np.zeros(x.shape, np.longdouble)
    with np.errstate(all="ignore"):
        for i, coefficient in enumerate(c[::-1].astype(np.longdouble)):
            wide = wide * x + coefficient if i else np.full(x.shape, coefficient)
            size = abs(coefficient)
            magnitude = magnitude * abs(x) + size if i else np.full(x.shape, size)
        wanted, eps = wide.astype(x.dtype), np.finfo(x.dtype).eps
        near = abs(got - wide) <= (2 * len(c) + 1) * eps * magnitude + 1e-40
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    assert (near | same).all()


def random_points(rng, shape, dtype):
    x = rng.uniform(-1.4, 1.4, shape).astype(dtype)
    flat = x.reshape(-1)
    flat[5::97], flat[6::97], flat[7::97] = np.nan, np.inf, -np.inf
    return x


def test_variants_in_order():
    assert [v.name for v in POLYNOMIAL] == [
        "global",
        "readonly",
        "local",
        "shared",
        "constant",
        "constant_divergent",
        "register",
        "register_bounded",
        "register_vec4",
        "shared_vec4",
    ]
    assert [v.name for v in SAMPLE] == ["global", "texture"]
    assert [v.name for v in STATIC] == ["symbol", "symbol_address", "managed_symbol"]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", POLYNOMIAL, ids=str)
def test_every_size_and_degree(variant, dtype, backend, rng):
    here(variant, backend)
    for n in SIZES:
        x = random_points(rng, n, dtype)
        on_device = there(x, backend)
        for terms in range(17) if n < 2000 else (3, 16):
            c = rng.standard_normal(terms).astype(dtype)
            out = poisoned(n, dtype, backend)
            assert variant(on_device, there(c, backend), out=out) is out
            check_polynomial(out.to_host(), x, c)
        assert on_device.to_host().tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("variant", POLYNOMIAL, ids=str)
def test_limit_on_the_number_of_coefficients(variant, dtype, backend, rng):
    here(variant, backend)
    size = np.dtype(dtype).itemsize
    most = MAX_COEFFICIENTS.get(variant.name, lambda size: 10000)(size)
    x = rng.uniform(-1, 1, 45).astype(dtype)
    c = rng.standard_normal(most).astype(dtype)
    check_polynomial(variant(x, c, backend=backend), x, c)
    if variant.name in MAX_COEFFICIENTS:
        more = rng.standard_normal(most + 1).astype(dtype)
        words = rf"coefficients has {most + 1} elements, variant {variant.name} has room for {most}"
        with pytest.raises(ValueError, match=words):
            variant(x, more, backend=backend)
        check_polynomial(gm.polynomial(x, more, backend=backend), x, more)


def test_auto_accepts_any_number_of_coefficients(backend, rng):
    x = rng.uniform(-1, 1, 7).astype("f4")
    for terms in (0, 16, 17, 8192, 8193, 58112, 58113, 100000):
        c = rng.standard_normal(terms).astype("f4")
        check_polynomial(gm.polynomial(x, c, backend=backend), x, c)


@pytest.mark.parametrize("dtype", FLOATS)
def test_auto_selects_vectors_if_aligned(dtype, rng):
    """Selection depends on the number of coefficients and the addresses of all three arrays."""
    size = np.dtype(dtype).itemsize
    flat = there(rng.uniform(-1, 1, 300).astype(dtype), "sim")
    aligned, misaligned = flat[: 16 * 16 // size], flat[1:200]
    for x, terms, first, name in [
        (aligned, 16, 0, "register_vec4"),
        (aligned, 17, 0, "shared_vec4"),
        (aligned, 16, 1, "register"),
        (misaligned, 16, 0, "register"),
        (misaligned, 17, 0, "constant"),
        (misaligned, 32768 // size + 1, 0, "shared"),
        (aligned, 227 * 1024 // size + 1, 0, "readonly"),
    ]:
        c = there(rng.uniform(-1, 1, first + terms).astype(dtype), "sim")[first:]
        assert gm.traffic("polynomial", x, c).variant == name


@pytest.mark.parametrize("dtype", FLOATS)
def test_coefficients_are_read_as_vectors(dtype, rng):
    """A thread reads 16 bytes of shared memory once for all its points, which are four vectors."""
    size = np.dtype(dtype).itemsize
    per_vector = 16 // size
    x = rng.uniform(-1, 1, 128 * 4 * per_vector).astype(dtype)  # points of one block
    for terms in (1, 2, 16, 17, 100):
        c = rng.standard_normal(terms).astype(dtype)
        t = gm.traffic("polynomial", x, c, variant="shared_vec4")
        vectors, scalars = divmod(terms - 1, per_vector)
        stores = -(-terms // 32)
        assert t.shared.requests == stores + 4 * (1 + scalars + vectors)
        assert t.stores.requests == len(x) // per_vector // 32
        assert t.loads.requests == stores + t.stores.requests
        assert t.stores.width == 128


def test_constant_and_empty_polynomials(backend):
    x = np.array([1, np.nan, np.inf])
    for variant in POLYNOMIAL:
        here(variant, backend)
        got = variant(x, np.array([2.5]), backend=backend)
        np.testing.assert_array_equal(got, [2.5, 2.5, 2.5])
        np.testing.assert_array_equal(variant(x, np.empty(0), backend=backend), [0, 0, 0])


def test_polynomial_accepts_every_layout(backend, rng):
    x, c = random_points(rng, (6, 10, 4), "f8"), rng.standard_normal(20)
    a, k = there(x, backend), there(c, backend)
    check_polynomial(gm.polynomial(x[::2, ::-1], c[::-2], backend=backend), x[::2, ::-1], c[::-2])
    got = gm.polynomial(a.T[:, ::-1], k[3::4])
    check_polynomial(got.to_host(), x.T[:, ::-1], c[3::4])
    raw = there(np.frombuffer(b"xyz" + x.tobytes(), "u1"), backend)[3:].view("f8")
    check_polynomial(gm.polynomial(raw, k).to_host(), x.reshape(-1), c)
    raw_out = gm.DeviceArray(8 * 240 + 3, "u1", backend=backend)
    out = raw_out[3:].view("f8")
    assert gm.polynomial(a.reshape(240), k, out=out) is out
    check_polynomial(out.to_host(), x.reshape(-1), c)
    with pytest.raises(ValueError, match="variant global needs x C-contiguous"):
        gm.polynomial(a[:, ::2], k, variant="global")


@pytest.mark.parametrize("carveout", [None, 0, 33, 100, np.int64(50)])
def test_a_carveout_does_not_change_results(carveout, backend, rng):
    x, c = rng.uniform(-1, 1, 3000).astype("f4"), rng.standard_normal(12).astype("f4")
    for variant in POLYNOMIAL:
        here(variant, backend)
        check_polynomial(variant(x, c, carveout=carveout, backend=backend), x, c)


@pytest.mark.parametrize("name", ["constant", "constant_divergent", "shared"])
def test_threads_do_not_share_coefficients(name, backend, rng):
    """Each thread has its own stream and its own coefficients."""
    x = rng.uniform(-1, 1, 5000)

    def work(seed):
        own = np.random.default_rng(seed)
        stream = gm.Stream(backend=backend)
        a = there(x, backend)
        for _ in range(20):
            c = own.standard_normal(24)
            got = gm.polynomial(a, there(c, backend), variant=name, stream=stream)
            check_polynomial(got.to_host(stream=stream), x, c)

    at_once(8, work)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["register_vec4", "shared_vec4"])
def test_more_points_than_an_int_can_count(name, rng):
    n, c = 2**31 + 1234, rng.standard_normal(7).astype("f4")
    row = rng.uniform(-1, 1, 2**20 - 1).astype("f4")
    there_row = there(row, "cuda")
    x = gm.DeviceArray(n, "f4", backend="cuda")
    for first in range(0, n, row.size):
        part = x[first : first + row.size]
        gm.copy(there_row[: part.size], out=part)
    got = gm.polynomial(x, there(c, "cuda"), variant=name)
    for start in (0, 2**30 - 500, 2**31 - 500, n - 1000):
        check_polynomial(
            got[start : start + 1000].to_host(), row[np.arange(start, start + 1000) % row.size], c
        )


@pytest.mark.gpu
def test_launch_bounds_spill():
    free, bounded = (gm.variants("polynomial")[i].attributes() for i in (6, 7))
    assert bounded["registers"] <= 32 < free["registers"]
    assert bounded["local_bytes"] > free["local_bytes"]
    assert bounded["blocks"] == 8 and bounded["occupancy"] == 1 > free["occupancy"]
    attributes = {v.name: v.attributes() for v in POLYNOMIAL}
    assert attributes["local"]["local_bytes"] >= 64 * 8
    constant, other = (attributes[v]["constant_bytes"] for v in ("constant", "global"))
    assert constant >= 32768 > other


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        ((np.ones(3, "i4"), np.ones(2)), {}, TypeError, "x has dtype .*accepted is float32"),
        ((np.ones(3), np.ones(2, "c16")), {}, TypeError, "coefficients has dtype .*accepted is"),
        ((np.ones(3, "f4"), np.ones(2)), {}, TypeError, "coefficients has dtype float64, expected"),
        ((np.ones(3), np.ones((2, 2))), {}, ValueError, "coefficients has 2 dimensions, expected"),
        ((np.ones(3), np.ones(2)), {"carveout": 101}, ValueError, "carveout is 101, expected 0 to"),
        ((np.ones(3), np.ones(2)), {"carveout": -1}, ValueError, "carveout is -1, expected 0 to"),
        ((np.ones(3), np.ones(2)), {"carveout": 0.5}, TypeError, "carveout must be an integer or"),
        ((np.ones(3), np.ones(2)), {"variant": "texture"}, ValueError, "known for polynomial are"),
        ((np.ones(3), np.ones(2)), {"out": np.ones(4)}, ValueError, "out has shape"),
    ],
)
def test_polynomial_refusals(arguments, keywords, error, message):
    with pytest.raises(error, match=message):
        gm.polynomial(*arguments, backend="sim", **keywords)


@pytest.mark.parametrize(("dtype", "sectors"), [("f4", 4), ("f8", 8)])
def test_traffic_of_the_coefficients(dtype, sectors):
    """A term costs one sector of global memory, or one constant request in 1 or 32 passes."""
    x, c = np.ones(4096, dtype), np.ones(10, dtype)
    reports = {v.name: gm.traffic("polynomial", x, c, variant=v) for v in POLYNOMIAL}
    points = 4096 // 32
    for name, report in reports.items():
        assert report.stores.sectors == sectors * points
        if name.endswith("_vec4"):
            assert report.stores.requests == report.stores.sectors / 16
            continue
        assert report.stores.requests == points
        extra = report.loads.requests - points, report.loads.sectors - sectors * points
        per_term = (10 * points, 10 * points)  # one request of one sector per term
        wanted = {
            "global": per_term,
            "readonly": per_term,
            "local": per_term,
            "constant": (0, 0),
            "constant_divergent": (0, 0),
        }
        if name in wanted:
            assert extra == wanted[name], name
    assert reports["constant"].constant.requests == 10 * points
    assert reports["constant"].constant.ways == 1
    assert reports["constant_divergent"].constant.ways == 32
    assert reports["shared"].shared.bank_ways == 1
    assert reports["global"].constant.ways is None
    assert '"ways": 32.0' in reports["constant_divergent"].to_json()


# ---- sample ---------------------------------------------------------------------------------


def interpolate(image, x, y):
    """Interpolate at one point in Python floats."""
    height, width = image.shape
    x, y = (min(max(v, 0.0), n - 1.0) if v == v else 0.0 for v, n in ((x, width), (y, height)))
    left, top = int(x), int(y)
    right, below = min(left + 1, width - 1), min(top + 1, height - 1)

    def mix(a, b, share):
        return float(a) if share == 0 else (1 - share) * float(a) + share * float(b)

    upper = mix(image[top, left], image[top, right], x - left)
    lower = mix(image[below, left], image[below, right], x - left)
    return mix(upper, lower, y - top)


def check_sample(got, image, xy, texture):
    assert isinstance(got, np.ndarray) and (got.shape, got.dtype) == ((len(xy),), np.float32)
    wanted = np.array([interpolate(image, *map(float, point)) for point in xy])
    finite = np.abs(image[np.isfinite(image)])
    largest = float(finite.max()) if finite.size else 0.0
    span = float(np.ptp(image)) if texture and image.size else 0.0
    with np.errstate(invalid="ignore"):
        near = abs(got - wanted) <= 1e-6 * largest + span / 200
    assert (near | (got == wanted) | (np.isnan(got) & np.isnan(wanted))).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 1), (2, 2), (33, 65), (128, 31)])
@pytest.mark.parametrize("variant", SAMPLE, ids=str)
def test_sample_inside_and_outside_the_image(variant, shape, backend, rng):
    here(variant, backend)
    image = rng.standard_normal(shape).astype("f4")
    inside = rng.uniform(-3, np.array(shape[::-1]) + 2.0, (300, 2))
    corners = [(x, y) for x in (-1e9, -0.5, 0, shape[1] - 1, 1e9) for y in (-1, 0, 0.25, 1e30)]
    pixels = np.stack(np.meshgrid(range(shape[1]), range(shape[0])), -1).reshape(-1, 2)
    xy = np.concatenate([inside, corners, pixels]).astype("f4")
    out = poisoned(len(xy), "f4", backend)
    assert variant(there(image, backend), there(xy, backend), out=out) is out
    check_sample(out.to_host(), image, xy, variant.name == "texture")
    if variant.name == "global":  # pixel positions are exact
        np.testing.assert_array_equal(out.to_host()[-image.size :], image.reshape(-1))
    check_sample(variant(image, xy, backend=backend), image, xy, variant.name == "texture")


def test_non_finite_pixels_and_points(backend):
    image = np.array([[1, np.inf, 3], [np.nan, 5, -np.inf]], "f4")
    xy = np.array([[0, 0], [0.5, 0], [2, 0], [1, 1], [0.5, 1], [np.nan, 0], [2, 0.5]], "f4")
    got = gm.sample(image, xy, backend=backend)
    np.testing.assert_array_equal(got, [1, np.inf, 3, 5, np.nan, 1, -np.inf])
    check_sample(got, image, xy, False)


@pytest.mark.parametrize("variant", SAMPLE, ids=str)
def test_images_with_padded_rows(variant, backend, rng):
    here(variant, backend)
    image = rng.standard_normal((20, 40)).astype("f4")
    xy = rng.uniform(-1, 21, (200, 2)).astype("f4")
    view, points = there(image, backend)[3:17:2, 5:30], there(xy, backend)
    got = variant(view, points).to_host()
    check_sample(got, image[3:17:2, 5:30], xy, variant.name == "texture")
    with pytest.raises(ValueError, match=f"variant {variant.name} needs image with contiguous"):
        variant(there(image, backend).T, points)
    with pytest.raises(ValueError, match=f"variant {variant.name} needs xy C-contiguous"):
        variant(view, points[::2])


def test_sample_accepts_every_layout(backend, rng):
    image = rng.standard_normal((9, 12)).astype("f4")
    xy = rng.uniform(-1, 12, (50, 2)).astype("f4")
    a, p = there(image, backend), there(xy, backend)
    got = gm.sample(a.T[::-1], p[::-2])
    check_sample(got.to_host(), np.ascontiguousarray(image.T[::-1]), xy[::-2], False)
    got = gm.sample(image[::2, ::3], xy[::3, ::-1], backend=backend)
    check_sample(got, image[::2, ::3], xy[::3, ::-1], False)
    odd = there(np.frombuffer(b"1234" + xy.tobytes(), "u1"), backend)[4:].view("f4")
    check_sample(gm.sample(a, odd.reshape(50, 2)).to_host(), image, xy, False)


def test_consecutive_images_of_many_shapes(backend, rng):
    """A cached texture must not be used for another image."""
    for shape in [(4, 5), (5, 4), (4, 5), (1, 20), (20, 1), (4, 5)]:
        image = rng.standard_normal(shape).astype("f4")
        xy = rng.uniform(0, 5, (40, 2)).astype("f4")
        check_sample(gm.sample(image, xy, variant="texture", backend=backend), image, xy, True)


def test_threads_do_not_share_a_texture(backend, rng):
    xy = rng.uniform(0, 30, (500, 2)).astype("f4")

    def work(seed):
        own, stream = np.random.default_rng(seed), gm.Stream(backend=backend)
        for _ in range(10):
            image = own.standard_normal((20 + seed % 2, 30)).astype("f4")
            got = gm.sample(
                there(image, backend), there(xy, backend), variant="texture", stream=stream
            )
            check_sample(got.to_host(stream=stream), image, xy, True)

    at_once(6, work)


@pytest.mark.parametrize(
    ("image", "xy", "variant", "error", "message"),
    [
        (np.ones((2, 2)), np.ones((3, 2), "f4"), "auto", TypeError, "image has dtype"),
        (np.ones((2, 2), "f4"), np.ones((3, 2)), "auto", TypeError, "xy has dtype"),
        (np.ones(2, "f4"), np.ones((3, 2), "f4"), "auto", ValueError, "image has 1 dimensions"),
        (np.ones((2, 2), "f4"), np.ones((3, 3), "f4"), "auto", ValueError, "xy has 2 dimensions"),
        (np.ones((2, 2), "f4"), np.ones(2, "f4"), "auto", ValueError, "xy has 1 dimensions"),
        (np.ones((0, 2), "f4"), np.ones((1, 2), "f4"), "auto", ValueError, "there is no pixel"),
        (
            np.ones((1, 65537), "f4"),
            np.ones((1, 2), "f4"),
            "texture",
            ValueError,
            r"image has shape \(1, 65537\), a texture has up to",
        ),
    ],
)
def test_sample_refusals(image, xy, variant, error, message):
    with pytest.raises(error, match=message):
        gm.sample(image, xy, variant=variant, backend="sim")


def test_no_points_of_an_empty_image(backend):
    for variant in SAMPLE:
        got = variant(np.ones((0, 3), "f4"), np.ones((0, 2), "f4"), backend=backend)
        assert got.shape == (0,)


def test_pixels_of_a_row_share_sectors():
    """Points along a row of pixels share sectors; points down a column touch one sector each."""
    image = np.ones((64, 1024), "f4")
    in_a_row = np.stack([np.arange(1024) % 1000, np.zeros(1024)], -1).astype("f4")
    t = gm.traffic("sample", image, in_a_row, variant="global")
    assert t.loads.sectors_per_request <= 8
    down = np.stack([np.zeros(1024), np.arange(1024) % 63], -1).astype("f4")
    t = gm.traffic("sample", image, down, variant="global")
    assert max(s["sectors"] / s["requests"] for s in t.sites if s["kind"] == "load") > 31
    t = gm.traffic("sample", image, down, variant="texture")
    assert t.loads.requests == 1024 // 32  # of xy; the texture unit's reads are not counted


# ---- static_value -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("variant", STATIC, ids=str)
def test_two_is_added(variant, dtype, backend):
    here(variant, backend)
    for value in (0, -2, 5, 2**31 - 1 if dtype == "i4" else 2**40 if dtype == "i8" else 1e30):
        x = np.array(value, dtype)
        with np.errstate(over="ignore"):
            wanted = np.asarray(x + np.array(2, dtype)).astype(dtype)
        got = variant(x, backend=backend)
        assert (got.dtype, got.shape) == (x.dtype, ()) and got == wanted
        out = poisoned((1, 1), dtype, backend)
        assert variant(there(x.reshape(1, 1), backend), out=out) is out
        assert out.to_host()[0, 0] == wanted


def test_python_scalars(backend):
    assert gm.static_value(5, backend=backend) == 7
    assert gm.static_value(-1.5, backend=backend) == 0.5
    assert np.isnan(gm.static_value(np.nan, backend=backend))
    assert gm.static_value(2**62, backend=backend) == 2**62 + 2


@pytest.mark.parametrize("variant", STATIC, ids=str)
def test_threads_do_not_share_the_variable(variant, backend):
    here(variant, backend)

    def work(number):
        stream = gm.Stream(backend=backend)
        for value in range(1000 * number, 1000 * number + 50):
            x = gm.to_device(np.array([value]), backend=backend, stream=stream)
            got = variant(x, stream=stream).to_host(stream=stream)
            assert got == value + 2

    at_once(6, work)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.ones(2), ValueError, "x has 2 elements, expected one"),
        (np.ones(0), ValueError, "x has 0 elements, expected one"),
        (np.array(True), TypeError, "x has dtype"),
        (np.array(1, "u4"), TypeError, "x has dtype .*accepted is int32, int64"),
        (np.array(1j), TypeError, "x has dtype"),
        (True, TypeError, "x has dtype"),
        ("2", TypeError, "x has dtype"),
        (2**70, TypeError, "x"),
    ],
)
def test_static_value_refusals(x, error, message):
    with pytest.raises(error, match=message):
        gm.static_value(x, backend="sim")


@pytest.mark.parametrize("variant", STATIC, ids=str)
def test_the_variable_is_in_global_memory(variant):
    t = gm.traffic("static_value", np.float64(1), variant=variant)
    assert t.result == 3
    assert (t.loads.requests, t.loads.sectors, t.loads.width) == (1, 1, 64)
    assert (t.stores.requests, t.stores.sectors) == (1, 1)


# ---- random calls, and the oracle ---------------------------------------------------------------


@FEWER
@given(data=st.data())
def test_random_polynomials(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    dtype = data.draw(st.sampled_from(FLOATS))
    x = random_points(rng, tuple(data.draw(st.lists(st.integers(0, 9), max_size=3))), dtype)
    c = rng.standard_normal(data.draw(st.integers(0, 16))).astype(dtype)
    variant = data.draw(st.sampled_from(POLYNOMIAL))
    check_polynomial(variant(x, c, backend="sim"), x, c)


@FEWER
@given(data=st.data())
def test_random_samples(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    shape = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))
    image = rng.standard_normal(shape).astype("f4")
    xy = rng.uniform(-2, 14, (data.draw(st.integers(0, 40)), 2)).astype("f4")
    check_sample(gm.sample(image, xy, backend="sim"), image, xy, False)


def test_the_oracle_accepts_right_and_rejects_wrong_results():
    for family, shape, variant in [
        ("polynomial", (500,), "global"),
        ("sample", (20, 30), "texture"),
        ("static_value", (), "symbol"),
    ]:
        arguments = oracle.arguments(family, shape, seed=1)
        good = getattr(gm, family)(*arguments, variant=variant, backend="sim")
        oracle.check(family, good, *arguments, variant=variant)
        bad = good.copy()
        bad.flat[-1] = np.nan if np.isfinite(bad.flat[-1]) else 0
        with pytest.raises(AssertionError):
            oracle.check(family, bad, *arguments, variant=variant)
