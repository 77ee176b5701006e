"""Memory runs out for gpumem's C code alone: run with tests/stand_in/malloc.c preloaded.

Whatever allocation of a call fails, the call ends with a MemoryError or, where it can do without,
with the right result; nothing is kept, and the next call is right. Prints how many failed.
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
    name = os.path.basename(_core.__file__)
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file if line.rstrip().endswith(name)]
    spans = [[int(end, 16) for end in line[0].split("-")] for line in lines]
    return min(begin for begin, _ in spans), max(end for _, end in spans)


BEGIN, END = module_range()


def used():
    pools = gm.pool_info()
    return pools["device"]["used"], pools["pinned"]["used"]


def fails(call, number, check):
    """True when the call is ended by its allocation of this number, None when it makes fewer."""
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
    def check(result):
        result = result.to_host() if isinstance(result, gm.DeviceArray) else result
        np.testing.assert_array_equal(result, wanted)

    check(call())
    number = count = 0
    ended = True
    while ended is not None:
        before = used()
        ended = fails(call, number, check)
        count += ended is True
        gc.collect()
        assert used() == before, number
        check(call())
        number += 1
    return count


def calls():
    """Of every family on the host, on the device and under observation; and their results."""
    for family in gm.families():
        call = small_calls.make(family)
        arrays, told, run = list(call.arrays.values()), call.keywords, getattr(gm, family)
        wanted = run(*(a.copy() for a in arrays), **told)
        there = [gm.to_device(a) for a in arrays]
        yield lambda run=run, arrays=arrays, told=told: run(*arrays, **told), wanted
        yield lambda run=run, arrays=there, told=told: run(*arrays, **told), wanted
        if family in ("transpose", "prefetch_sum", "sgemm", "gather"):
            yield lambda f=family, a=arrays, k=told: gm.traffic(f, *a, **k).result, wanted


def other_calls():
    a = np.arange(3_000_000, dtype="f4")
    there, few = gm.to_device(a), a[:64]
    yield lambda: gm.copy(there, variant="scalar", max_blocks=3000), a  # on several host threads
    yield lambda: gm.to_device(few[::2]), few[::2]
    yield lambda: gm.to_device(few).to_host()[::2], few[::2]
    yield lambda: gm.from_dlpack(there)[:64].copy(), few
    yield lambda: np.from_dlpack(there)[:64], few
    yield lambda: (gm.empty(9, kind="pinned"), gm.Stream(), few)[2], few


failed = [sweep(call, wanted) for source in (calls, other_calls) for call, wanted in source()]
b = np.arange(100_000, dtype="f4")
in_pieces = ("copy", "auto", (b,), None, None, None, (0,), 1 << 12)
failed.append(sweep(lambda: _core.call(*in_pieces), b))
print(sum(failed))
