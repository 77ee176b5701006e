"""scatter_add: every variant, dtype and index against NumPy; layouts, counts and refusals."""

import time

import numpy as np
import pytest
from access import far_indices, guarded, indices, led_to
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import here

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle
from gpumem.families.index_modes import mode_parameters
from gpumem.families.table import find

LADDER = gm.variants("scatter_add")
NAMES = ["auto", *(v.name for v in LADDER)]
DTYPES = ["i4", "u4", "f4", "i8", "u8", "f8"]
# Lengths of out, and numbers of additions: around a warp and a block, and past several blocks of
# `shared`, which make 16384 each.
SIZES = [(1, 0), (0, 0), (1, 1), (1, 33), (2, 31), (33, 32), (1000, 257), (7, 4099), (5000, 40000)]
ROOM = 48 * 1024  # bytes of out that `shared` takes
DRAWN = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def numbers(rng, n, dtype):
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(n).astype(dtype)
    return rng.integers(0, 2**63, n, dtype=np.uint64).astype(dtype)


def check(got, out, index, a):
    oracle.check("scatter_add", got, out, index, a)


def atomics(variant, out, index, a):
    """The lanes that make atomic additions in global memory."""
    counted = _core.traffic("scatter_add", variant, (out, index, a), mode_parameters())
    sites = [s for s in counted["sites"] if (s["space"], s["kind"]) == ("global", "atomic")]
    return sum(s["lanes"] for s in sites)


def test_variants_in_order():
    assert [(v.name, v.follows) for v in LADDER] == [
        ("returning", None),
        ("reduction", "returning"),
        ("system", "reduction"),
        ("warp_aggregated", "reduction"),
        ("runs", "reduction"),
        ("shared", "reduction"),
        ("checked", None),
    ]
    assert all(v.in_place for v in LADDER)


# ---- against NumPy ----------------------------------------------------------------------------


@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_every_size(variant, dtype, index_dtype, backend, rng):
    here(variant, backend)
    for length, count in SIZES:
        before, a = numbers(rng, length, dtype), numbers(rng, count, dtype)
        index = indices(rng, length, (count,), index_dtype)
        out = gm.to_device(before, backend=backend)
        there = gm.to_device(index, backend=backend), gm.to_device(a, backend=backend)
        assert variant(out, *there) is out
        check(out.to_host(), before, index, a)
        assert there[0].to_host().tobytes() == index.tobytes()
        assert there[1].to_host().tobytes() == a.tobytes()


PATTERNS = {
    "one address": lambda rng, n, k: np.full(k, n // 2),
    "one per warp": lambda rng, n, k: np.arange(k) // 32 % n,
    "halves of warps": lambda rng, n, k: np.arange(k) % 32 // 16,
    "every other lane": lambda rng, n, k: np.arange(k) % 2,
    "all but one lane": lambda rng, n, k: (np.arange(k) % 32 == 17) + 3,
    "in order": lambda rng, n, k: np.arange(k) % n,
    "backwards": lambda rng, n, k: -1 - np.arange(k) % n,
    "few": lambda rng, n, k: rng.integers(-3, 3, k),
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", NAMES)
def test_patterns_of_repeated_indices(name, pattern, backend, rng):
    for dtype in ("u4", "i8", "f4"):
        for count in (31, 32, 1000, 20_001):
            index = PATTERNS[pattern](rng, 300, count)
            out, a = numbers(rng, 300, dtype), numbers(rng, count, dtype)
            got = gm.scatter_add(out.copy(), index, a, variant=name, backend=backend)
            check(got, out, index, a)


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("name", NAMES)
def test_integers_wrap(name, dtype, backend):
    most, least = np.iinfo(dtype).max, np.iinfo(dtype).min
    out = np.array([most, least, 5], dtype)
    index = np.repeat([0, 1, -1], 7)
    a = np.array([1] * 7 + [most] * 7 + [most] * 7, dtype)
    wanted = out.copy()
    np.add.at(wanted, index, a)
    got = gm.scatter_add(out, index, a, variant=name, backend=backend)
    assert got is out and got.tolist() == wanted.tolist()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", NAMES)
def test_nan_and_infinities_stay_where_they_are_added(name, dtype, backend):
    out = np.array([1, 2, 3, np.inf, np.nan, 6], dtype)
    index = np.repeat([1, 2, 3, 4, 5], 40)
    a = np.ones(200, dtype)
    a[[3, 50]] = np.nan, -np.inf
    a[130] = -np.inf  # added to NaN
    a[100] = -np.inf  # added to infinity
    got = gm.scatter_add(out, index, a, variant=name, backend=backend)
    assert np.array_equal(got, [1, np.nan, -np.inf, np.nan, np.nan, 46], equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_sums_that_cancel_leave_the_old_value(name, backend, rng):
    """Sums of a block, of a warp or of lanes that are 0 add nothing."""
    out = rng.integers(-9, 9, 64).astype("f4")
    index = rng.integers(0, 64, 3000)
    a = rng.integers(1, 9, 3000).astype("f4")
    both = np.concatenate([index, index]), np.concatenate([a, -a])
    got = gm.scatter_add(out.copy(), *both, variant=name, backend=backend)
    assert np.array_equal(got, out)


@given(data=st.data(), length=st.integers(1, 20_000), count=st.integers(0, 20_000))
@DRAWN
def test_auto_with_any_sizes(backend, data, length, count):
    rng = np.random.default_rng(length + count)
    dtype = data.draw(st.sampled_from(DTYPES))
    index = indices(rng, data.draw(st.integers(1, length)), (count,), "i8")
    out, a = numbers(rng, length, dtype), numbers(rng, count, dtype)
    check(gm.scatter_add(out.copy(), index, a, backend=backend), out, index, a)


def test_auto_takes_each_of_its_choices():
    """Seen by what they add: shared once per block, warp_aggregated once per warp."""
    for dtype, length, count, added in [
        ("u4", 100, 2**16, 4 * 100),  # 4 blocks, which add all of theirs
        ("u4", 1, 2**16, 4),
        ("u4", 16, 2**13, 2**12),  # not enough for a block: 16 of 32 lanes
        ("u4", ROOM // 4, 2**14, ROOM // 4),
        ("u4", ROOM // 4, 2**14 + 1, 2**14 + 1),  # two blocks: fewer additions than sums
        ("f4", 100, 2**16, 4 * 100),
        ("f4", 3, 2**16, 3 * 2**11),  # loops would fail too often
        ("f4", 4, 2**16, 4 * 4),
        ("f4", 2**14, 2**15, 2**15),
        ("u8", 1, 2**16, 2**11),
    ]:
        out, index = np.ones(length, dtype), np.arange(count) % length
        assert atomics("auto", out, index, np.ones(count, dtype)) == added, (dtype, length)


def test_auto_adds_neighbours_once():
    """From 2**18 elements on; fewer have a thread each."""
    for count, added in ((2**18, 2**15), (2**18 - 8, 2**18 - 8)):
        index = np.arange(count) // 8
        assert atomics("auto", np.zeros(2**15, "f4"), index, np.ones(count, "f4")) == added


def test_auto_where_out_does_not_fit_in_shared_memory(backend, rng):
    """However much is added: at 2**21 additions each of 32 blocks would add enough."""
    out, a = numbers(rng, ROOM // 4 + 1, "i4"), numbers(rng, 2**21, "i4")
    index = indices(rng, len(out), a.shape, "i4")
    check(gm.scatter_add(out.copy(), index, a, backend=backend), out, index, a)


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize("variant", [v for v in LADDER if v.name != "shared"], ids=str)
def test_more_than_2_31_bytes(variant):
    """Of out, and of the index; a single address receives 2**31 additions and some."""
    n = 2**31 + 40
    out = gm.DeviceArray((n // 4,), "u4", backend="cuda")
    out.fill_bytes(0)
    places, values = [0, -1, 2**29, n // 4 - 1, 2**29], [1, 2, 4, 8, 16]
    index = gm.to_device(np.array(places, "i8"), backend="cuda")
    variant(out, index, gm.to_device(np.array(values, "u4"), backend="cuda"))
    assert [int(out[i].to_host()) for i in (0, 2**29, -1, 1)] == [1, 20, 10, 0]
    index, a = (gm.DeviceArray((n,), dtype, backend="cuda") for dtype in ("i4", "u4"))
    index.fill_bytes(0)
    a.fill_bytes(1)
    one = gm.to_device(np.array([3, 5], "u4"), backend="cuda")
    assert variant(one, index, a).to_host().tolist() == [(3 + n * 0x01010101) % 2**32, 5]


# ---- wrapped and clipped ----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["wrap", "clip"])
@pytest.mark.parametrize("name", NAMES)
def test_an_index_far_outside(name, mode, backend, rng):
    for n, dtype in [(1, "u4"), (2, "i8"), (5, "u4"), (97, "i8"), (1024, "f4")]:
        for index in far_indices(rng, n, 3027):
            before, a = numbers(rng, n, dtype), numbers(rng, len(index), dtype)
            out = guarded(rng, (n,), dtype, backend, values=before)
            there = [gm.to_device(x, backend=backend) for x in (index, a)]
            got = gm.scatter_add(out.array, *there, mode=mode, variant=name).to_host()
            check(got, before, led_to(index, n, mode), a)
            out.check("scatter_add", got)
            kept = before.copy()
            assert gm.scatter_add(kept, index, a, mode=mode, variant=name, backend=backend) is kept
            check(kept, before, led_to(index, n, mode), a)
            oracle.check("scatter_add", kept, before, index, a, mode=mode)


def test_modes_with_any_layout(backend, rng):
    before, a, index = np.zeros(90), rng.integers(0, 99, (6, 10)), rng.integers(-99, 99, (10, 6)).T
    for mode in ("wrap", "clip"):
        out, *rest = (gm.to_device(x, backend=backend) for x in (before, index, a.astype("f8")))
        gm.scatter_add(out[::-3], *rest, mode=mode)
        wanted = np.zeros(30)
        np.add.at(wanted, led_to(index.ravel(), 30, mode), a.ravel())
        assert np.array_equal(out.to_host()[::-3], wanted)
        assert out.to_host().sum() == a.sum()


def test_modes_of_nothing(backend):
    empty = np.empty(0, "f4")
    for mode in ("wrap", "clip"):
        nothing = np.empty((3, 0), "i8"), np.empty((3, 0), "f4")
        assert gm.scatter_add(empty, *nothing, mode=mode, backend=backend) is empty
        with pytest.raises(IndexError, match="out has no elements"):
            gm.scatter_add(empty, [0], np.ones(1, "f4"), mode=mode, backend=backend)
    for mode in ("Wrap", "", None, 1, ["wrap"]):
        with pytest.raises(ValueError, match=r'mode is .*, expected "raise", "wrap" or "clip"'):
            gm.scatter_add(np.zeros(3), [7], [1.0], mode=mode, backend=backend)


@pytest.mark.parametrize("name", NAMES[1:])
def test_additions_of_a_wrapped_index(name, rng):
    """The same accesses as with an index that needs no wrapping, and none to check it."""
    index = rng.integers(-(2**40), 2**40, 3000)
    arrays = np.zeros(500, "f4"), np.ones(3000, "f4")
    far = gm.traffic("scatter_add", arrays[0], index, arrays[1], mode="wrap", variant=name)
    near = gm.traffic("scatter_add", arrays[0], index % 500, arrays[1], variant=name)
    for one, other in ((far.loads, near.loads), (far.atomics, near.atomics)):
        assert (one.requests, one.sectors) == (other.requests, other.sectors)


# ---- in place, layouts and addresses ----------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_added_in_place(name, backend):
    out = np.zeros(6, "i4")
    got = gm.scatter_add(out, [1, 1, -1], np.array([2, 3, 7], "i4"), variant=name, backend=backend)
    assert got is out and out.tolist() == [0, 5, 0, 0, 0, 7]
    there = gm.to_device(out, backend=backend)
    part = there[1:4]
    given = [gm.to_device(np.array(x, "i4"), backend=backend) for x in ([0, 2, 0], [1, 10, 100])]
    assert gm.scatter_add(part, *given, variant=name) is part
    assert there.to_host().tolist() == [0, 106, 0, 10, 0, 7]


@pytest.mark.parametrize("dtype", ["f4", "i8"])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_around_out_changes(name, dtype, backend, rng):
    itemsize = np.dtype(dtype).itemsize
    for length, shift in [(1, 0), (33, itemsize), (700, 3 * itemsize)]:
        before, a = numbers(rng, length, dtype), np.ones(5000, dtype)
        out = guarded(rng, (length,), dtype, backend, shift, values=before)
        index = indices(rng, length, a.shape, "i4")
        there = [gm.to_device(x, backend=backend) for x in (index, a)]
        got = gm.scatter_add(out.array, *there, variant=name).to_host()
        check(got, before, index, a)
        out.check("scatter_add", got)


LAYOUTS = {
    "contiguous": lambda v: v[: v.size // 3],
    "backwards": lambda v: v[: v.size // 3][::-1],
    "thin": lambda v: v[1::3],
    "thin backwards": lambda v: v[::-3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f4", "u8"])
def test_any_layout(dtype, layout, backend, rng):
    view = LAYOUTS[layout]
    before, a = numbers(rng, 300, dtype), numbers(rng, 3000, dtype)
    index = indices(rng, 100, (3000,), "i8")
    wanted = before.copy()
    view(wanted)[...] = oracle.expected("scatter_add", view(before), view(index), view(a))
    for place in (np.copy, lambda x: gm.to_device(x, backend=backend)):
        out, *rest = (place(x) for x in (before, index, a))
        into = view(out)
        assert gm.scatter_add(into, *map(view, rest), backend=backend) is into
        got = out if isinstance(out, np.ndarray) else out.to_host()
        check(view(got), view(before), view(index), view(a))
        others = np.ones(300, bool)
        view(others)[...] = False
        assert np.array_equal(got[others], before[others])


def test_unaligned_elements(backend, rng):
    raw = rng.integers(0, 99, (3, 8 * 40 + 1), dtype="u1")
    there = gm.to_device(raw, backend=backend)
    out, a = (there[i][1:].view("i8") for i in (0, 1))
    index = there[2][1:].view("i8")
    index[...] = np.arange(40) % 7 - 3
    wanted = oracle.expected(
        "scatter_add", out.to_host(), np.arange(40) % 7 - 3, a.to_host()
    ).tobytes()
    assert gm.scatter_add(out, index, a) is out
    assert there[0].to_host().tobytes() == raw[0].tobytes()[:1] + wanted


def test_an_index_of_any_shape(backend, rng):
    for shape in [(), (1,), (3, 5, 7), (0, 4), (2, 0)]:
        index, a = indices(rng, 9, shape, "i8"), np.asarray(rng.integers(0, 99, shape))
        for order in ("C", "F"):
            given = [np.asarray(x, order=order) for x in (index, a)]
            got = gm.scatter_add(np.arange(9), *given, backend=backend)
            check(got, np.arange(9), index, a)
    t = np.arange(12).reshape(3, 4)
    there = [gm.to_device(x, backend=backend) for x in (np.zeros(12, int), t.T, t.T)]
    assert gm.scatter_add(*there).to_host().tolist() == list(range(12))


def test_lists(backend):
    out = np.zeros(3, int)
    assert gm.scatter_add(out, [2, 2], [1, 5], backend=backend) is out
    assert out.tolist() == [0, 0, 6]


def test_counting_traffic_leaves_the_callers_array_alone():
    out = np.arange(5.0)
    t = gm.traffic("scatter_add", out, np.array([1, 1]), np.ones(2))
    assert out.tolist() == [0, 1, 2, 3, 4]
    assert np.asarray(t.result).tolist() == [0, 3, 2, 3, 4]


# ---- traffic ----------------------------------------------------------------------------------


def test_a_warp_adds_once_per_index(rng):
    n = 2**13
    a = np.ones(n, "f4")
    for index in (
        np.full(n, 5),
        np.arange(n) % 4,
        np.arange(n) // 32,
        rng.integers(0, 20, n),
        rng.permutation(n),
    ):
        wanted = sum(len(np.unique(warp)) for warp in index.reshape(-1, 32))
        assert atomics("warp_aggregated", np.zeros(n, "f4"), index, a) == wanted
        for name in ("returning", "reduction", "system"):
            assert atomics(name, np.zeros(n, "f4"), index, a) == n


def runs(index):
    """The runs of equal indices of all warps, which do not go on from one to the next."""
    warps = [index[i : i + 32] for i in range(0, len(index), 32)]
    return sum(1 + np.count_nonzero(np.diff(warp)) for warp in warps)


@pytest.mark.parametrize("count", [1, 31, 33, 1023, 1025, 5000])
def test_neighbours_with_one_index_add_once(count, rng):
    """runs adds once for each; shared does where its additions are a loop."""
    a = np.ones(count, "f4")
    for index in (
        np.full(count, 5),
        np.arange(count) // 7,
        np.sort(rng.integers(0, 40, count)),
        rng.integers(0, 3, count),
        np.arange(count) % 2,
    ):
        wanted = runs(index)
        assert atomics("runs", np.zeros(1000, "f4"), index, a) == wanted
        for dtype, added in (("f4", wanted), ("f8", wanted), ("i8", wanted), ("i4", count)):
            arrays = np.zeros(1000, dtype), index, a.astype(dtype)
            t = gm.traffic("scatter_add", *arrays, variant="shared")
            sites = [s for s in t.sites if (s["space"], s["kind"]) == ("shared", "atomic")]
            assert sum(s["lanes"] for s in sites) == added


@pytest.mark.parametrize("name", ["runs", "shared"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_runs_of_any_length(dtype, name, backend, rng):
    for lengths in ([1, 2, 3, 5, 31, 32, 33, 64, 100], [40] * 9, [1] * 50, [3, 1] * 99):
        for mode in ("raise", "wrap", "clip"):
            places = rng.integers(-9, 9, len(lengths)) * (1 if mode == "raise" else 3)
            index, out = np.repeat(places, lengths), numbers(rng, 9, dtype)
            a = numbers(rng, len(index), dtype)
            led = {"raise": index, "wrap": index % 9, "clip": index.clip(0, 8)}[mode]
            given = out.copy()
            gm.scatter_add(given, index, a, variant=name, backend=backend, mode=mode)
            check(given, out, led, a)


def test_lanes_behind_the_end_add_nothing():
    out, index = np.zeros(50, "f4"), np.zeros(33, "i4")
    assert atomics("warp_aggregated", out, index, np.ones(33, "f4")) == 2


def test_blocks_add_what_was_added_to():
    """Elements of out that a block's share of the index does not name are left alone."""
    n = 2**16
    out, index = np.zeros(512, "i4"), np.arange(n) % 20
    assert atomics("shared", out, index, np.ones(n, "i4")) == 4 * 20
    t = gm.traffic("scatter_add", out, index, np.ones(n, "i4"), variant="shared")
    assert sum(s["lanes"] for s in t.sites if (s["space"], s["kind"]) == ("shared", "atomic")) == n


@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_nothing_is_launched_for_no_elements(variant):
    nothing = np.ones(9, "f4"), np.empty((2, 0), "i4"), np.empty((2, 0), "f4")
    assert gm.traffic("scatter_add", *nothing, variant=variant).threads == 0


def test_nothing_is_stored_and_the_inputs_are_read_once():
    for n in (1, 33, 5000):
        for name in NAMES[1:]:
            arrays = np.zeros(99), np.arange(n, dtype="i4") % 99, np.ones(n)
            t = gm.traffic("scatter_add", *arrays, variant=name)
            assert t.stores.requests == 0
            loads = [s for s in t.sites if (s["space"], s["kind"]) == ("global", "load")]
            assert sum(s["lanes"] * s["width"] // 8 for s in loads) == 12 * n


@pytest.mark.parametrize("variant", LADDER, ids=str)
def test_no_races(variant):
    for length, count in ((1, 1), (1, 33), (40, 20_000), (3000, 3000)):
        out, index = np.zeros(length, "f4"), np.arange(count) % length
        gm.traffic("scatter_add", out, index, np.ones(count, "f4"), variant=variant)


def test_updates_of_one_number_are_observed_in_linear_time():
    """The simulator keeps a few of the accesses that a later one may race with, not all."""

    def seconds(n):
        arguments = np.zeros(1, "f4"), np.zeros(n, "i8"), np.ones(n, "f4")
        times = []
        for _ in range(3):
            begin = time.process_time()
            gm.traffic("scatter_add", *arguments, variant="returning")
            times.append(time.process_time() - begin)
        return min(times)

    assert seconds(64_000) < 20 * seconds(8_000)  # a square would be 64


# ---- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_an_index_out_of_range(name, backend, rng):
    """Nothing is added, not even where the index is valid."""
    for dtype, bad in [("i4", 5), ("i4", -6), ("i8", 2**32), ("i8", -(2**63))]:
        for count, place in [(1, 0), (700, 699), (2048, 0), (2049, 2048), (3000, 1234)]:
            index = indices(rng, 5, (count,), dtype)
            index[place] = bad
            said = f"index {bad} is out of bounds for axis 0 with size 5 .element {place} of index"
            a = np.ones(count, "i4")
            out = guarded(rng, (5,), "i4", backend)
            there = [gm.to_device(x, backend=backend) for x in (index, a)]
            with pytest.raises(IndexError, match=said):
                gm.scatter_add(out.array, *there, variant=name)
            with pytest.raises(IndexError, match=said):
                gm.scatter_add(out.array[::-1], *there)
            out.untouched()
            kept = np.arange(5, dtype="i4")
            with pytest.raises(IndexError, match=said):
                gm.scatter_add(kept, index, a, variant=name, backend=backend)
            assert kept.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(IndexError, match="index 0 is out of bounds for axis 0 with size 0"):
        gm.scatter_add(np.zeros(0), [0], [1.0], variant=name, backend=backend)


BAD = {
    "other kind": (np.zeros(5, "i4"), [0, 1], np.ones(2, "u4"), TypeError, "a has dtype .*uint32"),
    "wider": (np.zeros(5, "f4"), [0, 1], np.ones(2), TypeError, "a has dtype .*expected that of"),
    "half": (np.zeros(5, "f2"), [0], np.ones(1, "f2"), TypeError, "out has dtype .*accepted is"),
    "real index": (np.zeros(5), [0.0], [1.0], TypeError, "index has dtype .*int32, int64"),
    "two dimensions": (np.zeros((5, 5)), [0], [1.0], ValueError, "out has 2 dimensions, expected"),
    "no dimension": (np.zeros(()), [0], [1.0], ValueError, "out has 0 dimensions, expected 1"),
    "fewer": (np.zeros(5), [0, 1], [1.0], ValueError, r"a has shape \(1,\), expected .*\(2,\)"),
    "a row": (np.zeros(5), [0, 1], [[1.0, 2.0]], ValueError, r"a has shape \(1, 2\), expected"),
    "a list": ([0.0] * 5, [0], [1.0], TypeError, "out must be"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_fit(case, backend):
    out, index, a, error, words = BAD[case]
    before = np.copy(out)
    with pytest.raises(error, match=words):
        gm.scatter_add(out, index, a, backend=backend)
    assert np.array_equal(out, before)
    if case != "a list":
        there = [gm.to_device(np.asarray(x), backend=backend) for x in (out, index, a)]
        with pytest.raises(error, match=words):
            gm.scatter_add(*there)
        assert np.array_equal(there[0].to_host(), before)


def test_what_cannot_be_written_to(backend):
    out = np.zeros(5)
    out.flags.writeable = False
    with pytest.raises(ValueError, match=r"out.*read-only"):
        gm.scatter_add(out, [0], [1.0], backend=backend)


def test_arrays_that_overlap(backend):
    base = gm.to_device(np.zeros(10, "i8"), backend=backend)
    for index, a, name in [(base[4:6], base[8:], "index"), (base[8:], base[4:6], "a")]:
        with pytest.raises(ValueError, match=f"out overlaps {name} in memory"):
            gm.scatter_add(base[:5], index, a)
    gm.scatter_add(base[:5], base[8:], base[8:])


def test_out_whose_elements_share_memory():
    memory = gm.empty(10, "f4", kind="mapped", backend="sim")
    memory[...] = 0
    for strides in (0, 2):
        view = np.lib.stride_tricks.as_strided(memory, (5,), (strides,))
        with pytest.raises(ValueError, match="elements of out share memory"):
            gm.scatter_add(
                _core.over(view, "sim"),
                gm.to_device(np.zeros(1, "i4"), backend="sim"),
                gm.to_device(np.ones(1, "f4"), backend="sim"),
            )
    assert not memory.any()


def test_shared_says_what_it_has_room_for(backend):
    variant = find("scatter_add", "shared")
    for dtype in ("u4", "f8"):
        room = ROOM // np.dtype(dtype).itemsize
        index, a = np.array([-1, 0]), np.ones(2, dtype)
        assert variant(np.zeros(room, dtype), index, a, backend=backend)[-1] == 1
        with pytest.raises(ValueError, match=r"variant shared has room for 49152 bytes, out has"):
            variant(np.zeros(room + 1, dtype), index, a, backend=backend)


@pytest.mark.parametrize("name", NAMES[1:])
def test_named_variants_take_packed_arrays(name, backend):
    there = [gm.to_device(x, backend=backend) for x in (np.zeros(8), np.zeros(4, int), np.ones(4))]
    for i, argument in enumerate(("out", "index", "a")):
        given = list(there)
        given[i] = given[i][::-1]
        with pytest.raises(ValueError, match=f"variant {name} needs {argument} C-contiguous"):
            gm.scatter_add(*given, variant=name)


# ---- the oracle -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_oracle_finds_a_lost_element(dtype):
    n = 5000
    index, a = np.arange(n) % 50, np.linspace(1, 2, n).astype(dtype)
    out = np.ones(50, dtype)
    check(oracle.expected("scatter_add", out, index, a), out, index, a)
    with pytest.raises(AssertionError, match="1 of 50 elements differ"):
        check(oracle.expected("scatter_add", out, index[1:], a[1:]), out, index, a)


def test_shapes_of_problems():
    out, index, a = oracle.arguments("scatter_add", (10, 99), "f4", seed=0)
    assert (out.shape, index.shape, a.shape) == ((10,), (99,), (99,))
    assert index.min() == 0 and index.max() == 9  # which peers take
    assert oracle.work("scatter_add", (10, 99), "f4")[0] == 99 * 12 + 2 * 10 * 4
    assert oracle.work("scatter_add", (99, 10), "f4")[0] == 10 * 12 + 2 * 10 * 4
    for shape in ((0, 5), (2, 3, 4)):
        with pytest.raises(ValueError, match="shape is"):
            oracle.arguments("scatter_add", shape, "f4")
