"""DeviceArray.astype, against NumPy's: every pair of dtypes over awkward numbers, every layout."""

import sys
import warnings

import numpy as np
import pytest
from gpu_libraries import Cupy, Torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpumem as gm
from gpumem import _core

DTYPES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()
LIMITS = [x for bits in (8, 16, 32, 64) for x in (2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 2))]
DRAWN = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def reals(dtype):
    """Whole and broken numbers, limits, ties of halves, subnormal numbers, infinities and NaN."""
    halves = np.arange(2**16, dtype=np.uint16).view("f2").astype("f8")
    finite = halves[np.isfinite(halves)]
    ties = (finite[:-1] + finite[1:])[::7] / 2
    whole = np.array([x + s for x in LIMITS for s in (-1, 0, 1)], "f8")
    odd = [0.0, -0.0, 0.5, 1.5, 2.5, -0.75, 1 / 3, np.pi, 65519.99, 65520, 5e-324, 1e-310, 1.5e-45]
    odd += [6e-8, 2.98e-8, 2.9802323e-08, 1e-7, 3.5e38, 1.7e308, np.inf, -np.inf, np.nan]
    near = [np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)]
    all_of_them = [halves, ties, *near, whole, -whole, whole * (1 + 2**-30), odd, np.negative(odd)]
    with np.errstate(all="ignore"):
        return np.concatenate(all_of_them).astype(dtype)


def numbers(name):
    """Awkward numbers of a dtype."""
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return np.array([True, False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near = [x + s for x in (0, *LIMITS) for s in (-2, -1, 0, 1, 2)]
        near += [-x for x in near] + [2**24 + 1, 2**25 + 2, 2**53 + 1, 2**54 + 2, 2**63 - 513]
        near += [2049, 2051, 4098, 65519, 65520, 65521, 2**62 + 2**38 + 1, 2**40 + 2**16 + 1]
        inside = [x for x in near if info.min <= x <= info.max]
        some = np.random.default_rng(1).integers(info.min, info.max, 500, dtype, endpoint=True)
        return np.concatenate([np.array(inside, dtype), some])
    if dtype.kind == "f":
        return reals(dtype)
    parts = reals("f4" if name == "c8" else "f8")[::5]
    made = np.empty(len(parts), dtype)
    made.real, made.imag = parts, parts[::-1]
    return made


def defined(a, dtype):
    """Leave out what C's conversion does not define: floats that an integer does not hold."""
    to = np.dtype(dtype)
    if a.dtype.kind not in "fc" or to.kind not in "iu":
        return a
    with np.errstate(all="ignore"):
        cut = np.trunc(a.real.astype("f8"))
        info = np.iinfo(to)
        return a[(cut >= float(info.min)) & (cut < float(info.max) + (to.itemsize < 8))]


def as_numpy(a, *args, **keywords):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return a.astype(*args, **keywords)


def quiet(there, *args, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        return there.astype(*args, **keywords)


def same(got, wanted):
    """Equal to the bit, apart from which NaN a NaN is."""
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind in "fc":
        real = wanted.real.dtype
        got, wanted = (np.ascontiguousarray(x).view(real).ravel() for x in (got, wanted))
        assert np.array_equal(np.isnan(got), np.isnan(wanted))
        got, wanted = (x[~np.isnan(x)].view(f"u{real.itemsize}") for x in (got, wanted))
    wrong = np.flatnonzero(got != wanted)
    assert not wrong.size, (wrong[:5], got.flat[wrong[:5]], wanted.flat[wrong[:5]])


# ---- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("of", DTYPES)
def test_every_pair(of, to, backend):
    a = defined(numbers(of), to)
    there = gm.to_device(a, backend=backend)
    got = quiet(there, to)
    assert isinstance(got, gm.DeviceArray) and got.pointer != there.pointer
    same(got.to_host(), as_numpy(a, to))
    assert there.to_host().tobytes() == a.tobytes()


def test_python_types_and_names(backend):
    there = gm.to_device(np.array([0, 1.5, -2]), backend=backend)
    for dtype in (float, int, bool, complex, "float32", np.int16, np.dtype("u1"), "f2"):
        same(there.astype(dtype).to_host(), there.to_host().astype(dtype))


def test_all_halves_and_back(backend):
    halves = np.arange(2**16, dtype=np.uint16).view("f2")
    there = gm.to_device(halves, backend=backend)
    for wide in ("f4", "f8", "c8"):
        same(there.astype(wide).to_host(), halves.astype(wide))
        same(quiet(there.astype(wide), "f2").to_host(), halves)


def test_integers_wrap(backend):
    a = np.array([-1, 255, 256, 300, -129, 2**31, -(2**63)])
    there = gm.to_device(a, backend=backend)
    for dtype in ("i1", "u1", "i2", "u4", "u8"):
        same(there.astype(dtype).to_host(), a.astype(dtype))


def test_floats_wrap(backend):
    """What fits into 64 bits, in fewer: as an integer would. NumPy does not define it."""
    a = np.array(
        [-1, -129, 255, 256, 300.75, 65535, 65536, 2.0**31, -(2.0**31), 2.0**40, -(2.0**62)]
    )
    for of in ("f2", "f4", "f8"):
        some = a[np.abs(a) < 60000].astype(of) if of == "f2" else a.astype(of)
        there = gm.to_device(some, backend=backend)
        for to in ("i1", "u1", "i2", "u2", "i4", "u4", "i8"):
            same(there.astype(to).to_host(), some.astype("i8").astype(to))


# ---- layouts -----------------------------------------------------------------------------------

VIEWS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, :, ::-2],
    "inner": lambda a: a[1:, 2:4, 1:3],
    "element": lambda a: a[1, 2, 3],
    "none": lambda a: a[:, 3:3],
    "ones": lambda a: a[:1, None, :, :1],
    "permuted-part": lambda a: a.T[::2, 1:],
}


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("to", ["f4", "i2", "f8"])  # f8: its own
def test_layouts(to, view, order, backend):
    a = np.arange(3 * 4 * 5, dtype="f8").reshape(3, 4, 5) - 7.5
    view = VIEWS[view]
    got = view(gm.to_device(a, backend=backend)).astype(to, order=order)
    wanted = view(a).astype(to, order=order)
    same(got.to_host(), wanted)
    for n, mine, numpys in zip(wanted.shape, got.strides, wanted.strides, strict=True):
        assert n <= 1 or wanted.size == 0 or mine == numpys
    for name in ("c_contiguous", "f_contiguous"):
        assert getattr(got.flags, name) == getattr(wanted.flags, name)
    assert got.writeable


@DRAWN
@given(data=st.data())
def test_any_layout(data, backend, rng):
    extents = st.sampled_from([0, 1, 2, 3, 5, 7, 8, 31, 33, 101])
    shape = data.draw(st.lists(extents, max_size=5))
    while np.prod(shape, dtype=int) > 2**13:
        shape[int(np.argmax(shape))] = 2
    of, to = (data.draw(st.sampled_from(["u1", "i2", "f4", "f8", "c16"])) for _ in range(2))
    offset = data.draw(st.sampled_from([0, 1, 2, 3, 4, 8]))
    size = int(np.prod(shape, dtype=int)) * np.dtype(of).itemsize
    values = rng.integers(0, 100, int(np.prod(shape, dtype=int))).astype(of)
    memory = np.zeros(size + offset, "u1")
    memory[offset:] = values.view("u1").reshape(-1)
    there = gm.to_device(memory, backend=backend)
    cuts = tuple(
        data.draw(st.sampled_from([np.s_[:], np.s_[::-1], np.s_[::2], np.s_[1:]])) for _ in shape
    )
    turned = data.draw(st.booleans())
    a, there = (m[offset:].view(of).reshape(shape)[(*cuts, ...)] for m in (memory, there))
    a, there = (x.T if turned else x for x in (a, there))
    same(quiet(there, to).to_host(), as_numpy(a, to, order="C"))


@pytest.mark.parametrize("cut", [np.s_[:], np.s_[::-1, 1:], np.s_[:, ::3], np.s_[1:, ::-2]])
@pytest.mark.parametrize(("of", "to"), [("f8", "f4"), ("u1", "f8"), ("f4", "i4"), ("c16", "c8")])
def test_large_transposed_arrays(of, to, cut, backend, rng):
    """Converted in two steps, of which the first keeps the order."""
    n, wide = 1501, np.dtype(of).itemsize + np.dtype(to).itemsize
    a = rng.integers(0, 100, (n, 3 * (8 << 20) // (n * wide) + 2)).astype(of)
    there = gm.to_device(a, backend=backend)
    poisoned(backend, 1 << 24)
    for order in "CFAK":
        got = there[cut].T.astype(to, order=order)
        wanted = a[cut].T.astype(to, order=order)
        same(got.to_host(), wanted)
        assert got.strides == wanted.strides


# ---- numbers side by side ----------------------------------------------------------------------


def vector(of, to):
    """How many numbers a vector has: 16 bytes of the wider dtype."""
    return 16 // max(np.dtype(of).itemsize, np.dtype(to).itemsize)


def tile(of, to):
    """How many numbers a block converts."""
    count = vector(of, to)
    return 256 * count * (2 if count * np.dtype(of).itemsize == 16 else 4)


def poisoned(backend, count=1 << 16):
    """Leave bytes in the pool's memory that no conversion makes."""
    blocks = [gm.to_device(np.full(count >> k, 0xA5, "u1"), backend=backend) for k in range(12)]
    del blocks


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("of", DTYPES)
def test_every_length_and_offset(of, to, backend, rng):
    """Around the edges of vectors and tiles, from every place in 16 bytes on."""
    n, whole = vector(of, to), tile(of, to)
    some = defined(numbers(of), to)
    a = some[rng.integers(0, len(some), 2 * whole + 64)]
    there = gm.to_device(a, backend=backend)
    wanted = as_numpy(a, to)
    lengths = sorted({0, 1, 2, 3, n - 1, n, n + 1, 2 * n + 1, 3 * n - 1, 3 * n, 4 * n + 3, 37})
    lengths += [whole - 1, whole, whole + 1, 2 * whole + 31]
    poisoned(backend)
    for offset in (0, 1, 3, 16 // a.itemsize - 1):
        for length in lengths:
            part = np.s_[offset : offset + length]
            same(quiet(there[part], to).to_host(), wanted[part])


@pytest.mark.parametrize("of", DTYPES)
def test_nothing_beside_the_array_is_read(of):
    """Host memory in place, which begins and ends anywhere: its bounds are the array's."""
    a = np.arange(600).astype(of)
    for to in DTYPES:
        for part in (a[:100], a[1:101], a[1:2], a[3:20], a[5:-7]):
            there = gm.from_dlpack(part)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                _core.astype_traffic(there, to)
            same(quiet(there, to).to_host(), as_numpy(part, to))


@pytest.mark.parametrize("to", ["u1", "f4", "c16"])
def test_far_apart(to, backend, rng):
    """Numbers are further apart than 31 bits count bytes; most of the memory is unused."""
    rows, far = 6, 450_000_000
    (device, *_) = gm.info()["backends"][backend]["devices"]
    if device["memory_bytes"] < 2 * rows * far:
        pytest.skip("the device has too little memory")
    whole = gm.DeviceArray(rows * far, "u1", backend=backend)
    there = whole.reshape(rows, far)[:, :1700].view("f4")
    a = rng.integers(0, 200, there.shape).astype("f4")
    gm.copy(gm.to_device(a, backend=backend), out=there)
    for part in (np.s_[:], np.s_[::-1, ::3], np.s_[1:2, 1:]):
        same(there[part].astype(to).to_host(), a[part].astype(to))


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.exhaustive
@pytest.mark.parametrize("offset", [0, 1])
def test_more_elements_than_an_int_counts(offset, rng):
    """Each byte says where it was, modulo a prime."""
    period, size = 2**20 - 3, 2**31 + 2**22 + 5
    row = rng.integers(0, 256, period, dtype=np.uint8)
    there = gm.to_device(row, backend="cuda")
    a = gm.DeviceArray(offset + size, "u1", backend="cuda")[offset:]
    for first in range(0, size, period):
        part = a[first : first + period]
        gm.copy(there[: part.size], out=part)
    got = a.astype("f2")
    for start in (0, 2**31 - 5000, size - 10_000, *map(int, rng.integers(0, size - 10_000, 40))):
        wanted = row[np.arange(start, start + 10_000) % period]
        same(got[start : start + 10_000].to_host(), wanted.astype("f2"))


def loads_and_stores(there, to):
    """Requests and the bits of an access, of loads and of stores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        sites = _core.astype_traffic(there, to)
    of_kind = {kind: [site for site in sites if site["kind"] == kind] for kind in ("load", "store")}
    return {
        kind: (sum(site["requests"] for site in mine), {site["width"] for site in mine})
        for kind, mine in of_kind.items()
    }


@pytest.mark.parametrize("of", DTYPES)
def test_vectors(of):
    """Numbers that are side by side move in vectors, the wider ones in 16 bytes; an array that is
    not aligned takes one load more for each. Others move one by one."""
    for to in DTYPES:
        if of == to:
            continue
        n, warps = vector(of, to), 8
        there = gm.to_device(np.zeros(32 * warps * n, of), backend="sim")
        bits = {"load": 8 * n * there.itemsize, "store": 8 * n * np.dtype(to).itemsize}
        counts = loads_and_stores(there, to)
        assert counts == {kind: (warps, {width}) for kind, width in bits.items()}
        view = gm.to_device(np.zeros(64 * warps * n, of), backend="sim")[::2]
        parts = 2 if there.dtype.kind == "c" else 1
        single = (warps * n * parts, {8 * there.itemsize // parts})
        assert loads_and_stores(view, to)["load"] == single
        if n > 1:
            longer = gm.to_device(np.zeros(32 * warps * n + 2 * n + 1, of), backend="sim")[1:]
            loads, widths = loads_and_stores(longer, to)["load"]
            assert 2 * warps < loads <= 2 * warps + 6
            assert bits["load"] in widths


def test_under_observation(rng):
    """No race and no stray access, and accesses side by side, for each pair of dtypes."""
    for of in DTYPES:
        there = gm.to_device(np.arange(2 * 33 * 64).reshape(66, 64).astype(of), backend="sim")
        for to in DTYPES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                sites = _core.astype_traffic(there, to)
                for view in (there[1::2, ::-3], there.T[:7], there.reshape(-1)[1:-1]):
                    _core.astype_traffic(view, to)
            if of == to:
                continue
            for kind, dtype in (("load", of), ("store", to)):
                mine = [site for site in sites if site["kind"] == kind]
                touched = sum(32 * site["sectors"] for site in mine)
                assert touched == there.size * np.dtype(dtype).itemsize


# ---- copies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "V3", "S5", "M8[s]", [("a", "i2"), ("b", "f8")]], ids=str)
def test_its_own_dtype(dtype, backend):
    """A copy, unless copy=False and the order is there already."""
    a = np.zeros((2, 6), dtype)
    a.view("u1").reshape(-1)[:] = np.arange(a.nbytes, dtype="u1")
    there = gm.to_device(a, backend=backend)
    copied = there.astype(a.dtype)
    assert copied is not there and copied.pointer != there.pointer
    assert copied.to_host().tobytes() == a.tobytes()
    assert there.astype(a.dtype, copy=False) is there
    for view, order, itself in [
        (there, "K", True),
        (there, "A", True),
        (there, "F", False),
        (there.T, "F", True),
        (there.T, "C", False),
        (there[:, ::2], "K", True),
        (there[:, ::2], "A", False),
    ]:
        got = view.astype(a.dtype, order=order, copy=False)
        assert (got is view) == itself
        assert got.to_host().tobytes() == view.to_host().tobytes()
    assert there.astype("u1" if dtype == "f4" else a.dtype, copy=False) is not None


def test_on_a_stream(backend):
    stream = gm.Stream(backend=backend)
    a = gm.to_device(np.arange(10_000, dtype="i4"), backend=backend)
    for _ in range(10):
        halves = gm.copy(a, stream=stream).astype("f8", stream=stream)
        with stream:
            back = halves.astype("i4")
        assert back.to_host().tobytes() == a.to_host().tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("library", [Torch, Cupy])
@pytest.mark.parametrize("to", ["i4", "f2", "f8", "c8", "?"])
def test_another_librarys_array(to, library):
    """A view of it, while the library's nonblocking stream is behind."""
    side = library()
    a = np.arange(40 * 60, dtype="f4").reshape(40, 60) % 100
    stream = side.stream()
    with side.on(stream):
        side.spin()
        there = gm.from_dlpack(side.array(a)[:, ::2])
        got = there.T.astype(to, stream=side.handle(stream))
        also = there.astype(to)
    same(got.to_host(), as_numpy(a[:, ::2].T, to))
    same(also.to_host(), as_numpy(a[:, ::2], to))


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("of", ["?", "i4", "f4", "c8"])
def test_casting(of, casting, backend):
    a = np.ones(3, of)
    there = gm.to_device(a, backend=backend)
    for to in DTYPES:
        if np.can_cast(a.dtype, to, casting):
            same(quiet(there, to, casting=casting).to_host(), as_numpy(a, to))
        else:
            words = rf"Cannot cast array data from .* according to the rule '{casting}'"
            with pytest.raises(TypeError, match=words):
                there.astype(to, casting=casting)


@pytest.mark.parametrize(
    ("of", "arguments", "error", "words"),
    [
        ("f4", {"dtype": "M8[s]"}, TypeError, r"on the device, not dtype\('<M8\[s\]'\): to_host"),
        ("M8[s]", {"dtype": "i8"}, TypeError, r"on the device, not dtype\('<M8\[s\]'\): to_host"),
        ("V4", {"dtype": "f4"}, TypeError, "converts bool, integers"),
        ("f4", {"dtype": "S4"}, TypeError, "not dtype"),
        ("f4", {"dtype": "O"}, TypeError, "plain bytes"),
        ("f4", {"dtype": ">f4" if sys.byteorder == "little" else "<f4"}, TypeError, "byte order"),
        ("f4", {"dtype": "f4", "casting": "sae"}, ValueError, "casting must be one of"),
        ("f4", {"dtype": "f4", "order": "X"}, ValueError, "order must be one of"),
        ("f4", {"dtype": "no such dtype"}, TypeError, "not understood|dtype"),
        ("f4", {}, TypeError, "dtype"),
    ],
    ids=str,
)
def test_refused(of, arguments, error, words, backend):
    there = gm.to_device(np.zeros(3, of), backend=backend)
    with pytest.raises(error, match=words):
        there.astype(**arguments)


def test_longdouble_stays_on_the_host(backend):
    if np.dtype("g") == np.dtype("f8"):
        pytest.skip("a long double is a double here")
    with pytest.raises(TypeError, match=r"not dtype.*to_host"):
        gm.to_device(np.zeros(3), backend=backend).astype("g")


def test_imaginary_parts_are_dropped_with_a_warning(backend):
    there = gm.to_device(np.array([1 + 2j, 2j]), backend=backend)
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert there.astype("f4").tolist() == [1, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert there.astype(bool).tolist() == [True, True]
        assert there.astype("c8").tolist() == [1 + 2j, 2j]
        with pytest.raises(np.exceptions.ComplexWarning):
            there.astype("i4")


def test_nothing_is_left_behind(backend):
    there = gm.to_device(np.arange(24.0).reshape(4, 6), backend=backend)

    def everything():
        there.astype("f4")
        there.T.astype("i2", order="K")
        there.astype("f8", copy=False)
        for misuse in ({"dtype": "S4"}, {"dtype": "i4", "casting": "safe"}, {"dtype": "M8[s]"}):
            with pytest.raises(TypeError):
                there.astype(**misuse)
        return gm.pool_info(backend=backend)["device"]["used"]

    everything()
    watched = [there, there.dtype, np.dtype("f4"), np.dtype("i2")]
    counts, used = [sys.getrefcount(x) for x in watched], everything()
    assert [everything() for _ in range(30)] == [used] * 30
    assert [sys.getrefcount(x) for x in watched] == counts
