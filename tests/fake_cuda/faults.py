"""Makes each call of the CUDA runtime fail in turn, in short programs of every family.

FAKE_MOST: how many calls of a program fail at most, evenly chosen; 0: all. Prints how many programs
raised an exception.
"""

import gc
import os

import fake_device as fake  # first
import numpy as np
import small_calls

import gpumem as gm

OUT_OF_MEMORY, OUT_OF_RESOURCES, LAUNCH_FAILURE = 2, 701, 719  # the last one is sticky
MOST = int(os.environ["FAKE_MOST"])


def on_host(run, arrays, keywords):
    return run(*arrays, **keywords, backend="cuda")


def on_device(run, arrays, keywords):
    stream = gm.Stream(backend="cuda")
    moved = [gm.to_device(a, backend="cuda") for a in arrays]
    result = run(*moved, **keywords, stream=stream)
    del moved
    return gm.copy(result).to_host()


def outcome(program, arguments, number, error):
    """Run a program whose call of this number fails: its result, or what it raised."""
    fake.fail(number, error, error == LAUNCH_FAILURE)
    try:
        return program(*arguments)
    except gm.CudaError as raised:
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


def fail_once(program, family, number, error, wanted):
    call = small_calls.make(family)
    arrays, keywords = list(call.arrays.values()), call.keywords
    kept = [a.copy() for a in arrays]
    baseline = fake.live()
    result = outcome(program, (getattr(gm, family), arrays, keywords), number, error)
    name = fake.failed_call()
    if name is None:
        return None
    what = f"{program.__name__} of {family}: {error} of call {number}, {name}"
    assert error != LAUNCH_FAILURE or is_lost(), what
    fake.revive()
    fake.check()
    raised = result is None
    if not raised:
        np.testing.assert_array_equal(result, wanted, what)
    if raised and not IN_PLACE[family]:
        for a, before in zip(arrays, kept, strict=True):
            np.testing.assert_array_equal(a, before, what)
    del result
    again = small_calls.make(family)
    result = program(getattr(gm, family), list(again.arrays.values()), again.keywords)
    np.testing.assert_array_equal(result, wanted, what)
    assert fake.live() == baseline, (what, fake.live(), baseline)
    fake.check()
    return raised


def sweep(program, family):
    """Fail the program's calls in turn, each in three ways; return how often it raised."""
    for _ in range(2):  # the second time, what gpumem keeps is there
        call = small_calls.make(family)
        fake.fail(0, 0, 0)
        wanted = program(getattr(gm, family), list(call.arrays.values()), call.keywords)
        calls = fake.calls()
    step = max(1, calls // MOST) if MOST else 1
    found = [
        fail_once(program, family, number, error, wanted)
        for number in range(1, calls + 1, step)
        for error in (OUT_OF_MEMORY, OUT_OF_RESOURCES, LAUNCH_FAILURE)
    ]
    return found.count(True)


IN_PLACE = {variant.family: variant.in_place for variant in gm.variants()}
fake.set_pace(10, 1)
for warm in gm.families():
    small_calls.make(warm).run(warm, backend="cuda")
gc.freeze()
print(sum(sweep(program, family) for family in gm.families() for program in (on_host, on_device)))
