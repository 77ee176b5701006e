"""Inputs are whatever numpy.asarray takes, by every function alike; results go into arrays only."""

import array
import ctypes
import mmap

import numpy as np
import pytest
import small_calls
from dlpack import Bare

import gpumem as gm

FAMILIES = {family: small_calls.make(family) for family in gm.families()}
INPUTS = [
    (family, name)
    for family, call in FAMILIES.items()
    for name in call.arrays
    if not (family in small_calls.IN_PLACE and name == "out")
]
X = np.arange(6, dtype="f4").reshape(2, 3)


class WithArray:
    """An object with __array__ of today's protocol."""

    def __init__(self, a):
        self.a = a

    def __array__(self, dtype=None, copy=None):
        return np.array(self.a, dtype)


class Plain:
    """An object with __array__ as it was before NumPy 2."""

    def __init__(self, a):
        self.a = a

    def __array__(self):
        return self.a


class WithInterface:
    def __init__(self, a):
        self.a = a
        self.__array_interface__ = a.__array_interface__


def series(a):
    pandas = pytest.importorskip("pandas")
    return pandas.Series(a) if a.ndim == 1 else pandas.DataFrame(a)


# No ndarrays, but arrays to numpy.asarray. A list of NumPy's scalars keeps their dtype.
KINDS = {
    "list": list,
    "tuple": tuple,
    "__array__": WithArray,
    "old __array__": Plain,
    "__array_interface__": WithInterface,
    "memoryview": memoryview,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("family", "name"), INPUTS)
def test_every_input_of_every_family(family, name, kind, backend):
    call = FAMILIES[family]
    a = call.arrays[name]
    expected = call.run(family, backend=backend)
    got = call.run(family, backend=backend, **{name: KINDS[kind](a)})
    assert type(got) is np.ndarray and got.dtype == expected.dtype
    assert np.array_equal(got, expected)


@pytest.mark.parametrize(("family", "name"), INPUTS)
def test_as_data_frames(family, name, backend):
    call = FAMILIES[family]
    a = call.arrays[name]
    if a.ndim not in (1, 2):
        pytest.skip(f"{family} takes {a.ndim} dimensions here, a table has up to two")
    expected = call.run(family, backend=backend)
    assert np.array_equal(call.run(family, backend=backend, **{name: series(a)}), expected)


@pytest.mark.parametrize(("family", "name"), INPUTS)
def test_traffic_takes_them_too(family, name):
    call = FAMILIES[family]
    arrays = call.arrays | {name: list(call.arrays[name])}
    counted = gm.traffic(family, *arrays.values())
    assert counted.bytes_asked == gm.traffic(family, *call.arrays.values()).bytes_asked


@pytest.mark.parametrize(
    "a",
    [
        [1.5, 2],
        [[1, 2], [3, 4]],
        [],
        range(4),
        2.5,
        7,
        True,
        1j,
        np.float32(1),
        "text",
        b"text",
        bytearray(b"text"),
        array.array("h", [1, 2]),
        memoryview(X),
        np.array(["2020-02-02"], "M8[D]"),
        [np.datetime64("2020-02-02")],
        np.zeros(3, [("x", "i2"), ("y", "f8")]),
    ],
    ids=lambda a: type(a).__name__,
)
def test_moved_as_numpy_makes_it(a, backend):
    expected = np.asarray(a)
    for got in (gm.copy(a, backend=backend), gm.to_device(a, backend=backend).to_host()):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert got.tobytes() == expected.tobytes()


class Failing:
    def __init__(self, error):
        self.error = error

    def __array__(self, dtype=None, copy=None):
        raise self.error


MUST = r"must be array-like \(what numpy\.asarray takes\) or a gpumem\.DeviceArray"
REFUSED = {
    "ragged": (ValueError, MUST + ".*list: .*inhomogeneous", lambda: [[1.0], [2.0, 3.0]]),
    "None": (TypeError, MUST + "; of this NoneType.*Python objects", lambda: None),
    "dict": (TypeError, MUST + "; of this dict.*Python objects", dict),
    "generator": (TypeError, MUST + "; of this generator.*Python objects", lambda: (i for i in X)),
    "large int": (TypeError, MUST + "; of this list.*Python objects", lambda: [2**99]),
    "object": (TypeError, "has dtype.*'O'.*plain bytes", lambda: np.array([None])),
    "its TypeError": (
        TypeError,
        MUST + ".*Failing: not now",
        lambda: Failing(TypeError("not now")),
    ),
    "its own error": (KeyError, "not now", lambda: Failing(KeyError("not now"))),
    "masked in a list": (
        TypeError,
        "is a masked array",
        lambda: [np.ma.array(X, mask=X > 2), np.ma.array(X)],
    ),
    "masked deeper": (TypeError, "is a masked array", lambda: ([X], (np.ma.array(X),))),
    "__array__ that masks": (TypeError, "is a masked array", lambda: Plain(np.ma.array(X))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_makes_no_array_of(name, backend):
    error, words, make = REFUSED[name]
    with pytest.raises(error, match=words):
        gm.copy(make(), backend=backend)
    with pytest.raises(error, match=words):
        gm.to_device(make(), backend=backend)
    with pytest.raises(error, match=words):
        gm.traffic("copy", make())


@pytest.mark.parametrize(("family", "name"), INPUTS)
def test_errors_name_the_argument(family, name, backend):
    call = FAMILIES[family]
    optional = (family, name) == ("sgemm", "c")
    for wrong, error in (([[1.0], [2.0, 3.0]], ValueError), ({}, TypeError)):
        with pytest.raises(error, match=rf"^{name} {MUST}"):
            call.run(family, backend=backend, **{name: wrong})
    if not optional:
        with pytest.raises(TypeError, match=rf"^{name} {MUST}"):
            call.run(family, backend=backend, **{name: None})


@pytest.mark.parametrize("make", [list, memoryview, WithArray, WithInterface])
@pytest.mark.parametrize("family", FAMILIES)
def test_results_go_into_arrays_only(family, make, backend):
    """A copy of what is no array would be written to, and lost."""
    call = FAMILIES[family]
    out = make(np.zeros_like(np.atleast_1d(call.result)))
    with pytest.raises(TypeError, match="out must be a NumPy array"):
        call.run(family, backend=backend, out=out)


def test_lists_do_not_mix_with_device_arrays(backend):
    a = gm.to_device(X, backend=backend)
    with pytest.raises(TypeError, match=r"\bb\b.*(DeviceArray|device)"):
        gm.add(a, X.tolist())
    with pytest.raises(TypeError, match=r"b is a gpumem\.DeviceArray.*all on the host"):
        gm.add(X.tolist(), a)


@pytest.mark.parametrize("shape", [(8, 2 << 20), (2, 10 << 20)], ids=["short rows", "long rows"])
def test_nothing_is_read_beyond_the_last_row(shape):
    """Of an array that ends with its memory, and that is gathered a few megabytes at a time."""
    size = shape[0] * shape[1]
    room = np.frombuffer(mmap.mmap(-1, size + mmap.PAGESIZE), "u1")
    room[:size:4096] = np.arange(size // 4096)
    protect = ctypes.CDLL(None).mprotect
    assert protect(ctypes.c_void_p(room.ctypes.data + size), mmap.PAGESIZE, 0) == 0
    every_other = room[:size].reshape(shape)[:, ::2]
    assert np.array_equal(gm.to_device(every_other, backend="sim").to_host(), every_other)


@pytest.mark.parametrize("make", [WithArray, WithInterface, memoryview])
def test_points_as_structures(make, backend):
    points = np.array([(1, 2), (3, 4)], [("x", "f4"), ("y", "f4")])
    got = gm.shift_points(make(points), 1, 2, backend=backend)
    assert got.dtype == points.dtype and got.tolist() == [(2, 4), (4, 6)]
    assert gm.traffic("shift_points", make(points)).bytes_asked > 0
    with pytest.raises(TypeError, match="p is a masked array"):
        gm.shift_points(Plain(np.ma.array(points)), 1, 2, backend=backend)


@pytest.mark.parametrize("a", [[1.0], 2.5, WithArray(X), None])
def test_only_memory_has_a_kind(a):
    with pytest.raises(TypeError, match=r"^a must be a NumPy array.*buffer protocol.*not "):
        gm.memory_kind(a)


# ---- loaded kernels -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def module():
    return gm.load(
        source="__device__ float s[3]; __global__ void k(const float *p, float v) {}", backend="sim"
    )


@pytest.mark.parametrize("a", [[1.0], (1.0,), memoryview(X), WithArray(X), 2.5])
def test_kernels_take_arrays_of_their_type(module, a):
    with pytest.raises(TypeError, match=r"k: const float \*p takes .*numpy\.asarray makes one"):
        module["k"][1, 1](a, 1)
    with pytest.raises(TypeError, match=r"texture takes an ndarray \(numpy\.asarray makes one"):
        gm.texture(a)


def test_kernels_take_host_arrays_that_only_speak_dlpack(module):
    module["k"][1, 1](Bare(X), 1)
    with pytest.raises(TypeError, match=r"takes an array of float32, not an array of int16"):
        module["k"][1, 1](Bare(X.astype("i2")), 1)


def test_kernels_take_no_masks_and_no_swapped_bytes(module):
    masked = np.ma.array(X, mask=X > 2)
    with pytest.raises(TypeError, match=r"^p is a masked array.*p\.filled"):
        module["k"][1, 1](masked, 1)
    with pytest.raises(TypeError, match=r"k: const float \*p takes an array of float32, not"):
        module["k"][1, 1](X.astype(X.dtype.newbyteorder()), 1)
    for make in (gm.texture, gm.surface):
        with pytest.raises(TypeError, match="array is a masked array"):
            make(masked)
    for value in (masked[0], [masked, masked]):
        with pytest.raises(TypeError, match=r"^value is a masked array"):
            gm.set_symbol(module, "s", value)


def test_symbols_take_array_likes(module):
    for value in ([1, 2, 3], (1, 2, 3), range(1, 4), WithArray([1.0, 2, 3]), memoryview(X[0] + 1)):
        gm.set_symbol(module, "s", [0, 0, 0])
        gm.set_symbol(module, "s", value)
        assert gm.get_symbol(module, "s").tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"^s takes what numpy\.asarray does: .*inhomogeneous"):
        gm.set_symbol(module, "s", [[1], [2, 3]])
    with pytest.raises(TypeError, match=r"^s takes what numpy\.asarray does: .*to_host"):
        gm.set_symbol(module, "s", gm.to_device(X[0], backend="sim"))
