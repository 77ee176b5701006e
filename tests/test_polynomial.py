"""polynomial: coefficients in every kind of memory."""

import numpy as np
import pytest
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
@pytest.mark.usefixtures("gigabytes")
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
