"""bfloat16 and the floats of 8 bits by DLPack: moved with ml_dtypes, refused by name without it."""

import sys

import dlpack
import numpy as np
import pytest
import small_calls
from dlpack import Producer

import gpumem as gm

CODES = {
    "bfloat16": 4,
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}
MOVED = ("copy", "transpose", "permute", "gather", "strided_read", "strided_write")


@pytest.fixture(autouse=True)
def on_the_simulator(monkeypatch):
    """These tests are about the host, wherever they run."""
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")


@pytest.fixture
def dtypes():
    """The package, if it is installed, with all of these types."""
    return pytest.importorskip("ml_dtypes", minversion="0.5")


def lend(name, bits, **said):
    """Lend integers as elements of the type of this name."""
    code = CODES[name]
    return Producer(bits, code=code, **said)


def patterns(name, shape):
    size = 2 if name == "bfloat16" else 1
    return np.arange(np.prod(shape), dtype=f"u{size}").reshape(shape) * 5


# ---- without ml_dtypes --------------------------------------------------------------------------


@pytest.mark.parametrize("name", CODES)
def test_without_the_package_they_are_refused_by_name(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # importing it fails
    a = patterns(name, (2, 3))
    words = f"has dtype {name}, which NumPy knows only with the package ml_dtypes: install it"
    for argument, call in (("x", gm.from_dlpack), ("a", gm.copy), ("a", gm.to_device)):
        producer = lend(name, a)
        with pytest.raises(TypeError, match=rf"^{argument} {words}.*integers of {8 * a.itemsize}"):
            call(producer)
        assert producer.freed == sum(producer.used()) == 0  # the capsules are still the producer's
    integers = Producer(a)  # what the message says to do
    assert np.array_equal(gm.copy(integers), a)


def test_a_package_that_is_too_old(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", type(sys)("ml_dtypes"))
    with pytest.raises(TypeError, match="x has dtype float8_e8m0fnu, which NumPy knows only with"):
        gm.from_dlpack(lend("float8_e8m0fnu", patterns("float8_e8m0fnu", (2, 3))))


@pytest.mark.parametrize(("code", "bits"), [(4, 32), (10, 16), (15, 6), (16, 6), (17, 4)], ids=str)
def test_other_sizes_have_no_dtype(code, bits):
    with pytest.raises(TypeError, match=f"DLPack's code {code} with {bits} bits"):
        gm.from_dlpack(Producer(np.zeros(4, "u1"), code=code, bits=bits))


# ---- with it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("how", ["versioned", "legacy", "old"])
def test_both_ways(dtypes, name, how):
    a = patterns(name, (3, 4))
    producer = lend(name, a, **({} if how == "versioned" else {how: True}))
    there = gm.from_dlpack(producer)
    assert there.dtype == np.dtype(getattr(dtypes, name)) and there.shape == a.shape
    assert there.to_host().tobytes() == a.tobytes()
    tensor = dlpack.read(there.__dlpack__())[0].tensor
    assert (tensor.code, tensor.bits, tensor.lanes) == (CODES[name], 8 * a.itemsize, 1)
    again = gm.from_dlpack(there)
    assert again.dtype == there.dtype and again.pointer == there.pointer
    del there, again
    assert producer.freed == 1


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("family", MOVED)
def test_moved_by_every_family_that_moves(dtypes, family, name):
    """The elements arrive bit for bit, from the host and from the device."""
    call = small_calls.make(family)
    dtype = np.dtype(getattr(dtypes, name))
    arrays = {
        key: patterns(name, a.shape) if a.dtype.kind == "f" else a for key, a in call.arrays.items()
    }
    expected = call.run(family, **{key: a.copy() for key, a in arrays.items()})
    lent = {
        key: lend(name, a) if a.dtype.kind == "u" and key != "out" else a
        for key, a in arrays.items()
    }
    if "out" in arrays:
        lent["out"] = arrays["out"].copy().view(dtype)
    got = call.run(family, **lent)
    assert type(got) is np.ndarray and got.dtype == dtype
    assert got.tobytes() == expected.tobytes()
    there = {
        key: gm.to_device(a.view(dtype) if a.dtype.kind == "u" else a) for key, a in arrays.items()
    }
    got = call.run(family, **there)
    assert got.dtype == dtype and got.to_host().tobytes() == expected.tobytes()


@pytest.mark.parametrize("family", [f for f in gm.families() if f not in MOVED])
def test_families_that_compute_refuse_them_by_name(dtypes, family):
    call = small_calls.make(family)
    first = next(name for name in call.arrays if name != "out")  # which is an array of ours
    for name in CODES:
        a = patterns(name, call.arrays[first].shape)
        producer = lend(name, a)  # which has to outlive what is made of it
        for given in (producer, gm.from_dlpack(producer), a.view(getattr(dtypes, name))):
            arrays = {key: gm.to_device(b) for key, b in call.arrays.items()}
            rest = arrays if isinstance(given, gm.DeviceArray) else call.arrays
            with pytest.raises(TypeError, match=rf"^{first} has dtype.*{name}.*accepted"):
                call.run(family, **{**rest, first: given})


def test_views_are_freed_with_their_last_array(dtypes):
    producer = lend("bfloat16", patterns("bfloat16", (64, 64)), flags=1)
    there = gm.to_device(producer)  # read-only memory is read
    assert producer.freed == 1
    assert there.dtype == dtypes.bfloat16


def test_no_other_dtype_of_the_package_is_lent(dtypes):
    there = gm.to_device(np.zeros(3, dtypes.int4))
    with pytest.raises(BufferError, match=r"no code for dtype.*int4"):
        there.__dlpack__()
