"""Many threads do everything at once, on the simulator: in parallel where Python has no GIL."""

import functools
import gc
import itertools
import sys
import weakref

import dlpack
import numpy as np
import pytest
import small_calls
from made_up import MadeUpDevice
from processes import at_once

import gpumem as gm
from gpumem import _core

THREADS, ROUNDS = 8, 24
FAMILIES = [row["name"] for row in _core.families()]
SOURCE = """
template <class T> __global__ void scale(T *x, T by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
template __global__ void scale(float *, float, int);
__constant__ float offset = OFFSET;
__global__ void shift(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] + offset; }
"""
SIX = np.arange(6, dtype="f4")


@pytest.fixture(autouse=True, scope="module")
def switching():
    """With a GIL, threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@functools.cache
def prepared_call(family):
    return small_calls.make(family)


def same(got, wanted):
    got = got.to_host() if isinstance(got, gm.DeviceArray) else got
    return np.allclose(got, wanted, rtol=1e-4, atol=1e-4)


# ---- what threads do ------------------------------------------------------------------------


def call_families(number):
    """Host arrays, device arrays, and device arrays that must be copied first."""
    for family in FAMILIES[number % 2 :: 2]:
        call = prepared_call(family)
        inputs = {name: a.copy() for name, a in call.arrays.items()}
        wanted = call.run(family, backend="sim", **{n: a.copy() for n, a in inputs.items()})
        there = {name: gm.to_device(a, backend="sim") for name, a in inputs.items()}
        if not same(call.run(family, **there), wanted):
            return family
    return None


@functools.cache
def layouts():
    """Calls with many layouts, on device arrays that all threads share, and what NumPy makes."""
    calls = []

    def add(wanted, function, *arguments):
        calls.append((functools.partial(function, *arguments), np.ascontiguousarray(wanted)))

    random = np.random.default_rng(0)
    shapes = [(3, 16, 20), (33, 5, 7), (8, 40, 3), (2, 3, 5, 16)]
    for shape, dtype, skipped in itertools.product(shapes, ["u1", "i2", "f4"], [0, 1]):
        a = random.integers(0, 256, (shape[0] + skipped, *shape[1:])).astype(dtype)
        there = gm.to_device(a, backend="sim")[skipped:]
        a = a[skipped:]
        for axes in itertools.permutations(range(a.ndim)):
            add(a.transpose(axes), gm.permute, there, axes)
        for here, view in [(a, there), (a[..., ::2], there[..., ::2]), (a[:, 1:], there[:, 1:])]:
            add(here, gm.copy, view)
        for rows in (shape[0], shape[0] * shape[1]):
            add(a.reshape(rows, -1).T, gm.transpose, there.reshape(rows, -1))
    for m, k, n in itertools.product([1, 8, 33], repeat=3):
        a, b = random.random((m, k), "f4"), random.random((k, n), "f4")
        left, right = gm.to_device(a, backend="sim"), gm.to_device(b, backend="sim")
        add(a @ b, gm.matmul, left, right)
        add(b.T @ a.T, gm.matmul, right.T, left.T)
    return calls


def call_layouts(number):
    """A thread keeps variants and plans of few layouts; here it meets more, in its own order."""
    calls = layouts()
    for i in np.random.default_rng(number).permutation(len(calls)):
        call, wanted = calls[i]
        got = call()
        if got.shape != wanted.shape or got.dtype != wanted.dtype or not same(got, wanted):
            return call.func.__name__, wanted.shape, wanted.dtype
    return None


def trace_calls(number):
    a = np.arange(4096, dtype="f4")
    name = ("scalar", "vec2", "vec4")[number % 3]
    report = gm.traffic("copy", a, variant=name)
    right = report.bytes_asked == 2 * a.nbytes and np.array_equal(report.result, a)
    return None if right else name


def make_and_drop_arrays(number):
    live = []
    for step in range(40):
        d = gm.DeviceArray((4, 3 + step % 5), "i4", backend="sim")
        d.fill_bytes(0)
        d[...] = number
        d[1:3, ::2] = step
        live.append(d.T.astype("f8"))
        seen = weakref.ref(d)
        del d
        if seen() is not None:
            gc.collect()
        if step % 3 == 0:
            del live[: len(live) // 2]
    return None if all(set(d[:, 0].tolist()) == {number} for d in live) else "an array"


def exchange_arrays(number):
    here = np.full(64, number, "f8")
    d = gm.to_device(here, backend="sim")
    for _ in range(20):
        lent = np.from_dlpack(d[::2])
        back = gm.from_dlpack(lent)
        copied = gm.copy(dlpack.Producer(here, legacy=number % 2 == 0), backend="sim")
        del lent
        if back.tolist() != here[::2].tolist() or not np.array_equal(copied, here):
            return "an exchanged array"
    return None


def change_types(number):
    """What is remembered of a type must not outlive a change to it."""
    for _ in range(10):
        kind = type("Kind", (dlpack.Producer,), {})
        if not np.array_equal(gm.copy(kind(SIX), backend="sim"), SIX):
            return "a producer"
        kind.__dlpack_device__ = lambda self: (dlpack.ROCM, 0)
        try:
            gm.copy(kind(SIX), backend="sim")
        except TypeError:
            continue
        return "a changed type"
    return None


def enter_streams(number):
    outer = gm.Stream(backend="sim")
    for _ in range(20):
        with outer, gm.Stream(backend="sim") as inner:
            if gm.Stream.current(backend="sim") is not inner:
                return "a stream"
        if gm.Stream.current(backend="sim") is not None:
            return "a stream that was left"
    return None


def load_kernels(number):
    """Two sources for all threads, which compile the same one at once."""
    module = gm.load(source=SOURCE.replace("OFFSET", str(number % 2)), backend="sim")
    x, y = SIX.copy(), np.empty_like(SIX)
    for step in range(5):
        module["scale<float>"][1, 6](x, 2.0, 6)
        module["shift"][1, 6](x, y)
        if not np.array_equal(y, SIX * 2.0 ** (step + 1) + number % 2):
            return "a loaded kernel"
    report = gm.traffic(module["shift"][1, 6], x, y)
    return None if report.bytes_asked >= 2 * x.nbytes else "a traced kernel"


def measure(number):
    result = gm.bench("copy", sizes=[2**12], device=MadeUpDevice(), samples=(2, 3))
    return None if result.records else "a benchmark"


JOBS = (
    call_families,
    call_layouts,
    make_and_drop_arrays,
    exchange_arrays,
    change_types,
    enter_streams,
    load_kernels,
    trace_calls,
    measure,
)


# ---- tests ------------------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """A cache of compiled sources that is empty at first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUMEM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.__name__)
def test_all_threads_do_the_same(job):
    assert at_once(THREADS, job) == [None] * THREADS


def test_threads_do_different_things():
    def work(number):
        for step in range(ROUNDS):
            wrong = JOBS[(number + step) % len(JOBS)](number)
            if wrong:
                return wrong
        return None

    assert at_once(THREADS, work) == [None] * THREADS


def test_threads_share_objects():
    """One array, kernel, stream, module variable and prepared call for all."""
    module = gm.load(source=SOURCE.replace("OFFSET", "1"), backend="sim")
    shift, stream = module["shift"][1, 6], gm.Stream(backend="sim")
    there = gm.to_device(SIX, backend="sim")
    out = gm.DeviceArray(6, backend="sim")
    prepared = _core.prepare("copy", "auto", (there,), out, stream, (0,))

    def work(number):
        y = np.empty_like(SIX)
        for _ in range(30):
            shift(there, y)
            prepared.launch()
            with stream:
                views = there[::-1][::-1], there.reshape(2, 3).reshape(6)
            wanted = [SIX.tolist()] * 3
            if [gm.copy(v, stream=stream).tolist() for v in (*views, there)] != wanted:
                return "views"
            if not np.array_equal(y, SIX + 1):
                return "a kernel"
        return None

    assert at_once(THREADS, work) == [None] * THREADS
    assert out.tolist() == SIX.tolist()


class OneCapsule(dlpack.Producer):
    """Gives all who ask the same capsule, as no producer should."""

    def __dlpack__(self, **keywords):
        return self.capsule


def test_one_capsule_goes_to_one_thread():
    def work(number):
        try:
            return gm.from_dlpack(producer).tolist()
        except TypeError as error:
            assert "a capsule that nobody has used" in str(error)
            return None

    for step in range(30):
        producer = OneCapsule(SIX, legacy=step % 2 == 0)
        producer.capsule = dlpack.Producer.__dlpack__(producer)
        taken = [got for got in at_once(THREADS, work) if got is not None]
        assert taken == [SIX.tolist()]
        gc.collect()
        assert producer.freed == 1
