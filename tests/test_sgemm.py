"""sgemm: every variant at tile boundaries, with and without transposition, under BLAS rules."""

import ctypes
import heapq
import itertools
import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import exhaustive, here

import gpumem as gm
from gpumem import _core, cli
from gpumem.check import accuracy as accuracy_module
from gpumem.families import oracle, peers, table

SGEMM = gm.variants("sgemm")
NAMES = [v.name for v in SGEMM]
KERNELS = [v for v in SGEMM if v.source.endswith(".cu") and v.reason_on("sim") is None]
TILED = [v for v in KERNELS if v.claims["bank_ways"]]
# The rungs before warp_tile, which copies asynchronously.
LADDER = [v for v in KERNELS if not v.name.startswith("warp_tile")]
SIDES = [1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129]
DEPTHS = [0, 1, 7, 16, 17, 64]
SHAPES = {
    # Every pair (m, n); every m and every n with every k.
    "pairs": [
        (m, n, DEPTHS[(i + j) % len(DEPTHS)])
        for (i, m), (j, n) in itertools.product(enumerate(SIDES), repeat=2)
    ],
    "all": list(itertools.product(SIDES, SIDES, DEPTHS)),
}
EDGES = [(1, 1, 1), (5, 3, 2), (33, 31, 17), (129, 127, 33), (130, 260, 50), (8, 300, 129)]
TRANSPOSITIONS = list(itertools.product([False, True], repeat=2))
MARGIN = 64  # guard elements before and after each array
FEWER_EXAMPLES = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


def available(backend):
    return [v for v in SGEMM if v.reason_on(backend) is None]


def factors(rng, m, n, k, trans_a=False, trans_b=False, draw=None):
    """Random a and b. By default small integers, whose sums are exact in any order."""
    draw = draw or (lambda shape: rng.integers(-8, 9, shape).astype("f4"))
    return draw((k, m) if trans_a else (m, k)), draw((n, k) if trans_b else (k, n))


def transpose_if(x, trans):
    return x.T if trans else x


def check(got, *arrays, **parameters):
    oracle.check("sgemm", got, *arrays, **parameters)


class GuardedMatrix(NamedTuple):
    """A device matrix inside a buffer, and the contents of the buffer before the call."""

    array: Any
    buffer: Any
    before: np.ndarray

    def assert_unchanged(self):
        assert self.buffer.to_host().tobytes() == self.before.tobytes()


def guarded_matrix(a, backend, shift=0, spare=0):
    """Copy `a` to the device, shifted by `shift` elements, with `spare` elements after each row.

    The surrounding elements are NaN, so a kernel that reads them gives a wrong result.
    """
    rows, columns = a.shape
    pitch = columns + spare
    before = np.full(MARGIN + shift + rows * pitch + MARGIN, np.nan, "f4")
    inner = before[MARGIN + shift : MARGIN + shift + rows * pitch].reshape(rows, pitch)
    inner[:, :columns] = a
    buffer = gm.to_device(before, backend=backend)
    first = MARGIN + shift
    array = buffer[first : first + rows * pitch].reshape(rows, pitch)[:, :columns]
    return GuardedMatrix(array, buffer, before)


def guarded_result(shape, backend, shift=0):
    """A contiguous output inside a NaN buffer, and a function that checks the margins."""
    size = int(np.prod(shape))
    before = np.full(2 * MARGIN + shift + size, np.nan, "f4")
    buffer = gm.to_device(before, backend=backend)
    first = MARGIN + shift
    out = buffer[first : first + size].reshape(shape)

    def check_margins():
        after = buffer.to_host()
        assert np.isnan(after[:first]).all() and np.isnan(after[first + size :]).all()

    return out, check_margins


# ---- every size --------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", ["pairs", *exhaustive("all")])
@pytest.mark.parametrize(("trans_a", "trans_b"), TRANSPOSITIONS)
@pytest.mark.parametrize("name", [*NAMES, "auto"])
def test_every_shape_exactly(name, trans_a, trans_b, shapes, backend, rng):
    """Products of small integers are exact."""
    if name != "auto":
        here(SGEMM[NAMES.index(name)], backend)
    keywords = {"variant": name, "trans_a": trans_a, "trans_b": trans_b}
    largest = factors(rng, max(SIDES), max(SIDES), max(DEPTHS))
    for m, n, k in SHAPES[shapes]:
        a, b = largest[0][:m, :k], largest[1][:k, :n]
        out = np.full((m, n), np.nan, "f4")
        got = gm.sgemm(
            transpose_if(a, trans_a), transpose_if(b, trans_b), out=out, backend=backend, **keywords
        )
        assert got is out
        assert np.array_equal(got, a @ b), (m, n, k)


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize("shape", [(0, 0, 0), (0, 5, 3), (5, 0, 3), (0, 0, 7), (0, 3, 0)], ids=str)
def test_empty_arrays(variant, shape, backend, rng):
    here(variant, backend)
    m, n, k = shape
    a, b = factors(rng, m, n, k)
    c = np.ones((m, n), "f4")
    for place in (lambda x: x, lambda x: gm.to_device(x, backend=backend)):
        got = variant(place(a), place(b), place(c), alpha=2, beta=3, backend=backend)
        assert got.shape == (m, n) and got.size == 0


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_large_and_ragged(variant, backend, rng):
    """Several tiles, block groups and loop iterations, with partial tiles."""
    here(variant, backend)
    for m, n, k in [(1100, 140, 40), (140, 1500, 33), (261, 390, 258)]:
        a, b = factors(rng, m, n, k)
        got = variant(a, b, backend=backend)
        assert np.array_equal(got, a @ b), (m, n, k)


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize("shape", [(3, 2, 5000), (130, 20, 4097)], ids=str)
def test_long_sums(variant, shape, backend, rng):
    here(variant, backend)
    a, b = factors(rng, *shape, draw=lambda s: rng.standard_normal(s).astype("f4"))
    check(variant(a, b, backend=backend), a, b)


@FEWER_EXAMPLES
@given(
    data=st.data(),
    shape=st.tuples(st.integers(1, 200), st.integers(1, 200), st.integers(0, 70)),
    transposed=st.sampled_from(TRANSPOSITIONS),
    alpha=st.floats(-4, 4, width=32),
    beta=st.sampled_from([0.0, 1.0, -0.75]),
    seed=st.integers(0, 2**32),
)
def test_random_products(backend, data, shape, transposed, alpha, beta, seed):
    rng = np.random.default_rng(seed)
    keywords = {"trans_a": transposed[0], "trans_b": transposed[1], "alpha": alpha, "beta": beta}
    arrays = oracle.arguments("sgemm", shape, seed=seed, **keywords)
    name = data.draw(st.sampled_from(["auto", *(v.name for v in available(backend))]))
    inputs = [guarded_matrix(x, backend, *rng.integers(0, 6, 2).tolist()) for x in arrays]
    out, check_margins = guarded_result(shape[:2], backend, int(rng.integers(0, 5)))
    got = gm.sgemm(*(x.array for x in inputs), variant=name, out=out, **keywords)
    assert got is out
    check(got.to_host(), *arrays, **keywords)
    check_margins()
    for x in inputs:
        x.assert_unchanged()


# ---- layouts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize(("shift", "spare"), [(0, 0), (0, 4), (0, 3), (1, 4), (2, 2), (3, 0)])
def test_padded_rows_at_any_offset(variant, shift, spare, backend, rng):
    """A named variant uses padded rows in place: it neither reads nor writes the padding."""
    here(variant, backend)
    calls = []
    # Half of the transpositions with each shape, the others at shifts of the other parity.
    for i, (m, n, k) in enumerate(EDGES):
        calls += [(m, n, k, *one) for one in TRANSPOSITIONS[(i + shift) % 2 :: 2]]
    for m, n, k, trans_a, trans_b in calls:
        keywords = {"trans_a": trans_a, "trans_b": trans_b, "alpha": 2.0, "beta": -1.0}
        arrays = (*factors(rng, m, n, k, trans_a, trans_b), factors(rng, m, 1, n)[0])
        inputs = [guarded_matrix(x, backend, shift, spare) for x in arrays]
        out, check_margins = guarded_result((m, n), backend, shift)
        variant(*(x.array for x in inputs), out=out, **keywords)
        wanted = (
            2 * (transpose_if(arrays[0], trans_a) @ transpose_if(arrays[1], trans_b)) - arrays[2]
        )
        assert np.array_equal(out.to_host(), wanted)
        check_margins()
        for x in inputs:
            x.assert_unchanged()


def at_odd_bytes(a, put):
    shifted = put(np.concatenate([np.zeros(3, "u1"), np.frombuffer(a.tobytes(), "u1")]))
    return shifted[3:].view("f4").reshape(a.shape)


LAYOUTS = {
    "columns": lambda a, put: put(np.ascontiguousarray(a.T)).T,
    "padded-columns": lambda a, put: put(np.pad(a.T, ((0, 0), (0, 3))))[:, : a.shape[0]].T,
    "every-other": lambda a, put: put(np.repeat(np.repeat(a, 2, 0), 2, 1))[::2, ::2],
    "reversed-rows": lambda a, put: put(np.ascontiguousarray(a[::-1]))[::-1],
    "reversed-columns": lambda a, put: put(np.ascontiguousarray(a[:, ::-1]))[:, ::-1],
    "at-odd-bytes": at_odd_bytes,
    "columns-at-odd-bytes": lambda a, put: at_odd_bytes(np.ascontiguousarray(a.T), put).T,
}


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_auto_takes_any_layout(layout, where, backend, rng):
    def put(x):
        return x if where == "host" else gm.to_device(x, backend=backend)

    for (m, n, k), (trans_a, trans_b) in itertools.product(EDGES, TRANSPOSITIONS):
        keywords = {"trans_a": trans_a, "trans_b": trans_b, "beta": 1.0}
        arrays = (*factors(rng, m, n, k, trans_a, trans_b), factors(rng, m, 1, n)[0])
        views = [LAYOUTS[layout](x, put) for x in arrays]
        wanted = transpose_if(arrays[0], trans_a) @ transpose_if(arrays[1], trans_b) + arrays[2]
        got = gm.sgemm(*views, **keywords, backend=backend)
        assert np.array_equal(got if where == "host" else got.to_host(), wanted)
        got = gm.sgemm(*views[:2], **(keywords | {"beta": 0}), backend=backend)
        assert np.array_equal(got if where == "host" else got.to_host(), wanted - arrays[2])


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_a_transposed_view_is_recognised(variant, backend, rng):
    """It is passed on as trans_a or trans_b, also to variants that need contiguous rows."""
    here(variant, backend)
    a, b = factors(rng, 70, 50, 30)
    a_transposed, b_transposed = (
        gm.to_device(np.ascontiguousarray(x.T), backend=backend) for x in (a, b)
    )
    assert np.array_equal(variant(a_transposed.T, b_transposed.T).to_host(), a @ b)
    assert np.array_equal(variant(b_transposed, a_transposed, trans_a=False).to_host(), b.T @ a.T)
    assert np.array_equal(
        variant(b_transposed.T, a_transposed.T, trans_a=True, trans_b=True).to_host(), b.T @ a.T
    )


def test_out_at_an_unaligned_address(backend, rng):
    a, b = factors(rng, 5, 6, 7)
    raw = gm.to_device(np.zeros(5 * 6 * 4 + 9, "u1"), backend=backend)
    out = raw[1:121].view("f4").reshape(5, 6)
    device_a, device_b = (gm.to_device(x, backend=backend) for x in (a, b))
    assert gm.sgemm(device_a, device_b, out=out) is out
    assert np.array_equal(out.to_host(), a @ b)
    assert gm.sgemm(device_a, device_b, out, alpha=-1, beta=3, out=out) is out
    assert np.array_equal(out.to_host(), 2 * (a @ b))
    assert not raw.to_host()[[0, *range(121, 129)]].any()
    for variant in available(backend):
        with pytest.raises(ValueError, match=r"aligned to its 4 bytes"):
            variant(device_a, device_b, out=out)


# ---- BLAS rules --------------------------------------------------------------------------------


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


# ---- c and out ---------------------------------------------------------------------------------


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


# ---- refusals ----------------------------------------------------------------------------------

ONES = np.ones((4, 4), "f4")
REFUSALS = {
    "double": ((ONES.astype("f8"), ONES), {}, TypeError, r"a has dtype.*float64.*float32"),
    "half": ((ONES, ONES.astype("f2")), {}, TypeError, r"b has dtype.*float16.*float32"),
    "integers": ((ONES, ONES, ONES.astype("i4")), {}, TypeError, r"c has dtype.*int32.*float32"),
    "complex": ((ONES.astype("c8"), ONES), {}, TypeError, "a has dtype"),
    "row": ((ONES[0], ONES), {}, ValueError, "a has 1 dimensions, expected 2"),
    "stack": ((ONES, ONES[None]), {}, ValueError, "b has 3 dimensions, expected 2"),
    "c-row": ((ONES, ONES, ONES[0]), {}, ValueError, "c has 1 dimensions, expected 2"),
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


@pytest.mark.gpu
def test_cublas_refuses_negative_row_strides():
    matrix = gm.to_device(np.ones((8, 8), "f4"), backend="cuda")
    if _core.available("sgemm", "cublas", "cuda") is not None:
        pytest.skip("no cuBLAS")
    with pytest.raises(ValueError, match="needs rows that follow one another"):
        gm.sgemm(matrix[::-1], matrix, variant="cublas")


# ---- automatic choice --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "chosen"),
    [
        ((1, 1, 1), "naive"),
        ((1, 5000, 100), "naive"),
        ((5000, 8, 100), "naive"),
        ((64, 64, 100), "vec4"),
        ((2048, 2048, 1), "hide_global_latency"),
        ((2048, 2048, 64), "warp_tile_tma"),
        ((8, 2000, 2000), "warp_tile_tma"),
    ],
    ids=str,
)
def test_auto_chooses_by_shape(shape, chosen):
    """Large tiles if there are enough of them; never cuBLAS."""
    a, b = (gm.to_device(np.ones(s, "f4"), backend="sim") for s in (shape[::2], shape[2:0:-1]))
    out = gm.DeviceArray(shape[:2], "f4", backend="sim")
    prepared = _core.prepare("sgemm", "auto", (a, b), out, None, table.parameters("sgemm", {}))
    assert prepared.variant == chosen
    prepared.launch()
    assert (out.to_host() == shape[2]).all()


def test_a_prepared_update_accumulates(backend, rng):
    """With beta=1 and out=c, each launch adds to the result of the previous one."""
    a, b = factors(rng, 40, 50, 20)
    device_arrays = [gm.to_device(x, backend=backend) for x in (a, b, np.zeros((40, 50), "f4"))]
    values = table.parameters("sgemm", {"beta": 1})
    for name in ["auto", *(v.name for v in available(backend))]:
        device_arrays[2].fill_bytes(0)
        prepared = _core.prepare(
            "sgemm", name, tuple(device_arrays), device_arrays[2], None, values
        )
        for _ in range(3):
            prepared.launch()
        assert np.array_equal(device_arrays[2].to_host(), 3 * (a @ b))


# ---- split-K: the sum over k is divided into shares ---------------------------------------------


class Pace(ctypes.Structure):
    """Mirrors the struct sgemm_pace in shares.h."""

    _fields_ = [
        ("blocks", ctypes.c_int),
        *((name, ctypes.c_double) for name in ("alone", "around", "adding", "bytes")),
    ]


PACES = [Pace(2, 1.25, 2, 2, 8e6), Pace(1, 1, 8, 4, 3.5e6)]


def simulated_time(pace, multiprocessors, tiles, stages, bytes, per_share):
    """Makespan when each block, in order, goes to the slot that is free first."""
    free_at = [0.0] * (multiprocessors * pace.blocks)
    work = [per_share] * (tiles * (stages // per_share))
    work += [stages % per_share] * tiles if stages % per_share else []
    for size in work:
        heapq.heapreplace(free_at, free_at[0] + size * pace.blocks + pace.around)
    shares = -(-stages // per_share)
    reduction = pace.adding + bytes * (2 * shares + 1) / pace.bytes
    return max(free_at) + (reduction if shares > 1 else 0)


@pytest.fixture(scope="module")
def stages_per_share(tmp_path_factory):
    """sgemm_stages_per_share of shares.h, compiled on its own."""
    compiler = shlex.split(os.environ.get("CC", "")) or ["gcc" if shutil.which("gcc") else "clang"]
    kernels = Path(__file__).resolve().parent.parent / "csrc" / "kernels"
    directory = tmp_path_factory.mktemp("shares")
    source, library = directory / "shares.c", directory / "shares.so"
    source.write_text(
        """
        #include "sgemm/shares.h"
        int64_t stages_per_share(const sgemm_pace *pace, int64_t multiprocessors, int64_t tiles,
                                 int64_t stages, double bytes)
        {
            return sgemm_stages_per_share(pace, multiprocessors, tiles, stages, bytes);
        }
        """
    )
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{kernels}"]
    subprocess.run([*compiler, *flags, str(source), "-o", str(library)], check=True)
    function = ctypes.CDLL(str(library)).stages_per_share
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.POINTER(Pace), *[ctypes.c_int64] * 3, ctypes.c_double]
    return lambda pace, *rest: function(ctypes.byref(pace), *rest)


@pytest.mark.parametrize("pace", PACES, ids=["two-blocks", "one-block"])
def test_stages_per_share_is_in_range(pace, stages_per_share):
    for tiles, stages in itertools.product([1, 2, 79, 132, 133, 5000, 2**31], [1, 2, 3, 65, 2**26]):
        per_share = stages_per_share(pace, 132, tiles, stages, tiles * 128 * 128 * 4)
        assert 1 <= per_share <= stages
        assert -(-stages // per_share) <= 32
        if stages == 1 or (tiles > 16 * 132 and stages <= 65):
            assert per_share == stages  # one share: the device is full without a split
    assert stages_per_share(pace, 132, 1, 4096, 128 * 128 * 4) <= 4096 / 16


def test_shares_fill_a_wave(stages_per_share):
    """64 tiles on 132 multiprocessors: two or four shares per tile make one wave."""
    for pace, shares in zip(PACES, (4, 2), strict=True):
        assert stages_per_share(pace, 132, 64, 256, 8192 * 128 * 4) == 256 / shares


@pytest.mark.parametrize("pace", PACES, ids=["two-blocks", "one-block"])
@pytest.mark.parametrize(
    "shape",
    [
        (127, 10000, 2049),
        (777, 1234, 5000),
        (1024, 1024, 1024),
        (1536, 1536, 4096),
        (8192, 128, 8192),
        (512, 512, 8192),
        (3000, 3000, 3000),
    ],
    ids=str,
)
def test_split_k_is_near_the_optimum(pace, shape, stages_per_share):
    """Within 4 % of the best possible split, in a simulation of the hardware's block scheduling."""
    m, n, k = shape
    pace = Pace(pace.blocks, pace.blocks, pace.around, pace.adding, pace.bytes)
    problem = (132, -(-m // 128) * -(-n // 128), -(-k // 32), 4.0 * m * n)
    times = {
        per_share: simulated_time(pace, *problem, per_share)
        for per_share in range(-(-problem[2] // 32), problem[2] + 1)
    }
    assert times[stages_per_share(pace, *problem)] <= 1.04 * min(times.values())


def test_split_k_reads_only_initialised_partial_sums(rng):
    """Rows of partial sums are padded to whole vectors; the padding is never written or read."""
    for m, n, k in ((129, 130, 131), (70, 1, 133), (5, 131, 260), (64, 64, 2000)):
        a, b = rng.standard_normal((m, k), "f4"), rng.standard_normal((k, n), "f4")
        t = gm.traffic("sgemm", a, b, variant="warp_tile_tma")
        shares = t.grid[1]
        assert shares > 1
        bytes_requested = {"load": 0, "store": 0}
        for site in t.sites:
            if site["space"] == "global" and site["file"].endswith(("add_shares.cu", "/sgemm.h")):
                bytes_requested[site["kind"]] += site["bytes"]
        assert bytes_requested == {"load": 4 * m * n * shares, "store": 4 * m * n * (shares + 1)}


# ---- traffic -----------------------------------------------------------------------------------


def test_requests_and_sectors_fall_along_the_ladder():
    """From rung to rung each request serves more products."""
    traffic = {v.name: gm.traffic("sgemm", variant=v, shape=(256, 256, 64)) for v in LADDER}
    column = traffic.pop("naive_col")
    requests = [t.loads.requests for t in traffic.values()]
    sectors = [t.loads.sectors for t in traffic.values()]
    products = 256 * 256 * 64
    assert requests[0] == column.loads.requests == 2 * products / 32
    assert (sectors[0], column.loads.sectors) == (5 * products / 32, 33 * products / 32)
    assert requests[1] == requests[0] / 16  # 8 loads for 64 products of each thread
    assert requests[2] == requests[1] / 2
    assert requests[3:] == [requests[2] / 16] * 4  # a tile is loaded once per block
    assert sectors == sorted(sectors, reverse=True)
    assert sectors[3] == 4 * (128 + 128) * 64 * 4 / 32  # both tiles of each of 2 x 2 blocks
    assert {t.stores.sectors for t in traffic.values()} == {256 * 256 * 4 / 32}
    assert {t.stores.efficiency for t in traffic.values()} == {1}
    assert (column.stores.sectors, column.stores.efficiency) == (256 * 256, 1 / 8)


def test_barriers_per_tile():
    blocks, tiles = 4, 4
    for v in TILED:
        barriers = gm.traffic("sgemm", variant=v, shape=(256, 256, 64)).barriers
        if v.name == "warp_tile":  # tiles of half the depth, and one extra barrier for the first
            assert barriers == blocks * (2 * tiles + 1)
        else:
            assert barriers == blocks * tiles * (1 if v.name == "hide_global_latency" else 2)


@pytest.mark.parametrize(("trans_a", "trans_b"), TRANSPOSITIONS)
def test_tiles_are_free_of_bank_conflicts(trans_a, trans_b, rng):
    """Transposed or not. The exception is smem with a transposed A: a 32-way conflict."""
    a, b = factors(rng, 128, 128, 32, trans_a, trans_b)
    for v in TILED:
        t = gm.traffic("sgemm", a, b, variant=v, trans_a=trans_a, trans_b=trans_b)
        assert t.loads.efficiency == 1
        if v.name != "warp_tile" or not trans_b:  # warp_tile transposes B element by element
            assert t.loads.sectors_per_request == 16
        ways = 32 if v.name == "smem" and trans_a else 1
        assert t.shared.bank_ways == ways


@pytest.mark.parametrize("variant", KERNELS, ids=str)
@pytest.mark.parametrize(("trans_a", "trans_b"), TRANSPOSITIONS)
def test_no_out_of_bounds_access_and_no_race(variant, trans_a, trans_b, rng):
    """Each array ends where its allocation ends, so the simulator sees any overrun."""
    for m, n, k in [*EDGES[:4], (128, 128, 32), (64, 129, 65)]:
        keywords = {"trans_a": trans_a, "trans_b": trans_b, "beta": 1.0}
        arrays = (*factors(rng, m, n, k, trans_a, trans_b), factors(rng, m, 1, n)[0])
        values = table.parameters("sgemm", keywords)
        counted = _core.traffic("sgemm", variant.name, arrays, values)
        check(counted["result"], *arrays, **keywords)


# ---- beyond 32 bits ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["naive_col", "naive"])
def test_more_tiles_than_the_grid_y_limit(name, backend, rng):
    """The grid continues in z beyond its limit in y; the last blocks have no work."""
    here(SGEMM[NAMES.index(name)], backend)
    m, n = (3, 65536 * 8 + 13) if name == "naive_col" else (65536 * 8 + 13, 3)
    a, b = factors(rng, m, n, 2)
    assert np.array_equal(gm.sgemm(a, b, variant=name, backend=backend), a @ b)


@pytest.mark.parametrize(("trans_a", "trans_b"), TRANSPOSITIONS)
@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_row_offsets_beyond_32_bits(variant, trans_a, trans_b, backend, rng):
    """One array at a time has a pitch of 2**29 + 8 elements; most of it is never touched."""
    here(variant, backend)
    pitch = 2**29 + 8
    keywords = {"trans_a": trans_a, "trans_b": trans_b, "beta": 1.0}
    arrays = (*factors(rng, 5, 6, 5, trans_a, trans_b), factors(rng, 5, 1, 6)[0])
    for padded in range(3):
        views = [gm.to_device(x, backend=backend) for x in arrays]
        x = arrays[padded]
        padded_array = gm.DeviceArray((len(x), pitch), "f4", backend=backend)
        for i in range(len(x)):
            gm.copy(views[padded][i], out=padded_array[i, : x.shape[1]])
        views[padded] = padded_array[:, : x.shape[1]]
        check(variant(*views, **keywords).to_host(), *arrays, **keywords)


@pytest.mark.gpu
@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize("shape", [(46400, 46400, 3), (2**31 + 40, 1, 2), (3, 2**30, 1)], ids=str)
def test_result_offsets_beyond_32_bits(variant, shape, rng):
    here(variant, "cuda")
    m, n, k = shape
    a, b = (gm.DeviceArray(s, "f4", backend="cuda") for s in ((m, k), (k, n)))
    block = rng.integers(-8, 9, 2**20 - 3).astype("f4")
    device_block = gm.to_device(block, backend="cuda")
    for x in (a, b):
        flat = x.reshape(x.size)
        for first in range(0, x.size, block.size):
            part = flat[first : first + block.size]
            gm.copy(device_block[: part.size], out=part)
    out = gm.DeviceArray((m, n), "f4", backend="cuda")
    out.fill_bytes(0xA5)
    if variant.name in ("warp_tile_tma", "tf32x3", "fp16x3") and m > 2**31 - 1:
        with pytest.raises(ValueError, match=rf"{variant.name} takes sides of up to 2147483647"):
            variant(a, b, out=out)
        return
    variant(a, b, out=out)
    rows = {0, m - 1, m // 2, *rng.integers(0, m, 20).tolist()}
    host_b = b.to_host() if b.size < 2**28 else None
    for r in sorted(rows):
        for first in {0, max(0, n - 10**6), n // 2}:
            columns = slice(first, min(n, first + 10**6))
            b_part = b[:, columns] if host_b is None else host_b[:, columns]
            b_part = b_part if host_b is not None else gm.copy(b_part).to_host()
            wanted = a[r : r + 1].to_host() @ b_part
            assert np.array_equal(out[r : r + 1, columns].to_host(), wanted)


# ---- oracle, benchmark, accuracy ---------------------------------------------------------------


def test_oracle_detects_a_wrong_element(rng):
    a, b = (rng.standard_normal((20, 20)).astype("f4") for _ in range(2))
    correct = (a.astype("f8") @ b).astype("f4")
    check(correct, a, b)
    for index, value in [((3, 4), correct[3, 4] + np.float32(1e-3)), ((0, 0), np.nan)]:
        wrong = correct.copy()
        wrong[index] = value
        with pytest.raises(AssertionError, match=rf"index \({index[0]}, {index[1]}\)"):
            check(wrong, a, b)
    a[2, 2] = np.inf
    for value in (-np.inf, 0, np.nan):
        wrong = oracle.expected("sgemm", a, b)
        assert np.isinf(wrong[2]).all()
        wrong[2, 7] = -wrong[2, 7] if value == -np.inf else value
        with pytest.raises(AssertionError, match=r"index \(2, 7\)"):
            check(wrong, a, b)


def test_oracle_bound_is_tight(rng):
    """It detects a kernel that drops one term of a sum, or one that rounds to TF32."""
    a, b = (rng.uniform(0.5, 1, (64, 64)).astype("f4") for _ in range(2))
    with pytest.raises(AssertionError):
        check(a[:, 1:] @ b[1:], a, b)
    truncated = (a.view("u4") & np.uint32(0xFFFFE000)).view("f4")
    with pytest.raises(AssertionError):
        check(truncated @ b, a, b)


def test_a_shape_is_m_n_k():
    assert oracle.shape_for("sgemm", 2**24) == (2048, 2048, 2048)
    assert oracle.shape_for("sgemm", 4) == (1, 1, 1)
    assert oracle.work("sgemm", (2, 3, 5), "f4") == (4 * (10 + 15 + 6), 60)
    assert oracle.work("sgemm", (2, 3, 5), "f4", beta=1.0) == (4 * (10 + 15 + 12), 60)
    a, b, c = oracle.arguments("sgemm", (2, 3, 5), beta=1.0, trans_a=True)
    assert (a.shape, b.shape, c.shape) == ((5, 2), (5, 3), (2, 3))
    for shape in (7, (3, 4), (1, 2, 3, 4)):
        with pytest.raises(ValueError, match=r"expected \(m, n, k\)"):
            oracle.arguments("sgemm", shape)


def test_bench_counts_operations():
    shapes = [(8, 16, 32), (64, 64, 64)]
    result = gm.bench("sgemm", ["naive", "cublas"], shapes=shapes, backend="sim")
    assert [tuple(r["shape"]) for r in result.records[::2]] == shapes
    assert {r["flops"] for r in result.records} == {2 * 8 * 16 * 32, 2 * 64**3}
    assert oracle.reference("sgemm") == ("sgemm", "cublas")


def test_peer_libraries_multiply():
    for library in peers.names():
        reason = peers.reason(library, "sgemm")
        assert reason is None or "not installed" in reason
        assert "sgemm with beta" in peers.reason(library, "sgemm", ["beta"])
    keywords = {"shapes": [(8, 8, 8)], "with_peers": ["torch"], "backend": "sim"}
    result = gm.bench("sgemm", ["naive"], **keywords, trans_a=True)
    assert (
        "sgemm with trans_a" in next(r for r in result.records if r["variant"] == "torch")["reason"]
    )


def test_accuracy_of_every_variant(backend):
    records = accuracy_module.accuracy(depths=[16, 256], side=20, backend=backend)
    measured = {(r["variant"], r["numbers"], r["k"]): r["error"] for r in records if "error" in r}
    names = [v.name for v in available(backend)]
    wanted = set(itertools.product(names, accuracy_module.KINDS, [16, 256]))
    assert set(measured) == wanted
    assert all(0 < error <= k / 2 + 2 for (_, _, k), error in measured.items())
    assert {r["variant"] for r in records if "reason" in r} == set(NAMES) - set(names)
    text = accuracy_module.table(records)
    for word in (*accuracy_module.KINDS, *NAMES, "256"):
        assert word in text


def test_accuracy_detects_tf32_rounding(monkeypatch):
    """TF32 has 10 mantissa bits instead of 23, so its errors are far larger."""

    def truncated(a, b, **_):
        a, b = ((x.to_host().view("u4") & np.uint32(0xFFFFE000)).view("f4") for x in (a, b))
        return gm.to_device(a @ b, backend="sim")

    def errors():
        records = accuracy_module.accuracy(["naive"], [64], 20, backend="sim")
        return [record["error"] for record in records]

    full_precision = errors()
    monkeypatch.setattr(accuracy_module, "sgemm", truncated)
    assert min(errors()) > 50 * max(full_precision)


def test_accuracy_on_the_command_line(capsys):
    common = ["verify", "sgemm", "--accuracy", "--backend", "sim"]
    chosen = ["--variant", "vec4", "--depths", "16:64:x2", "--side", "5"]
    assert cli.main([*common, *chosen, "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert {(r["variant"], r["m"], r["n"]) for r in records} == {("vec4", 5, 5)}
    assert [r["k"] for r in records] == [16, 32, 64] * len(accuracy_module.KINDS)
    assert cli.main([*common, *chosen]) == 0
    assert "largest error" in capsys.readouterr().out
    assert cli.main(["traffic", "sgemm", "--shape", "8x8x8", "--set", "trans_a=true"]) == 0
    assert "trans_a True" in capsys.readouterr().out
    for wrong in (
        ["traffic", "sgemm", "--shape", "8x8x8", "--set", "trans_a=1"],
        ["verify", "copy", "--accuracy"],
        ["verify", "--accuracy"],
        ["verify", "sgemm", "--side", "5"],
        [*common, "--variant", "fast"],
        [*common, "--side", "0"],
        [*common, "--depths", "none"],
    ):
        assert cli.main(wrong) == 2
        assert capsys.readouterr().err.startswith("gpumem: ")
