"""sgemm: every variant at every edge, transposed or not, by the rules of BLAS."""

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
RUNGS = [v for v in KERNELS if not v.name.startswith("warp_tile")]  # which copy asynchronously
SIDES = [1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129]
DEPTHS = [0, 1, 7, 16, 17, 64]
SHAPES = {
    # Each pair of sides, and each side with each depth.
    "pairs": [
        (m, n, DEPTHS[(i + j) % len(DEPTHS)])
        for (i, m), (j, n) in itertools.product(enumerate(SIDES), repeat=2)
    ],
    "all": list(itertools.product(SIDES, SIDES, DEPTHS)),
}
EDGES = [(1, 1, 1), (5, 3, 2), (33, 31, 17), (129, 127, 33), (130, 260, 50), (8, 300, 129)]
TURNS = list(itertools.product([False, True], repeat=2))
MARGIN = 64  # elements
FEWER = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


def available(backend):
    return [v for v in SGEMM if v.reason_on(backend) is None]


def factors(rng, m, n, k, trans_a=False, trans_b=False, draw=None):
    """Small integers: their sums are exact in any order."""
    draw = draw or (lambda shape: rng.integers(-8, 9, shape).astype("f4"))
    return draw((k, m) if trans_a else (m, k)), draw((n, k) if trans_b else (k, n))


def turned(x, trans):
    return x.T if trans else x


def check(got, *arrays, **parameters):
    oracle.check("sgemm", got, *arrays, **parameters)


class Placed(NamedTuple):
    """A matrix on the device, amid numbers that must stay as they are."""

    array: Any
    buffer: Any
    before: np.ndarray

    def untouched(self):
        assert self.buffer.to_host().tobytes() == self.before.tobytes()


def placed(a, backend, shift=0, spare=0):
    """Rows that begin `shift` elements further on, with `spare` elements after each of them.

    What lies around is NaN: whoever reads it has a wrong result.
    """
    rows, columns = a.shape
    pitch = columns + spare
    before = np.full(MARGIN + shift + rows * pitch + MARGIN, np.nan, "f4")
    inner = before[MARGIN + shift : MARGIN + shift + rows * pitch].reshape(rows, pitch)
    inner[:, :columns] = a
    buffer = gm.to_device(before, backend=backend)
    first = MARGIN + shift
    array = buffer[first : first + rows * pitch].reshape(rows, pitch)[:, :columns]
    return Placed(array, buffer, before)


def result_place(shape, backend, shift=0):
    """A contiguous result of NaN amid NaN, and a check that only the result was written."""
    size = int(np.prod(shape))
    before = np.full(2 * MARGIN + shift + size, np.nan, "f4")
    buffer = gm.to_device(before, backend=backend)
    first = MARGIN + shift
    out = buffer[first : first + size].reshape(shape)

    def intact():
        after = buffer.to_host()
        assert np.isnan(after[:first]).all() and np.isnan(after[first + size :]).all()

    return out, intact


# ---- every size --------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", ["pairs", *exhaustive("all")])
@pytest.mark.parametrize(("trans_a", "trans_b"), TURNS)
@pytest.mark.parametrize("name", [*NAMES, "auto"])
def test_every_shape_exactly(name, trans_a, trans_b, shapes, backend, rng):
    """Integers, bit for bit."""
    if name != "auto":
        here(SGEMM[NAMES.index(name)], backend)
    told = {"variant": name, "trans_a": trans_a, "trans_b": trans_b}
    whole = factors(rng, max(SIDES), max(SIDES), max(DEPTHS))
    for m, n, k in SHAPES[shapes]:
        a, b = whole[0][:m, :k], whole[1][:k, :n]
        out = np.full((m, n), np.nan, "f4")
        got = gm.sgemm(turned(a, trans_a), turned(b, trans_b), out=out, backend=backend, **told)
        assert got is out
        assert np.array_equal(got, a @ b), (m, n, k)


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize("shape", [(0, 0, 0), (0, 5, 3), (5, 0, 3), (0, 0, 7), (0, 3, 0)], ids=str)
def test_no_elements(variant, shape, backend, rng):
    here(variant, backend)
    m, n, k = shape
    a, b = factors(rng, m, n, k)
    c = np.ones((m, n), "f4")
    for there in (lambda x: x, lambda x: gm.to_device(x, backend=backend)):
        got = variant(there(a), there(b), there(c), alpha=2, beta=3, backend=backend)
        assert got.shape == (m, n) and got.size == 0


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_large_and_ragged(variant, backend, rng):
    """Several tiles, groups and turns of the loop."""
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


@FEWER
@given(
    data=st.data(),
    shape=st.tuples(st.integers(1, 200), st.integers(1, 200), st.integers(0, 70)),
    turns=st.sampled_from(TURNS),
    alpha=st.floats(-4, 4, width=32),
    beta=st.sampled_from([0.0, 1.0, -0.75]),
    seed=st.integers(0, 2**32),
)
def test_drawn_products(backend, data, shape, turns, alpha, beta, seed):
    rng = np.random.default_rng(seed)
    told = {"trans_a": turns[0], "trans_b": turns[1], "alpha": alpha, "beta": beta}
    arrays = oracle.arguments("sgemm", shape, seed=seed, **told)
    name = data.draw(st.sampled_from(["auto", *(v.name for v in available(backend))]))
    around = [placed(x, backend, *rng.integers(0, 6, 2).tolist()) for x in arrays]
    out, intact = result_place(shape[:2], backend, int(rng.integers(0, 5)))
    got = gm.sgemm(*(x.array for x in around), variant=name, out=out, **told)
    assert got is out
    check(got.to_host(), *arrays, **told)
    intact()
    for x in around:
        x.untouched()


# ---- layouts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize(("shift", "spare"), [(0, 0), (0, 4), (0, 3), (1, 4), (2, 2), (3, 0)])
def test_padded_rows_at_any_element(variant, shift, spare, backend, rng):
    """Taken where they are, by name: nothing around them is read or written."""
    here(variant, backend)
    for (m, n, k), (trans_a, trans_b) in itertools.product(EDGES, TURNS):
        told = {"trans_a": trans_a, "trans_b": trans_b, "alpha": 2.0, "beta": -1.0}
        arrays = (*factors(rng, m, n, k, trans_a, trans_b), factors(rng, m, 1, n)[0])
        around = [placed(x, backend, shift, spare) for x in arrays]
        out, intact = result_place((m, n), backend, shift)
        variant(*(x.array for x in around), out=out, **told)
        wanted = 2 * (turned(arrays[0], trans_a) @ turned(arrays[1], trans_b)) - arrays[2]
        assert np.array_equal(out.to_host(), wanted)
        intact()
        for x in around:
            x.untouched()


LAYOUTS = {
    "columns": lambda a, put: put(np.ascontiguousarray(a.T)).T,
    "padded-columns": lambda a, put: put(np.pad(a.T, ((0, 0), (0, 3))))[:, : a.shape[0]].T,
    "every-other": lambda a, put: put(np.repeat(np.repeat(a, 2, 0), 2, 1))[::2, ::2],
    "reversed-rows": lambda a, put: put(np.ascontiguousarray(a[::-1]))[::-1],
    "reversed-columns": lambda a, put: put(np.ascontiguousarray(a[:, ::-1]))[:, ::-1],
    "at-odd-bytes": lambda a, put: (
        put(np.concatenate([np.zeros(3, "u1"), np.frombuffer(a.tobytes(), "u1")]))[3:]
        .view("f4")
        .reshape(a.shape)
    ),
}


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_auto_takes_any_layout(layout, where, backend, rng):
    def put(x):
        return x if where == "host" else gm.to_device(x, backend=backend)

    for (m, n, k), (trans_a, trans_b) in itertools.product(EDGES, TURNS):
        told = {"trans_a": trans_a, "trans_b": trans_b, "beta": 1.0}
        arrays = (*factors(rng, m, n, k, trans_a, trans_b), factors(rng, m, 1, n)[0])
        views = [LAYOUTS[layout](x, put) for x in arrays]
        wanted = turned(arrays[0], trans_a) @ turned(arrays[1], trans_b) + arrays[2]
        got = gm.sgemm(*views, **told, backend=backend)
        assert np.array_equal(got if where == "host" else got.to_host(), wanted)
        got = gm.sgemm(*views[:2], **(told | {"beta": 0}), backend=backend)
        assert np.array_equal(got if where == "host" else got.to_host(), wanted - arrays[2])


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_a_transposed_view_costs_nothing(variant, backend, rng):
    """It is told as a transposed factor, also to a variant that takes rows alone."""
    here(variant, backend)
    a, b = factors(rng, 70, 50, 30)
    d, e = (gm.to_device(np.ascontiguousarray(x.T), backend=backend) for x in (a, b))
    assert np.array_equal(variant(d.T, e.T).to_host(), a @ b)
    assert np.array_equal(variant(e, d, trans_a=False).to_host(), b.T @ a.T)
    assert np.array_equal(variant(e.T, d.T, trans_a=True, trans_b=True).to_host(), b.T @ a.T)


def test_a_result_at_odd_bytes(backend, rng):
    a, b = factors(rng, 5, 6, 7)
    raw = gm.to_device(np.zeros(5 * 6 * 4 + 9, "u1"), backend=backend)
    out = raw[1:121].view("f4").reshape(5, 6)
    d, e = (gm.to_device(x, backend=backend) for x in (a, b))
    assert gm.matmul(d, e, out=out) is out
    assert np.array_equal(out.to_host(), a @ b)
    assert gm.sgemm(d, e, out, alpha=-1, beta=3, out=out) is out
    assert np.array_equal(out.to_host(), 2 * (a @ b))
    assert not raw.to_host()[[0, *range(121, 129)]].any()
    for variant in available(backend):
        with pytest.raises(ValueError, match=r"aligned to its 4 bytes"):
            variant(d, e, out=out)


# ---- the rules of BLAS -------------------------------------------------------------------------


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_without_beta_c_is_not_read(variant, backend, rng):
    here(variant, backend)
    for m, n, k in EDGES:
        a, b = factors(rng, m, n, k)
        c = np.full((m, n), np.nan, "f4")
        for beta in (0, -0.0):
            got = variant(a, b, c, alpha=2, beta=beta, backend=backend)
            assert np.array_equal(got, 2 * (a @ b))
        if variant in KERNELS and backend == "sim" and (m, n, k) in EDGES[1:4]:
            told = {"variant": variant, "alpha": 2.0}
            assert loads(a, b, **told) == loads(a, b, c, **told) < loads(a, b, c, **told, beta=1.0)


def loads(*arrays, **told):
    return gm.traffic("sgemm", *arrays, **told).loads.bytes_asked


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_without_alpha_the_factors_are_not_read(variant, backend, rng):
    here(variant, backend)
    for m, n, k in EDGES:
        a, b = (np.full(shape, np.nan, "f4") for shape in ((m, k), (k, n)))
        c = rng.integers(-9, 9, (m, n)).astype("f4")
        got = variant(a, b, c, alpha=0, beta=3, backend=backend)
        assert np.array_equal(got, 3 * c)
        assert not variant(a, b, alpha=-0.0, backend=backend).any()
        if variant in KERNELS and backend == "sim":
            assert loads(a, b, variant=variant, alpha=0.0) == 0
            told = {"variant": variant, "alpha": 0.0, "beta": 1.0}
            assert loads(a, b, c, **told) == c.nbytes


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize("alpha", [1, np.inf, np.nan])
def test_without_terms_c_is_scaled(variant, alpha, backend, rng):
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
def test_without_terms_zeros_keep_their_sign(variant, beta, backend, rng):
    here(variant, backend)
    for m, n, k, alpha in [(3, 5, 0, 1), (3, 5, 7, 0), (130, 260, 0, -1), (130, 260, 33, -0.0)]:
        a, b = factors(rng, m, n, k)
        c = rng.choice(np.array([0.0, -0.0, 1.5, -np.inf, np.nan], "f4"), (m, n))
        wanted = np.float32(beta) * c
        there = [gm.to_device(x, backend=backend) for x in (a, b, c)]
        for got in (
            variant(a, b, c, alpha=alpha, beta=beta, backend=backend),
            variant(*there, alpha=alpha, beta=beta, out=there[2]).to_host(),
        ):
            assert np.array_equal(got, wanted, equal_nan=True)
            number = ~np.isnan(wanted)
            assert np.array_equal(np.signbit(got)[number], np.signbit(wanted)[number])


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize("beta", [0.0, -0.0])
@pytest.mark.parametrize("turns", TURNS, ids=str)
def test_without_beta_what_out_held_counts_for_nothing(variant, beta, turns, backend, rng):
    here(variant, backend)
    for m, n, k in [*EDGES, (4, 3, 0), (96, 40, 2100)]:
        given = factors(rng, m, n, k, *turns)
        a, b = map(turned, given, turns)
        told = {"trans_a": turns[0], "trans_b": turns[1], "beta": beta, "backend": backend}
        for alpha, held in itertools.product((1.0, 0.0), (np.nan, np.inf)):
            out = gm.to_device(np.full((m, n), held, "f4"), backend=backend)
            factors_there = [gm.to_device(x, backend=backend) for x in given]
            got = variant(*factors_there, out, alpha=alpha, out=out, **told).to_host()
            assert np.array_equal(got, alpha * (a @ b))
            assert (alpha and k) or not np.signbit(got).any()


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_alpha_and_beta_are_rounded_once(variant, backend, rng):
    here(variant, backend)
    a, b = factors(rng, 33, 40, 1)
    c = rng.standard_normal((33, 40)).astype("f4")
    for alpha, beta in [(0.1, 0), (1, 0.1), (1 / 3, -2.7), (1e-60, 1), (1, 1e-60)]:
        told = {"alpha": alpha, "beta": beta}
        check(variant(a, b, c, **told, backend=backend), a, b, c, **told)


SPECIAL = [np.inf, -np.inf, np.nan, 0.0, 3e38, -3e38, 1e-45]


@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize(("trans_a", "trans_b"), TURNS)
def test_nan_and_infinities_travel(variant, trans_a, trans_b, backend, rng):
    """To where they are in double precision, and nowhere else."""
    here(variant, backend)
    for m, n, k in EDGES:
        for alpha, beta in [(1, 0), (-2, 1), (0.5, np.inf), (np.nan, 0), (np.inf, 1)]:
            if variant.name == "cublas" and alpha == np.inf:
                continue  # it multiplies parts of a sum by alpha: infinities of both signs
            told = {"alpha": alpha, "beta": beta, "trans_a": trans_a, "trans_b": trans_b}
            arrays = [*factors(rng, m, n, k, trans_a, trans_b), factors(rng, m, 1, n)[0]]
            for x in arrays:
                for special in rng.choice(SPECIAL[:4], min(3, x.size)):
                    x.flat[rng.integers(x.size)] = special
            check(variant(*arrays, **told, backend=backend), *arrays, **told)


@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_what_is_too_large_is_infinite(variant, backend):
    here(variant, backend)
    a = np.array([[3e38, 1], [-3e38, 1], [1e-30, 0], [1, 1]], "f4")
    b = np.array([[2, 1, 1e-30], [0, 0, 1]], "f4")
    got = variant(a, b, backend=backend)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(np.isinf(got), np.isinf((a.astype("f8") @ b).astype("f4")))
    check(got, a, b)


def test_zero_times_infinity_is_seen_at_an_edge(backend, rng):
    """What fills up a tile is no number: zeros beyond the edge meet none of the matrix."""
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
        told = {"variant": name, "beta": 2}
        before = c.copy()
        got = gm.sgemm(a, b, c, **told, backend=backend)
        assert got is not c and np.array_equal(got, wanted) and np.array_equal(c, before)
        there = [gm.to_device(x, backend=backend) for x in (a, b, c)]
        got = gm.sgemm(*there, **told)
        assert np.array_equal(got.to_host(), wanted)
        assert np.array_equal(there[2].to_host(), before)
        assert gm.sgemm(*there, **told, out=there[2]) is there[2]
        assert np.array_equal(there[2].to_host(), wanted)
        assert gm.sgemm(a, b, c, **told, out=c, backend=backend) is c
        assert np.array_equal(c, wanted)
        alias = c[:]
        assert gm.sgemm(a, b, c, **told, out=alias, backend=backend) is alias
        assert np.array_equal(c, a @ b + 2 * wanted)


def test_c_in_another_layout_is_updated_in_place(backend, rng):
    a, b = factors(rng, 20, 30, 9)
    for c in (np.ones((30, 20), "f4").T, np.ones((20, 40), "f4")[:, 5:35]):
        assert gm.sgemm(a, b, c, beta=1, out=c, backend=backend) is c
        assert np.array_equal(c, a @ b + 1)


def test_a_result_apart_from_its_inputs(backend, rng):
    """out is c itself, or overlaps nothing."""
    for there in (lambda x: x, lambda x: gm.to_device(x, backend=backend)):
        buffer = there(np.ones(300, "f4"))
        square = buffer[:100].reshape(10, 10)
        for first in (0, 4, 99, 100):
            out = buffer[first : first + 100].reshape(10, 10)
            apart = there(np.ones((10, 10), "f4"))
            overlaps = first < 100
            for arrays, name in [
                ((square, apart), "a"),
                ((apart, square), "b"),
                ((apart, apart, square), "c"),
            ]:
                told = {"out": out, "beta": len(arrays) - 2, "backend": backend}
                if overlaps and not (name == "c" and first == 0):
                    with pytest.raises(ValueError, match=rf"out overlaps {name} in memory"):
                        gm.sgemm(*arrays, **told)
                else:
                    assert gm.sgemm(*arrays, **told) is out
                whole = buffer if isinstance(buffer, np.ndarray) else buffer.to_host()
                if overlaps and not (name == "c" and first == 0):
                    assert np.array_equal(whole, 1 + 0 * whole)
                else:
                    buffer = there(np.ones(300, "f4"))
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
    "none-for-a": ((None, ONES), {}, TypeError, "a must be.* not NoneType"),
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
    arrays, told, error, words = REFUSALS[case]
    before = [None if x is None else x.tobytes() for x in arrays]
    out = told.get("out")
    kept = None if out is None else out.tobytes()
    with pytest.raises(error, match=words):
        gm.sgemm(*arrays, **told, backend=backend)
    assert before == [None if x is None else x.tobytes() for x in arrays]
    assert out is None or out.tobytes() == kept
    if out is None and all(x is not None for x in arrays):
        with pytest.raises(error, match=words):
            gm.sgemm(*(gm.to_device(x, backend=backend) for x in arrays), **told)


def test_a_product_too_large_to_count(backend):
    a, b = np.empty((2**40, 0), "f4"), np.empty((0, 2**40), "f4")
    with pytest.raises(ValueError, match="too large"):
        gm.matmul(a, b, backend=backend)


def test_c_is_where_the_others_are(backend):
    there = gm.to_device(ONES, backend=backend)
    with pytest.raises(TypeError, match=r"c is numpy\.ndarray, another input is on the device"):
        gm.sgemm(there, there, ONES, beta=1)
    with pytest.raises(TypeError, match=r"c is a gpumem\.DeviceArray, another"):
        gm.sgemm(ONES, ONES, there, beta=1, backend=backend)


def test_the_module_counts_its_arrays(backend):
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
def test_cublas_refuses_rows_that_run_backwards():
    there = gm.to_device(np.ones((8, 8), "f4"), backend="cuda")
    if _core.available("sgemm", "cublas", "cuda") is not None:
        pytest.skip("no cuBLAS")
    with pytest.raises(ValueError, match="needs rows that follow one another"):
        gm.matmul(there[::-1], there, variant="cublas")


# ---- matmul ------------------------------------------------------------------------------------


def test_matmul_is_sgemm_without_the_rest(backend, rng):
    a, b = factors(rng, 12, 34, 56)
    for name in ["auto", *(v.name for v in available(backend))]:
        assert np.array_equal(gm.matmul(a, b, variant=name, backend=backend), a @ b)
    out = np.empty((12, 34), "f4")
    assert gm.matmul(a, b, out=out, backend=backend) is out
    stream = gm.Stream(backend=backend)
    there = gm.matmul(*(gm.to_device(x, backend=backend) for x in (a, b)), stream=stream)
    stream.synchronize()
    assert np.array_equal(there.to_host(), a @ b)
    with pytest.raises(ValueError, match="b has shape"):
        gm.matmul(a, a, backend=backend)


# ---- the choice --------------------------------------------------------------------------------


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
def test_the_choice_follows_the_shape(shape, chosen):
    """Large tiles where there are enough of them; never the reference."""
    a, b = (gm.to_device(np.ones(s, "f4"), backend="sim") for s in (shape[::2], shape[2:0:-1]))
    out = gm.DeviceArray(shape[:2], "f4", backend="sim")
    prepared = _core.prepare("sgemm", "auto", (a, b), out, None, table.parameters("sgemm", {}))
    assert prepared.variant == chosen
    prepared.launch()
    assert (out.to_host() == shape[2]).all()


def test_a_prepared_update_repeats(backend, rng):
    """Each launch adds to what the one before has left."""
    a, b = factors(rng, 40, 50, 20)
    there = [gm.to_device(x, backend=backend) for x in (a, b, np.zeros((40, 50), "f4"))]
    values = table.parameters("sgemm", {"beta": 1})
    for name in ["auto", *(v.name for v in available(backend))]:
        there[2].fill_bytes(0)
        prepared = _core.prepare("sgemm", name, tuple(there), there[2], None, values)
        for _ in range(3):
            prepared.launch()
        assert np.array_equal(there[2].to_host(), 3 * (a @ b))


# ---- shares of the depth -----------------------------------------------------------------------


class Pace(ctypes.Structure):
    """sgemm_pace of shares.h."""

    _fields_ = [
        ("blocks", ctypes.c_int),
        *((name, ctypes.c_double) for name in ("alone", "around", "adding", "bytes")),
    ]


PACES = [Pace(2, 1.25, 2, 2, 8e6), Pace(1, 1, 8, 4, 3.5e6)]


def time_taken(pace, multiprocessors, tiles, stages, bytes, each):
    """The blocks in their order, each to the place that is the first to be free."""
    places = [0.0] * (multiprocessors * pace.blocks)
    sizes = [each] * (tiles * (stages // each))
    sizes += [stages % each] * tiles if stages % each else []
    for size in sizes:
        heapq.heapreplace(places, places[0] + size * pace.blocks + pace.around)
    shares = -(-stages // each)
    adding = pace.adding + bytes * (2 * shares + 1) / pace.bytes
    return max(places) + (adding if shares > 1 else 0)


@pytest.fixture(scope="module")
def stages_per_share(tmp_path_factory):
    """The function of shares.h, compiled alone."""
    compiler = shlex.split(os.environ.get("CC", "")) or ["gcc" if shutil.which("gcc") else "clang"]
    kernels = Path(__file__).resolve().parent.parent / "csrc" / "kernels"
    folder = tmp_path_factory.mktemp("shares")
    source, made = folder / "shares.c", folder / "shares.so"
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
    subprocess.run([*compiler, *flags, str(source), "-o", str(made)], check=True)
    function = ctypes.CDLL(str(made)).stages_per_share
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.POINTER(Pace), *[ctypes.c_int64] * 3, ctypes.c_double]
    return lambda pace, *rest: function(ctypes.byref(pace), *rest)


@pytest.mark.parametrize("pace", PACES, ids=["two-blocks", "one-block"])
def test_shares_are_some_stages(pace, stages_per_share):
    for tiles, stages in itertools.product([1, 2, 79, 132, 133, 5000, 2**31], [1, 2, 3, 65, 2**26]):
        each = stages_per_share(pace, 132, tiles, stages, tiles * 128 * 128 * 4)
        assert 1 <= each <= stages
        assert -(-stages // each) <= 32
        if stages == 1 or (tiles > 16 * 132 and stages <= 65):
            assert each == stages  # all are busy in any case
    assert stages_per_share(pace, 132, 1, 4096, 128 * 128 * 4) <= 4096 / 16


def test_shares_fill_a_wave(stages_per_share):
    """64 tiles on 132 multiprocessors: two or four of each are one wave."""
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
def test_shares_leave_few_places_idle(pace, shape, stages_per_share):
    """Within 4 % of the best of all divisions, on the schedule that the hardware follows."""
    m, n, k = shape
    pace = Pace(pace.blocks, pace.blocks, pace.around, pace.adding, pace.bytes)
    told = (132, -(-m // 128) * -(-n // 128), -(-k // 32), 4.0 * m * n)
    times = {each: time_taken(pace, *told, each) for each in range(-(-told[2] // 32), told[2] + 1)}
    assert times[stages_per_share(pace, *told)] <= 1.04 * min(times.values())


def test_of_shared_sums_only_what_was_written_is_read(rng):
    """Their rows are padded to whole vectors, by columns that nobody writes."""
    for m, n, k in ((129, 130, 131), (70, 1, 133), (5, 131, 260), (64, 64, 2000)):
        a, b = rng.standard_normal((m, k), "f4"), rng.standard_normal((k, n), "f4")
        t = gm.traffic("sgemm", a, b, variant="warp_tile_tma")
        shares = t.grid[1]
        assert shares > 1
        asked = {"load": 0, "store": 0}
        for site in t.sites:
            if site["space"] == "global" and site["file"].endswith(("add_shares.cu", "/sgemm.h")):
                asked[site["kind"]] += site["bytes"]
        assert asked == {"load": 4 * m * n * shares, "store": 4 * m * n * (shares + 1)}


# ---- traffic -----------------------------------------------------------------------------------


def test_requests_and_sectors_fall_along_the_ladder():
    """What a request is good for: a product, two, and so on to a tile."""
    told = {v.name: gm.traffic("sgemm", variant=v, shape=(256, 256, 64)) for v in RUNGS}
    column = told.pop("naive_col")
    requests = [t.loads.requests for t in told.values()]
    sectors = [t.loads.sectors for t in told.values()]
    products = 256 * 256 * 64
    assert requests[0] == column.loads.requests == 2 * products / 32
    assert (sectors[0], column.loads.sectors) == (5 * products / 32, 33 * products / 32)
    assert requests[1] == requests[0] / 16  # 8 loads for 64 products of each thread
    assert requests[2] == requests[1] / 2
    assert requests[3:] == [requests[2] / 16] * 4  # a tile is loaded once per block
    assert sectors == sorted(sectors, reverse=True)
    assert sectors[3] == 4 * (128 + 128) * 64 * 4 / 32  # both tiles of each of 2 x 2 blocks
    assert {t.stores.sectors for t in told.values()} == {256 * 256 * 4 / 32}
    assert {t.stores.efficiency for t in told.values()} == {1}
    assert (column.stores.sectors, column.stores.efficiency) == (256 * 256, 1 / 8)


def test_the_last_rung_needs_one_barrier_per_tile():
    blocks, tiles = 4, 4
    for v in TILED:
        barriers = gm.traffic("sgemm", variant=v, shape=(256, 256, 64)).barriers
        if v.name == "warp_tile":  # tiles of half the steps, and one barrier for the first
            assert barriers == blocks * (2 * tiles + 1)
        else:
            assert barriers == blocks * tiles * (1 if v.name == "hide_global_latency" else 2)


@pytest.mark.parametrize(("trans_a", "trans_b"), TURNS)
def test_tiles_are_free_of_bank_conflicts(trans_a, trans_b, rng):
    """Turned on their way or not; but for a transposed A in rows, as the row of smem tells."""
    a, b = factors(rng, 128, 128, 32, trans_a, trans_b)
    for v in TILED:
        t = gm.traffic("sgemm", a, b, variant=v, trans_a=trans_a, trans_b=trans_b)
        assert t.loads.efficiency == 1
        if v.name != "warp_tile" or not trans_b:  # which is turned on its way, number by number
            assert t.loads.sectors_per_request == 16
        ways = 32 if v.name == "smem" and trans_a else 1
        assert t.shared.bank_ways == ways


@pytest.mark.parametrize("variant", KERNELS, ids=str)
@pytest.mark.parametrize(("trans_a", "trans_b"), TURNS)
def test_no_stray_access_and_no_race(variant, trans_a, trans_b, rng):
    """Between arrays that end where their memory does."""
    for m, n, k in [*EDGES[:4], (128, 128, 32), (64, 129, 65)]:
        told = {"trans_a": trans_a, "trans_b": trans_b, "beta": 1.0}
        arrays = (*factors(rng, m, n, k, trans_a, trans_b), factors(rng, m, 1, n)[0])
        values = table.parameters("sgemm", told)
        counted = _core.traffic("sgemm", variant.name, arrays, values)
        check(counted["result"], *arrays, **told)


# ---- beyond 32 bits ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["naive_col", "naive"])
def test_more_tiles_than_a_grid_has_in_y(name, backend, rng):
    """z of the grid counts on where y ends, and its last blocks have nothing to do."""
    here(SGEMM[NAMES.index(name)], backend)
    m, n = (3, 65536 * 8 + 13) if name == "naive_col" else (65536 * 8 + 13, 3)
    a, b = factors(rng, m, n, 2)
    assert np.array_equal(gm.sgemm(a, b, variant=name, backend=backend), a @ b)


@pytest.mark.parametrize(("trans_a", "trans_b"), TURNS)
@pytest.mark.parametrize("variant", SGEMM, ids=str)
def test_rows_beyond_32_bits(variant, trans_a, trans_b, backend, rng):
    """Of one large array at a time, for most of which no memory is ever used."""
    here(variant, backend)
    pitch = 2**29 + 8
    told = {"trans_a": trans_a, "trans_b": trans_b, "beta": 1.0}
    arrays = (*factors(rng, 5, 6, 5, trans_a, trans_b), factors(rng, 5, 1, 6)[0])
    for large in range(3):
        views = [gm.to_device(x, backend=backend) for x in arrays]
        x = arrays[large]
        whole = gm.DeviceArray((len(x), pitch), "f4", backend=backend)
        for i in range(len(x)):
            gm.copy(views[large][i], out=whole[i, : x.shape[1]])
        views[large] = whole[:, : x.shape[1]]
        check(variant(*views, **told).to_host(), *arrays, **told)


@pytest.mark.gpu
@pytest.mark.parametrize("variant", SGEMM, ids=str)
@pytest.mark.parametrize("shape", [(46400, 46400, 3), (2**31 + 40, 1, 2), (3, 2**30, 1)], ids=str)
def test_results_beyond_32_bits(variant, shape, rng):
    here(variant, "cuda")
    m, n, k = shape
    a, b = (gm.DeviceArray(s, "f4", backend="cuda") for s in ((m, k), (k, n)))
    small = rng.integers(-8, 9, 2**20 - 3).astype("f4")
    there = gm.to_device(small, backend="cuda")
    for x in (a, b):
        flat = x.reshape(x.size)
        for first in range(0, x.size, small.size):
            part = flat[first : first + small.size]
            gm.copy(there[: part.size], out=part)
    out = gm.DeviceArray((m, n), "f4", backend="cuda")
    out.fill_bytes(0xA5)
    if variant.name in ("warp_tile_tma", "tf32x3") and m > 2**31 - 1:
        with pytest.raises(ValueError, match=rf"{variant.name} takes sides of up to 2147483647"):
            variant(a, b, out=out)
        return
    variant(a, b, out=out)
    rows = {0, m - 1, m // 2, *rng.integers(0, m, 20).tolist()}
    whole_b = b.to_host() if b.size < 2**28 else None
    for r in sorted(rows):
        for first in {0, max(0, n - 10**6), n // 2}:
            columns = slice(first, min(n, first + 10**6))
            of_b = b[:, columns] if whole_b is None else whole_b[:, columns]
            of_b = of_b if whole_b is not None else gm.copy(of_b).to_host()
            wanted = a[r : r + 1].to_host() @ of_b
            assert np.array_equal(out[r : r + 1, columns].to_host(), wanted)


# ---- oracle, benchmark, accuracy ---------------------------------------------------------------


def test_the_oracle_sees_a_wrong_element(rng):
    a, b = (rng.standard_normal((20, 20)).astype("f4") for _ in range(2))
    right = (a.astype("f8") @ b).astype("f4")
    check(right, a, b)
    for place, value in [((3, 4), right[3, 4] + np.float32(1e-3)), ((0, 0), np.nan)]:
        wrong = right.copy()
        wrong[place] = value
        with pytest.raises(AssertionError, match=rf"index \({place[0]}, {place[1]}\)"):
            check(wrong, a, b)
    a[2, 2] = np.inf
    for value in (-np.inf, 0, np.nan):
        wrong = oracle.expected("sgemm", a, b)
        assert np.isinf(wrong[2]).all()
        wrong[2, 7] = -wrong[2, 7] if value == -np.inf else value
        with pytest.raises(AssertionError, match=r"index \(2, 7\)"):
            check(wrong, a, b)


def test_the_bound_is_narrow(rng):
    """A kernel that loses one term of a sum, or rounds as TF32 does, is found out."""
    a, b = (rng.uniform(0.5, 1, (64, 64)).astype("f4") for _ in range(2))
    with pytest.raises(AssertionError):
        check(a[:, 1:] @ b[1:], a, b)
    coarse = (a.view("u4") & np.uint32(0xFFFFE000)).view("f4")
    with pytest.raises(AssertionError):
        check(coarse @ b, a, b)


def test_sizes_are_three_sides():
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


def test_peers_multiply_too():
    for library in peers.names():
        reason = peers.reason(library, "sgemm")
        assert reason is None or "not installed" in reason
        assert "sgemm with beta" in peers.reason(library, "sgemm", ["beta"])
    told = {"shapes": [(8, 8, 8)], "with_peers": ["torch"], "backend": "sim"}
    result = gm.bench("sgemm", ["naive"], **told, trans_a=True)
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


def test_accuracy_sees_a_kernel_that_rounds(monkeypatch):
    """TF32 has 10 bits instead of 23: its errors are hundreds of times as large."""

    def coarse(a, b, **_):
        a, b = ((x.to_host().view("u4") & np.uint32(0xFFFFE000)).view("f4") for x in (a, b))
        return gm.to_device(a @ b, backend="sim")

    def worst():
        records = accuracy_module.accuracy(["naive"], [64], 20, backend="sim")
        return [record["error"] for record in records]

    plain = worst()
    monkeypatch.setattr(accuracy_module, "matmul", coarse)
    assert min(worst()) > 50 * max(plain)


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
