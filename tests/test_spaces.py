"""polynomial, sample, static_value: every memory space against NumPy, also from many threads."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import at_once
from spaces_cases import (
    FLOATS,
    POLYNOMIAL,
    SAMPLE,
    STATIC,
    check_polynomial,
    poisoned,
    random_points,
    there,
)
from support import here

import gpumem as gm
from gpumem.families import oracle

FEWER = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


# ---- sample -------------------------------------------------------------------------


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
    check_sample(gm.sample(a, odd.reshape(50, 2)[:1]).to_host(), image, xy[:1], False)


def test_consecutive_images_of_many_shapes(backend, rng):
    """A cached texture must not be used for another image."""
    for shape in [(4, 5), (5, 4), (4, 5), (1, 20), (20, 1), (4, 5)]:
        image = rng.standard_normal(shape).astype("f4")
        xy = rng.uniform(0, 5, (40, 2)).astype("f4")
        columns = np.empty(shape, "f4", "F")  # of one row: the same, with other strides
        columns[...] = image
        for a in (image, columns):
            check_sample(gm.sample(a, xy, variant="texture", backend=backend), image, xy, True)


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
        (np.ones(2, "f4"), np.ones((3, 2), "f4"), "auto", ValueError, "image has 1 dimension,"),
        (np.ones((2, 2), "f4"), np.ones((3, 3), "f4"), "auto", ValueError, "xy has 2 dimensions"),
        (np.ones((2, 2), "f4"), np.ones(2, "f4"), "auto", ValueError, "xy has 1 dimension,"),
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


# ---- static_value -------------------------------------------------------------------


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


# ---- random calls, and the oracle ---------------------------------------------------


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
