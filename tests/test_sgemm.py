"""sgemm: every variant at tile boundaries, with and without transposition, under BLAS rules."""

import ctypes
import heapq
import itertools
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
from sgemm_cases import (
    EDGES,
    NAMES,
    SGEMM,
    TRANSPOSITIONS,
    available,
    check,
    factors,
    transpose_if,
)
from support import exhaustive, here

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle, table

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


MARGIN = 64  # guard elements before and after each array


FEWER_EXAMPLES = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


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


# ---- every size ---------------------------------------------------------------------


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


# ---- layouts ------------------------------------------------------------------------


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


# ---- automatic choice ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "chosen"),
    [
        ((1, 1, 1), "naive"),
        ((1, 5000, 100), "naive"),
        ((5000, 8, 100), "naive"),
        ((64, 64, 100), "vec4"),
        ((2048, 2048, 1), "hide_global_latency"),
        ((2048, 2048, 64), "stream_k"),
        ((1300, 1300, 64), "stream_k"),
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


# ---- split-K: the sum over k is divided into shares ---------------------------------


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
    """What sgemm_best_shares of shares.h finds, compiled on its own."""
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
            return sgemm_best_shares(pace, multiprocessors, tiles, stages, bytes).stages;
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
        shares = -(-stages // per_share)
        assert shares <= 32 or tiles * shares <= pace.blocks * 132  # more only for one round
        if stages == 1 or (tiles > 16 * 132 and stages <= 65):
            assert per_share == stages  # one share: the device is full without a split
    assert stages_per_share(pace, 132, 1, 4096, 128 * 128 * 4) <= 4096 / 16
    assert stages_per_share(pace, 132, 1, 31250, 100 * 100 * 4) <= 31250 / 131  # a full device


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
    for m, n, k in ((129, 130, 131), (70, 1, 133), (5, 131, 260), (64, 64, 1000), (5, 6, 4999)):
        a, b = rng.standard_normal((m, k), "f4"), rng.standard_normal((k, n), "f4")
        t = gm.traffic("sgemm", a, b, variant="warp_tile_tma")
        shares = t.grid[1]
        assert shares > 1
        bytes_requested = {"load": 0, "store": 0}
        for site in t.sites:
            if site["space"] == "global" and site["file"].endswith(
                ("/add_shares.h", "/sgemm.h", "/warp_store.h")
            ):
                bytes_requested[site["kind"]] += site["bytes"]
        assert bytes_requested == {"load": 4 * m * n * shares, "store": 4 * m * n * (shares + 1)}
