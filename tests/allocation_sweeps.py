"""Each allocation of Python's fails in turn: nothing is kept, and the next call is right.

An allocation of any thread may be the one that fails, also one of those through which pytest-xdist
talks to a worker. Hence pytest does not collect this file by itself: test_allocation_faults.py runs
each function in a process of its own.
"""

import _testcapi as faults
import functools
import gc
import sys

import numpy as np
import pytest
import small_calls

import gpumem as gm
from gpumem import _core

pytestmark = pytest.mark.usefixtures("frozen")

MOST = 3000  # allocations of a call


def fails(call, number):
    """Whether a call is ended by the failure of one allocation, the one of this number."""
    faults.set_nomemory(number, number + 1)
    try:
        call()
    except MemoryError:
        faults.remove_mem_hooks()
        return True
    finally:
        faults.remove_mem_hooks()
    return False


def used():
    pools = gm.pool_info(backend="sim")
    return pools["device"]["used"], pools["pinned"]["used"]


def sweep(call, kept):
    """How many allocations of a call end it; `kept` are the arrays that it is given."""
    number = passed = failed = 0
    gc.collect()
    while passed < 5:
        references, bytes_before = [sys.getrefcount(a) for a in kept], used()
        if fails(call, number):
            failed, passed = failed + 1, 0
        else:
            passed += 1
        if used() != bytes_before or [sys.getrefcount(a) for a in kept] != references:
            gc.collect()  # of frames that an exception held
        assert used() == bytes_before, number
        assert [sys.getrefcount(a) for a in kept] == references, number
        number += 1
        assert number < MOST
    return failed


def prepared(family, where):
    """The arrays and keywords of a call, what it returns, and what restores the arrays."""
    call = small_calls.make(family)
    wanted = call.run(family, **{k: a.copy() for k, a in call.arrays.items()}, backend="sim")
    arrays = list(call.arrays.values())
    if where == "device":
        arrays = [gm.to_device(a, backend="sim") for a in arrays]
    first = next(iter(call.arrays.values())).copy()

    def restore():
        if family in small_calls.IN_PLACE:
            arrays[0][...] = first

    return arrays, call.keywords, wanted, restore


def check_sweep(call, arrays, wanted, least, restore=lambda: None):
    for _ in range(10):  # the first calls prepare what later ones use
        call()
    assert sweep(call, arrays) >= least
    restore()
    got = call()
    got = got.to_host() if isinstance(got, gm.DeviceArray) else got
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("family", gm.families())
def test_every_family(family, where):
    arrays, keywords, wanted, restore = prepared(family, where)
    call = functools.partial(getattr(gm, family), *arrays, **keywords, backend="sim")
    check_sweep(call, arrays, wanted, 3, restore)


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("family", gm.families())
def test_calls_of_the_extension_module(family, where, monkeypatch):
    arrays, keywords, wanted, restore = prepared(family, where)
    calls = []

    def keep(*words):
        calls.append(words)
        return _core.call(*words)

    for name, module in list(sys.modules.items()):
        if name.startswith("gpumem.families.") and hasattr(module, "_call"):
            monkeypatch.setattr(module, "_call", keep)
    getattr(gm, family)(*arrays, **keywords, backend="sim")
    least = 0 if family in small_calls.IN_PLACE else 1  # in place, it makes no object of Python's
    check_sweep(functools.partial(_core.call, *calls.pop()), arrays, wanted, least, restore)


OTHERS = {
    "to_device": lambda a, d: gm.to_device(a[::2], backend="sim"),
    "to_host": lambda a, d: d.to_host(),
    "copy": lambda a, d: d[::2].copy(),
    "view": lambda a, d: d.reshape(8, 8)[1:, ::2].T,
    "dlpack": lambda a, d: gm.from_dlpack(d),
    "numpy": lambda a, d: np.from_dlpack(d),
    "empty": lambda a, d: gm.empty((3, 4), kind="pinned", backend="sim"),
    "strided out": lambda a, d: gm.copy(a, out=np.empty(128, "f4")[::2], backend="sim"),
    "info": lambda a, d: _core.backend_info("sim"),
    "traffic": lambda a, d: gm.traffic("copy", a),
}


@pytest.mark.parametrize("what", OTHERS)
def test_other_functions(what, monkeypatch):
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")
    a = np.arange(64, dtype="f4")
    there = gm.to_device(a, backend="sim")

    def call():
        OTHERS[what](a, there)

    for _ in range(10):
        call()
    assert sweep(call, [a, there]) > 0
    assert there.to_host().tolist() == a.tolist()
