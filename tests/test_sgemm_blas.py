"""sgemm: the rules of BLAS, c and out, and refusals."""

import numpy as np
import pytest
from sgemm_cases import (
    EDGES,
    KERNELS,
    NAMES,
    SGEMM,
    TRANSPOSITIONS,
    available,
    check,
    factors,
    transpose_if,
)
from support import here

import gpumem as gm
from gpumem import _core
from gpumem.families import table

# ---- BLAS rules ---------------------------------------------------------------------


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_beta_zero_does_not_read_c(variant, backend, rng):
    here(variant, backend)
    for m, n, k in EDGES:
        a, b = factors(rng, m, n, k)
        c = np.full((m, n), np.nan, "f4")
        for beta in (0, -0.0):
            got = variant(a, b, c, alpha=2, beta=beta, backend=backend)
            assert np.array_equal(got, 2 * (a @ b))
        if variant in KERNELS and backend == "sim" and (m, n, k) in EDGES[1:4]:
            keywords = {"variant": variant, "alpha": 2.0}
            assert (
                loads(a, b, **keywords)
                == loads(a, b, c, **keywords)
                < loads(a, b, c, **keywords, beta=1.0)
            )


def loads(*arrays, **keywords):
    return gm.traffic("sgemm", *arrays, **keywords).loads.bytes_asked


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_alpha_zero_does_not_read_a_or_b(variant, backend, rng):
    here(variant, backend)
    for m, n, k in EDGES:
        a, b = (np.full(shape, np.nan, "f4") for shape in ((m, k), (k, n)))
        c = rng.integers(-9, 9, (m, n)).astype("f4")
        got = variant(a, b, c, alpha=0, beta=3, backend=backend)
        assert np.array_equal(got, 3 * c)
        assert not variant(a, b, alpha=-0.0, backend=backend).any()
        if variant in KERNELS and backend == "sim":
            assert loads(a, b, variant=variant, alpha=0.0) == 0
            keywords = {"variant": variant, "alpha": 0.0, "beta": 1.0}
            assert loads(a, b, c, **keywords) == c.nbytes


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize("alpha", [1, np.inf, np.nan])
def test_empty_sums_scale_c(variant, alpha, backend, rng):
    here(variant, backend)
    for m, n in [(1, 1), (7, 200), (129, 33)]:
        a, b = np.empty((m, 0), "f4"), np.empty((0, n), "f4")
        c = rng.integers(-9, 9, (m, n)).astype("f4")
        got = variant(a, b, c, alpha=alpha, beta=-2, backend=backend)
        assert np.array_equal(got, -2 * c)
        got = variant(a, b, alpha=alpha, backend=backend, out=np.full((m, n), np.nan, "f4"))
        assert not got.any()


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize("beta", [1, 2, -1, -0.5])
def test_scaling_c_preserves_signed_zeros(variant, beta, backend, rng):
    here(variant, backend)
    for m, n, k, alpha in [(3, 5, 0, 1), (3, 5, 7, 0), (130, 260, 0, -1), (130, 260, 33, -0.0)]:
        a, b = factors(rng, m, n, k)
        c = rng.choice(np.array([0.0, -0.0, 1.5, -np.inf, np.nan], "f4"), (m, n))
        wanted = np.float32(beta) * c
        device_arrays = [gm.to_device(x, backend=backend) for x in (a, b, c)]
        for got in (
            variant(a, b, c, alpha=alpha, beta=beta, backend=backend),
            variant(*device_arrays, alpha=alpha, beta=beta, out=device_arrays[2]).to_host(),
        ):
            assert np.array_equal(got, wanted, equal_nan=True)
            not_nan = ~np.isnan(wanted)
            assert np.array_equal(np.signbit(got)[not_nan], np.signbit(wanted)[not_nan])


# alpha, beta and the previous value: each with each of another.
WITHOUT_C = [(1.0, 0.0, np.nan), (1.0, -0.0, np.inf), (0.0, 0.0, np.inf), (0.0, -0.0, np.nan)]


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize("transposed", TRANSPOSITIONS, ids=str)
def test_beta_zero_ignores_previous_values_of_out(variant, transposed, backend, rng):
    here(variant, backend)
    for m, n, k in [*EDGES, (4, 3, 0), (96, 40, 2100)]:
        stored = factors(rng, m, n, k, *transposed)
        a, b = map(transpose_if, stored, transposed)
        keywords = {
            "trans_a": transposed[0],
            "trans_b": transposed[1],
            "backend": backend,
        }
        device_factors = [gm.to_device(x, backend=backend) for x in stored]
        for alpha, beta, initial in WITHOUT_C:
            out = gm.to_device(np.full((m, n), initial, "f4"), backend=backend)
            got = variant(*device_factors, out, alpha=alpha, beta=beta, out=out, **keywords)
            got = got.to_host()
            assert np.array_equal(got, alpha * (a @ b))
            assert (alpha and k) or not np.signbit(got).any()


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_alpha_and_beta_are_rounded_once(variant, backend, rng):
    here(variant, backend)
    a, b = factors(rng, 33, 40, 1)
    c = rng.standard_normal((33, 40)).astype("f4")
    for alpha, beta in [(0.1, 0), (1, 0.1), (1 / 3, -2.7), (1e-60, 1), (1, 1e-60)]:
        keywords = {"alpha": alpha, "beta": beta}
        check(variant(a, b, c, **keywords, backend=backend), a, b, c, **keywords)


SPECIAL = [np.inf, -np.inf, np.nan, 0.0, 3e38, -3e38, 1e-45]


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize(("trans_a", "trans_b"), TRANSPOSITIONS)
def test_nan_and_infinities_propagate(variant, trans_a, trans_b, backend, rng):
    """To the same elements as in double precision, and to no others."""
    here(variant, backend)
    for m, n, k in EDGES:
        for alpha, beta in [(1, 0), (-2, 1), (0.5, np.inf), (np.nan, 0), (np.inf, 1)]:
            if variant.name == "cublas" and alpha == np.inf:
                continue  # cuBLAS scales partial sums: inf - inf gives NaN
            keywords = {"alpha": alpha, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
            arrays = [*factors(rng, m, n, k, trans_a, trans_b), factors(rng, m, 1, n)[0]]
            for x in arrays:
                for special in rng.choice(SPECIAL[:4], min(3, x.size)):
                    x.flat[rng.integers(x.size)] = special
            check(variant(*arrays, **keywords, backend=backend), *arrays, **keywords)


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_overflow_gives_infinity(variant, backend):
    here(variant, backend)
    a = np.array([[3e38, 1], [-3e38, 1], [1e-30, 0], [1, 1]], "f4")
    b = np.array([[2, 1, 1e-30], [0, 0, 1]], "f4")
    got = variant(a, b, backend=backend)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(np.isinf(got), np.isinf((a.astype("f8") @ b).astype("f4")))
    check(got, a, b)


def test_padding_of_a_partial_tile_creates_no_nan(backend, rng):
    """Zero padding is never multiplied by a matrix element: 0 * inf would be NaN."""
    for variant in available(backend):
        a, b = np.full((129, 17), np.inf, "f4"), np.ones((17, 131), "f4")
        assert np.isposinf(variant(a, b, backend=backend)).all()
        assert np.isposinf(variant(b.T, a.T, backend=backend)).all()


# ---- c and out ----------------------------------------------------------------------


@pytest.mark.parametrize("name", [*NAMES, "auto"])
def test_c_may_be_updated_in_place(name, backend, rng):
    if name != "auto":
        here(SGEMM[NAMES.index(name)], backend)
    for m, n, k in EDGES:
        a, b = factors(rng, m, n, k)
        c = rng.integers(-9, 9, (m, n)).astype("f4")
        wanted = a @ b + 2 * c
        keywords = {"variant": name, "beta": 2}
        before = c.copy()
        got = gm.sgemm(a, b, c, **keywords, backend=backend)
        assert got is not c and np.array_equal(got, wanted) and np.array_equal(c, before)
        device_arrays = [gm.to_device(x, backend=backend) for x in (a, b, c)]
        got = gm.sgemm(*device_arrays, **keywords)
        assert np.array_equal(got.to_host(), wanted)
        assert np.array_equal(device_arrays[2].to_host(), before)
        assert gm.sgemm(*device_arrays, **keywords, out=device_arrays[2]) is device_arrays[2]
        assert np.array_equal(device_arrays[2].to_host(), wanted)
        assert gm.sgemm(a, b, c, **keywords, out=c, backend=backend) is c
        assert np.array_equal(c, wanted)
        alias = c[:]
        assert gm.sgemm(a, b, c, **keywords, out=alias, backend=backend) is alias
        assert np.array_equal(c, a @ b + 2 * wanted)


def test_c_in_another_layout_is_updated_in_place(backend, rng):
    a, b = factors(rng, 20, 30, 9)
    for c in (np.ones((30, 20), "f4").T, np.ones((20, 40), "f4")[:, 5:35]):
        assert gm.sgemm(a, b, c, beta=1, out=c, backend=backend) is c
        assert np.array_equal(c, a @ b + 1)


def test_out_must_be_c_or_overlap_nothing(backend, rng):
    """out may be c itself; any other overlap is refused."""
    for place in (lambda x: x, lambda x: gm.to_device(x, backend=backend)):
        buffer = place(np.ones(300, "f4"))
        square = buffer[:100].reshape(10, 10)
        for first in (0, 4, 99, 100):
            out = buffer[first : first + 100].reshape(10, 10)
            separate = place(np.ones((10, 10), "f4"))
            overlaps = first < 100
            for arrays, name in [
                ((square, separate), "a"),
                ((separate, square), "b"),
                ((separate, separate, square), "c"),
            ]:
                keywords = {"out": out, "beta": len(arrays) - 2, "backend": backend}
                if overlaps and not (name == "c" and first == 0):
                    with pytest.raises(ValueError, match=rf"out overlaps {name} in memory"):
                        gm.sgemm(*arrays, **keywords)
                else:
                    assert gm.sgemm(*arrays, **keywords) is out
                after = buffer if isinstance(buffer, np.ndarray) else buffer.to_host()
                if overlaps and not (name == "c" and first == 0):
                    assert np.array_equal(after, 1 + 0 * after)
                else:
                    buffer = place(np.ones(300, "f4"))
                    square = buffer[:100].reshape(10, 10)
                    out = buffer[first : first + 100].reshape(10, 10)


def test_a_view_of_c_with_other_strides_is_not_c(backend):
    a = np.ones((4, 4), "f4")
    c = np.arange(16, dtype="f4").reshape(4, 4)
    for out in (c.T, c[::-1], c[:, ::-1]):
        with pytest.raises(ValueError, match="out overlaps c in memory without being the same"):
            gm.sgemm(a, a, c, beta=1, out=out, backend=backend)
    assert np.array_equal(c.ravel(), np.arange(16))


# ---- refusals -----------------------------------------------------------------------


ONES = np.ones((4, 4), "f4")


REFUSALS = {
    "double": ((ONES.astype("f8"), ONES), {}, TypeError, r"a has dtype.*float64.*float32"),
    "half": ((ONES, ONES.astype("f2")), {}, TypeError, r"b has dtype.*float16.*float32"),
    "integers": ((ONES, ONES, ONES.astype("i4")), {}, TypeError, r"c has dtype.*int32.*float32"),
    "complex": ((ONES.astype("c8"), ONES), {}, TypeError, "a has dtype"),
    "row": ((ONES[0], ONES), {}, ValueError, "a has 1 dimension, expected 2"),
    "stack": ((ONES, ONES[None]), {}, ValueError, "b has 3 dimensions, expected 2"),
    "c-row": ((ONES, ONES, ONES[0]), {}, ValueError, "c has 1 dimension, expected 2"),
    "inner": (
        (np.ones((2, 3), "f4"), ONES),
        {},
        ValueError,
        r"b has shape \(4, 4\), expected 3 rows, for a has shape \(2, 3\)$",
    ),
    "inner-turned": (
        (np.ones((2, 3), "f4"), np.ones((4, 3), "f4")),
        {"trans_a": True, "trans_b": True},
        ValueError,
        r"b has shape \(4, 3\), to be transposed, expected 2 columns, for a has shape \(2, 3\), to",
    ),
    "view": ((np.ones((3, 2), "f4").T, ONES), {}, ValueError, r"a has shape \(2, 3\)$"),
    "c-shape": ((ONES, ONES, ONES[:2]), {}, ValueError, r"c has shape \(2, 4\), expected \(4, 4\)"),
    "no-c": ((ONES, ONES), {"beta": 0.5}, ValueError, "c is None and beta is 0.5"),
    "none-for-a": ((None, ONES), {}, TypeError, "a must be.* of this NoneType"),
    "alpha": ((ONES, ONES), {"alpha": "1"}, TypeError, "alpha must be a float, not str"),
    "beta": ((ONES, ONES, ONES), {"beta": None}, TypeError, "beta must be a float, not NoneType"),
    "beta-complex": ((ONES, ONES, ONES), {"beta": 1j}, TypeError, "beta must be a float"),
    "trans": ((ONES, ONES), {"trans_a": 1}, TypeError, "trans_a must be True or False, not 1"),
    "trans-b": ((ONES, ONES), {"trans_b": "T"}, TypeError, "trans_b must be True or False"),
    "variant": ((ONES, ONES), {"variant": "fast"}, ValueError, "variant is 'fast', known"),
    "out-shape": ((ONES, ONES), {"out": np.ones((4, 5), "f4")}, ValueError, "out has shape"),
    "out-dtype": ((ONES, ONES), {"out": np.ones((4, 4))}, TypeError, "out has dtype"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case, backend):
    arrays, keywords, error, words = REFUSALS[case]
    before = [None if x is None else x.tobytes() for x in arrays]
    out = keywords.get("out")
    out_before = None if out is None else out.tobytes()
    with pytest.raises(error, match=words):
        gm.sgemm(*arrays, **keywords, backend=backend)
    assert before == [None if x is None else x.tobytes() for x in arrays]
    assert out is None or out.tobytes() == out_before
    if out is None and all(x is not None for x in arrays):
        with pytest.raises(error, match=words):
            gm.sgemm(*(gm.to_device(x, backend=backend) for x in arrays), **keywords)


def test_a_product_too_large_to_count(backend):
    a, b = np.empty((2**40, 0), "f4"), np.empty((0, 2**40), "f4")
    with pytest.raises(ValueError, match="too large"):
        gm.sgemm(a, b, backend=backend)


def test_host_and_device_arrays_do_not_mix(backend):
    device_array = gm.to_device(ONES, backend=backend)
    with pytest.raises(TypeError, match=r"c is numpy\.ndarray, a is on the device"):
        gm.sgemm(device_array, device_array, ONES, beta=1)
    with pytest.raises(TypeError, match=r"c is a gpumem\.DeviceArray, a is on the host"):
        gm.sgemm(ONES, ONES, device_array, beta=1, backend=backend)


def test_core_checks_the_number_of_arrays(backend):
    parameters = table.parameters("sgemm", {})
    for arrays in ((), (ONES,), (ONES,) * 4):
        with pytest.raises(TypeError, match="sgemm takes 2 to 3 arrays"):
            _core.call("sgemm", "auto", arrays, None, None, backend, parameters)
    with pytest.raises(TypeError, match="copy takes 1 arrays"):
        _core.call("copy", "auto", (ONES, None), None, None, backend, (0,))
    for arrays in ((ONES, ONES), (ONES, ONES, None)):
        got = _core.call("sgemm", "auto", arrays, None, None, backend, parameters)
        assert np.array_equal(got, 4 * ONES)


@pytest.mark.parametrize("variant", [v for v in SGEMM if v.layout == "rows"], ids=str)
def test_a_named_variant_refuses_what_it_cannot_take(variant, backend):
    here(variant, backend)
    wide = gm.to_device(np.ones((8, 8), "f4"), backend=backend)
    strided = wide[::2, ::2]
    with pytest.raises(ValueError, match=r"needs a with contiguous rows.*auto"):
        variant(strided, strided)
    with pytest.raises(ValueError, match=r"needs c with contiguous rows.*auto"):
        variant(wide[:4, :4], wide[:4, :4], strided, beta=1)


@pytest.mark.parametrize("variant", [v for v in SGEMM if v.layout == "rows"], ids=str)
def test_a_row_with_gaps_is_a_column(variant, backend, rng):
    """A factor with one row, whose elements are apart, is taken as it is."""
    here(variant, backend)
    a, b = factors(rng, 1, 4, 16)
    there = gm.to_device(a, backend=backend)[:, ::2]
    got = variant(there, gm.to_device(b[:8], backend=backend))
    assert np.array_equal(got.to_host(), a[:, ::2] @ b[:8])


@pytest.mark.gpu
def test_cublas_refuses_negative_row_strides():
    matrix = gm.to_device(np.ones((8, 8), "f4"), backend="cuda")
    if _core.available("sgemm", "cublas", "cuda") is not None:
        pytest.skip("no cuBLAS")
    with pytest.raises(ValueError, match="needs rows that follow one another"):
        gm.sgemm(matrix[::-1], matrix, variant="cublas")
