"""DLPack's C exchange API: our own side."""

import ctypes
import gc
import sys

import dlpack
import numpy as np
import pytest
from exchange_api_cases import API, ARRAYS, SIX, Counted, lend, make_kinds, make_library

import gpumem as gm
from gpumem import _core

library = pytest.fixture(scope="module")(make_library)
kinds = pytest.fixture(scope="module")(make_kinds)


# ---- libraries that fail ------------------------------------------------------------


@pytest.mark.parametrize("how", ["all", "managed"])
@pytest.mark.parametrize("error", [BufferError, MemoryError, KeyboardInterrupt, False])
def test_functions_that_fail(library, kinds, how, error):
    raised = error and error("not today")
    there = lend(kinds[how], SIX, error=raised)
    with Counted(library) as asked:
        for take in (gm.copy, gm.from_dlpack, gm.memory_kind):
            with pytest.raises(error or SystemError) as caught:
                take(there)
            assert not error or caught.value is raised
    assert asked.lent == 0


@pytest.mark.parametrize("error", [BufferError("not today"), False], ids=str)
def test_dlpack_is_asked_after_a_failure(library, error):
    class Both(library.Array):
        __dlpack_device__ = SIX.__dlpack_device__

        def __dlpack__(self, **keywords):
            return SIX.__dlpack__(**keywords)

    setattr(Both, API, library.table())
    there = lend(Both, SIX + 1, error=error)
    assert np.array_equal(gm.copy(there), SIX)
    assert np.array_equal(gm.copy(lend(Both, SIX + 1)), SIX + 1)
    memory = lend(Both, SIX, error=MemoryError("of its own"))
    with pytest.raises(MemoryError, match="of its own"):
        gm.copy(memory)


def test_tensors_of_another_version(library, kinds):
    there = lend(kinds["all"], SIX, major=2)
    with Counted(library) as asked, pytest.raises(ValueError, match=r"DLPack 2\.\d, known is"):
        gm.from_dlpack(there)
    assert asked.managed == 1 and asked.lent == 0


# ---- nothing is left behind ---------------------------------------------------------


@pytest.mark.parametrize("how", ["all", "managed"])
def test_exchanges_leave_nothing_behind(library, kinds, how):
    there, bad = lend(kinds[how], SIX), lend(kinds[how], SIX, lanes=2)
    failing = lend(kinds[how], SIX, error=False)

    def refused(x):
        with pytest.raises((TypeError, SystemError)):
            gm.from_dlpack(x)

    def count():
        while gc.collect():  # what other tests left may lie behind what one collection frees
            pass
        return [sys.getrefcount(x) for x in (there, bad, failing, SIX, kinds[how])]

    before = count(), gm.pool_info(backend="sim")["device"]["used"]
    with Counted(library) as asked:
        for _ in range(10_000):
            gm.from_dlpack(there)
            gm.memory_kind(there)
            _core.adopt(there, "x", None)
        for _ in range(1000):
            refused(bad)
            refused(failing)
    assert asked.lent == 0
    assert (count(), gm.pool_info(backend="sim")["device"]["used"]) == before


# ---- ours ---------------------------------------------------------------------------


class Table(ctypes.Structure):
    """DLPackExchangeAPI, whose functions of Python are called with the GIL and may raise."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)),
        ("lend", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)),
        ("take", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("describe", ctypes.c_void_p),
        ("stream", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.c_void_p)),
    )


OURS = Table.from_address(
    dlpack.api.PyCapsule_GetPointer(getattr(gm.DeviceArray, API), b"dlpack_exchange_api")
)


Complain = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


def lent_by_us(array):
    """Return the managed tensor that the table lends, whose deleter the caller runs."""
    out = ctypes.c_void_p()
    assert OURS.lend(array, ctypes.addressof(out)) == 0
    return dlpack.Versioned.from_address(out.value)


def taken_by_us(managed):
    out = ctypes.c_void_p()
    assert OURS.take(ctypes.addressof(managed), ctypes.addressof(out)) == 0
    array = ctypes.cast(out, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(array))  # the reference that was handed over
    return array


def give_back(managed):
    managed.deleter(ctypes.addressof(managed))


def allocated(**said):
    """Return what the table's allocator makes, and what it says if it fails."""
    shape = (ctypes.c_int64 * 2)(3, 5)
    like = dlpack.Tensor(device_type=dlpack.CPU, ndim=2, code=2, bits=32, lanes=1, shape=shape)
    for field, value in said.items():
        setattr(like, field, value)
    out, words = ctypes.c_void_p(), []
    complain = Complain(lambda _, *what: words.append(b": ".join(what).decode()))
    function = ctypes.cast(complain, ctypes.c_void_p)
    failed = OURS.allocate(ctypes.addressof(like), ctypes.addressof(out), None, function)
    assert (failed, out.value is None) == ((-1, True) if words else (0, False))
    return dlpack.Versioned.from_address(out.value) if out.value else None, words


def used():
    gc.collect()
    return gm.pool_info(backend="sim")["device"]["used"]


@pytest.mark.parametrize("name", ARRAYS)
def test_others_take_our_arrays(name):
    here = ARRAYS[name]
    there = gm.to_device(here)
    references, before = sys.getrefcount(there), used()
    managed = lent_by_us(there)
    tensor = managed.tensor
    assert (OURS.major, managed.major, managed.flags) == (1, 1, 0)
    assert (tensor.device_type, tensor.device_id) == (dlpack.CPU, 0)
    assert (tensor.code, tensor.bits) == (dlpack.CODES[here.dtype.kind], here.itemsize * 8)
    assert tuple(dlpack.layout(tensor)[0]) == here.shape
    assert not here.size or tensor.data == there.pointer
    assert sys.getrefcount(there) == references  # the memory is kept, not the array
    del there
    assert used() == before
    give_back(managed)
    assert used() < before or not here.size


def test_a_round_trip():
    there = gm.to_device(SIX)
    again = taken_by_us(lent_by_us(there[1:]))
    assert type(again) is gm.DeviceArray and again.pointer == there.pointer + 12
    again.fill_bytes(0)
    assert there.to_host().tolist() == [[0, 1, 2], [0, 0, 0]]
    assert np.array_equal(gm.from_dlpack(there).to_host(), there.to_host())
    before = used()
    for _ in range(10_000):
        again = taken_by_us(lent_by_us(there))
    del again
    assert used() == before


def test_what_we_refuse_to_lend():
    there = gm.to_device(np.arange(24, dtype="f4").reshape(4, 6))
    out = ctypes.c_void_p()
    for thing, error, words in (
        (there[::-1], BufferError, "strides of -24 bytes"),
        (there.view("S4"), BufferError, "no code for dtype"),
        (SIX, TypeError, "ndarray is no gpumem.DeviceArray"),
    ):
        before = used()
        with pytest.raises(error, match=words):
            OURS.lend(thing, ctypes.addressof(out))
        assert out.value is None and used() == before


def test_what_we_refuse_to_take():
    out = ctypes.c_void_p()
    for said, error, words in (
        ({"major": 2}, ValueError, r"the tensor speaks DLPack 2"),
        ({"flags": 1}, BufferError, "read-only"),
        ({"strides": [-3, 1]}, BufferError, "negative stride in dimension 0"),
        ({"lanes": 2}, TypeError, "2 lanes"),
        ({"device_type": dlpack.ROCM}, BufferError, "in ROCm memory"),
    ):
        producer = dlpack.Producer(SIX.copy(), **said)
        producer.__dlpack__()
        with pytest.raises(error, match=words):
            OURS.take(ctypes.addressof(producer.lent[0][0]), ctypes.addressof(out))
        assert out.value is None and producer.freed == 0  # it is still the caller's


def test_our_allocator():
    before = used()
    managed, words = allocated()
    assert not words and used() == before + 60
    assert dlpack.layout(managed.tensor) == ([3, 5], [5, 1])
    array = taken_by_us(managed)
    assert array.dtype == "f4" and array.shape == (3, 5)
    seen = gm.traffic("copy", array, variant="scalar")  # nothing complains of unwritten memory
    assert seen.loads.requests == 1
    del array, seen
    assert used() == before
    managed, _ = allocated(bits=4)  # of elements that NumPy does not know
    assert used() == before + 8
    give_back(managed)
    assert used() == before
    huge = (ctypes.c_int64 * 2)(2**40, 2**40)
    for said in (
        {"device_type": dlpack.ROCM},
        {"device_type": dlpack.MANAGED},
        {"ndim": -1},
        {"ndim": 65},
        {"shape": None},
        {"shape": huge},
        {"shape": (ctypes.c_int64 * 2)(3, -1)},
        {"lanes": 0},
    ):
        _, words = allocated(**said)
        assert len(words) == 1 and words[0].startswith("ValueError: ")
    assert used() == before


def test_our_stream_is_the_default_stream():
    out = ctypes.c_void_p(1)
    assert OURS.stream(dlpack.CPU, 0, ctypes.addressof(out)) == 0 and out.value is None
