"""Makes each allocation of gpumem's C code fail in turn; tests/stand_in/malloc.c is preloaded.

A call whose allocation fails must raise MemoryError or, if it can do without that memory, return
the correct result. It must leak nothing, and the next call must be correct. Prints how many calls
raised MemoryError.
"""

import ctypes
import gc
import os

import numpy as np
import small_calls

import gpumem as gm
from gpumem import _core

preloaded = ctypes.CDLL(None)
preloaded.fail_after.argtypes = ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int


def module_range():
    """The addresses between which gpumem._core is mapped."""
    name = os.path.basename(_core.__file__)
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file if line.rstrip().endswith(name)]
    spans = [[int(end, 16) for end in line[0].split("-")] for line in lines]
    return min(begin for begin, _ in spans), max(end for _, end in spans)


BEGIN, END = module_range()


def used():
    """Bytes of the device pool and of the pinned pool that are in use."""
    pools = gm.pool_info()
    return pools["device"]["used"], pools["pinned"]["used"]


def fails(call, number, check):
    """Run a call whose allocation of this number, from 0, fails.

    Return True if the call raises MemoryError, False if it succeeds all the same, and None if it
    makes fewer allocations.
    """
    preloaded.fail_after(BEGIN, END, number)
    try:
        result = call()
    except MemoryError:
        return True
    finally:
        left = preloaded.calls_left()
        preloaded.fail_after(0, 0, -1)
    check(result)
    return None if left >= 0 else False


def sweep(call, wanted):
    """Fail each allocation of a call in turn; return how often it raises MemoryError."""

    def check(result):
        result = result.to_host() if isinstance(result, gm.DeviceArray) else result
        np.testing.assert_array_equal(result, wanted)

    check(call())
    number = count = 0
    raised = True
    while raised is not None:
        before = used()
        raised = fails(call, number, check)
        count += raised is True
        gc.collect()
        assert used() == before, number
        check(call())
        number += 1
    return count


def caller(family, arrays, keywords):
    """Return a call of a family's function, which leaves the arrays as they are."""
    run, in_place = getattr(gm, family), family in small_calls.IN_PLACE

    def call():
        first = arrays[0].copy() if in_place else arrays[0]
        return run(first, *arrays[1:], **keywords)

    return call


def calls():
    """Yield (call, result) of every family: host arrays, device arrays, and gm.traffic of some."""
    for family in gm.families():
        call = small_calls.make(family)
        arrays, keywords = list(call.arrays.values()), call.keywords
        wanted = caller(family, arrays, keywords)()
        on_device = [gm.to_device(a) for a in arrays]
        yield caller(family, arrays, keywords), wanted
        yield caller(family, on_device, keywords), wanted
        if family in ("transpose", "prefetch_sum", "sgemm", "matmul", "gather"):
            yield lambda f=family, a=arrays, k=keywords: gm.traffic(f, *a, **k).result, wanted


def other_calls():
    """Yield (call, result) of launches on several host threads, transfers, DLPack and streams."""
    a = np.arange(3_000_000, dtype="f4")
    on_device, short = gm.to_device(a), a[:64]
    turned = on_device.reshape(1500, 2000).T
    yield lambda: gm.copy(on_device, variant="scalar", max_blocks=3000), a  # several host threads
    yield lambda: turned.astype("i4"), a.astype("i4").reshape(1500, 2000).T  # in two steps
    yield lambda: gm.to_device(short[::2]), short[::2]
    yield lambda: gm.to_device(short).to_host()[::2], short[::2]
    yield lambda: gm.from_dlpack(on_device)[:64].copy(), short
    yield lambda: np.from_dlpack(on_device)[:64], short
    yield lambda: (gm.empty(9, kind="pinned"), gm.Stream(), short)[2], short
    # Some lanes of a warp make two accesses, others one.
    yield lambda: lanes(gm.traffic("copy", a[:300], variant="scalar", max_blocks=1)), [300, 300]


def lanes(report):
    """How many accesses each source line makes."""
    return [site["lanes"] for site in report.sites]


gc.freeze()  # what modules hold: it is not looked through after each call
failed = [sweep(call, wanted) for source in (calls, other_calls) for call, wanted in source()]
b = np.arange(100_000, dtype="f4")
chunked = ("copy", "auto", (b,), None, None, None, (0,), 1 << 12)
failed.append(sweep(lambda: _core.call(*chunked), b))
print(sum(failed))
