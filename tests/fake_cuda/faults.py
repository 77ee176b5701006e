"""Makes each call of the CUDA runtime fail in turn, in short programs.

With FAKE_TWICE two calls fail. With FAKE_COLD the program is the first of its process. Prints how
often one raised an exception.
"""

import gc
import os
from functools import partial

import fake_device as fake  # first
import numpy as np
import small_calls

import gpumem as gm
from gpumem import _core

OUT_OF_MEMORY, OUT_OF_RESOURCES, LAUNCH_FAILURE = 2, 701, 719  # the last one is sticky
ERRORS = OUT_OF_MEMORY, OUT_OF_RESOURCES, LAUNCH_FAILURE
TWICE = os.environ.get("FAKE_TWICE")
a = np.arange(5000, dtype="f4")


# ---- programs: each returns a new call of it, which returns an array, and the call's inputs ------


def on_host(family):
    call = small_calls.make(family)
    arrays = list(call.arrays.values())
    run = partial(getattr(gm, family), *arrays, **call.keywords, backend="cuda")
    return run, [] if IN_PLACE[family] else arrays


def on_device(family):
    call = small_calls.make(family)
    arrays = list(call.arrays.values())

    def run():
        stream = gm.Stream(backend="cuda")
        moved = [gm.to_device(one, backend="cuda") for one in arrays]
        result = getattr(gm, family)(*moved, **call.keywords, stream=stream)
        del moved
        return gm.copy(result).to_host()

    return run, arrays


def in_pieces(family, *arrays):
    parameters = (0,) if family == "copy" else ()
    run = partial(_core.call, family, "auto", arrays, None, None, "cuda", parameters, 1 << 12)
    return run, arrays


def through_chunks():
    def run():
        there, back = gm.DeviceArray(a.shape, a.dtype, backend="cuda"), np.empty_like(a)
        _core.transfer(there, a, True, 1, False, 2, None, 1 << 11)
        _core.transfer(there, back, False, 1, False, 2, None, 1 << 11)
        return back

    return run, [a]


def layouts():
    def run():
        there = gm.to_device(a[::-3], backend="cuda")
        there[10:20] = a[:10]
        there[::2] = there[::2].astype("i4").astype("f4")
        return there[::2].to_host()

    return run, [a]


def host_memory(variant, kind):
    def run():
        x, y = (gm.empty(a.shape, a.dtype, kind=kind, backend="cuda") for _ in range(2))
        x[...], y[...] = a, 1
        result = gm.add(x, y, variant=variant, backend="cuda")
        return np.array(result)

    return run, [a]


def of_others(stream):
    def run():
        other = theirs.stream.value if stream else None
        kept = gm.from_dlpack(gm.to_device(a, backend="cuda"))
        results = gm.copy(theirs, stream=other), gm.copy(kept, stream=other)
        del kept
        return np.concatenate([result.to_host().view("u4") for result in results])

    return run, [a]


# ---- faults ------------------------------------------------------------------------------------


def outcome(run, number, second, error):
    """Make a call whose runtime's calls of these numbers fail: its result, None if it raised."""
    fake.fail(number, second, error, error == LAUNCH_FAILURE)
    try:
        return run()
    except gm.CudaError as raised:
        if second:  # it may be the question whether the error stays
            return None
        assert isinstance(raised, MemoryError) == (error == OUT_OF_MEMORY), repr(raised)
        assert raised.sticky == (error == LAUNCH_FAILURE), repr(raised)
        assert not raised.sticky or "must be restarted" in str(raised), str(raised)
        return None


def is_lost():
    """Whether every call says that the context is lost, and what to do."""
    try:
        gm.to_device(np.zeros(3), backend="cuda").to_host()
    except gm.CudaError as error:
        return error.sticky and "must be restarted" in str(error)
    return False


def fail_at(make, number, second, error, wanted):
    """Fail one call or two; return whether that raised an exception."""
    run, inputs = make()
    kept = [one.copy() for one in inputs]
    baseline = fake.live()
    result = outcome(run, number, second, error)
    what = f"{make}: {error} of calls {number}, {second}, {fake.failed_call()}"
    if fake.failed_call() is None:
        return False
    assert error != LAUNCH_FAILURE or is_lost(), what
    fake.revive()
    fake.check()
    raised = result is None
    if not raised:
        np.testing.assert_array_equal(result, wanted, what)
    for one, before in zip(inputs, kept, strict=True):
        np.testing.assert_array_equal(one, before, what)
    del result
    np.testing.assert_array_equal(make()[0](), wanted, what)
    live = fake.live()  # out of memory, the pool of page-locked memory is given up
    assert live[1] <= baseline[1], (what, live, baseline)
    assert live[:1] + live[2:] == baseline[:1] + baseline[2:], (what, live, baseline)
    fake.check()
    return raised


def sweep(make):
    """Fail the program's calls in turn, each in three ways; return how often it raised."""
    for _ in range(2):  # the second time, what gpumem keeps is there
        fake.fail(0, 0, 0, 0)
        wanted = make()[0]()
        calls = fake.calls()
    return sum(
        fail_at(make, number, second, error, wanted)
        for number in range(1, calls + 1)
        for second in (range(number + 1, number + 20) if TWICE else [0])
        for error in ((OUT_OF_MEMORY,) if TWICE else ERRORS)
    )


def fail_cold(make, number, error, wanted):
    """The same in a child, which has not used CUDA yet; the statuses are below."""
    child = os.fork()
    if child == 0:
        status = 3
        try:
            fake.fail(number, 0, error, 0)
            try:
                result = make()[0]()
            except gm.CudaError:
                result = None
            raised = result is None
            if fake.failed_call() is None:
                status = 2
            else:
                fake.check()
                assert raised or np.array_equal(result, wanted)
                assert np.array_equal(make()[0](), wanted)
                status = int(raised)
        except gm.UnavailableError as why:
            status = int("CUDA could not be started" in str(why))
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def sweep_cold(make, wanted):
    raised = number = 0
    while True:
        number += 1
        found = [fail_cold(make, number, error, wanted) for error in (2, 701)]
        assert max(found) < 3, (make, number, found)
        if 2 in found:
            return raised
        raised += sum(found)


IN_PLACE = {variant.family: variant.in_place for variant in gm.variants()}
PROGRAMS = [partial(how, family) for family in gm.families() for how in (on_host, on_device)]
PROGRAMS += [partial(in_pieces, "copy", a), partial(in_pieces, "add", a, a[::-1].copy())]
PROGRAMS += [partial(host_memory, "zero_copy", "mapped"), partial(host_memory, "auto", "pinned")]
PROGRAMS += [partial(host_memory, name, "managed") for name in ("managed", "managed_prefetch")]
PROGRAMS += [through_chunks, layouts, partial(of_others, False), partial(of_others, True)]

if os.environ.get("FAKE_COLD"):
    raised = 0
    small = small_calls.make("copy").arrays["a"]
    for make, expected in (
        (partial(on_host, "copy"), small),
        (partial(in_pieces, "copy", a), a),
        (through_chunks, a),
        (partial(host_memory, "auto", "pinned"), a + 1),
    ):
        raised += sweep_cold(make, expected)
    print(raised)
else:
    fake.set_pace(10, 1)
    for warm in gm.families():
        small_calls.make(warm).run(warm, backend="cuda")
    theirs = fake.Theirs(1, 1000)
    gm.synchronize("cuda")
    gc.freeze()
    print(sum(sweep(make) for make in PROGRAMS))
