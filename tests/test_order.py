"""Temporaries of other libraries on a GPU: nobody reuses their memory before a call has read it.

In each round our stream is busy with a long kernel, so that the call waits in its queue. Its array
is gone at once, and the library gives the memory to arrays that it fills on its own stream. Then
the result of the call is read. A round whose kernel is too short for that passes whatever the order
is: no round fails because something is slow.
"""

import contextlib
import gc
import weakref

import numpy as np
import pytest
from gpu_libraries import Cupy, Torch, says_its_stream

import gpumem as gm

pytestmark = pytest.mark.gpu

ROUNDS = 1000
TICKS = 1_000_000  # half a millisecond: the time in which the host queues the rest of a round
COUNT = 1 << 16


@pytest.fixture(params=[Torch, Cupy])
def library(request):
    return request.param()


# ---- the stream of our calls -------------------------------------------------------------------


class Queue:
    """A stream for our calls: as the library has it, and as the calls get it."""

    def __init__(self, library, kind):
        self.library, self.kind = library, kind
        own = gm.Stream() if kind in ("gpumem", "entered") else None
        if kind == "theirs":
            self.theirs = library.stream()
        else:
            self.theirs = library.as_stream(own.handle if own else 0)
        self.given = {"gpumem": own, "theirs": self.theirs}.get(kind)
        self.entered = own if kind == "entered" else contextlib.nullcontext()

    def delay(self):
        with self.library.on(self.theirs):
            self.library.spin(TICKS)


@pytest.fixture(params=["default", "gpumem", "theirs", "entered"])
def queue(request, library):
    return Queue(library, request.param)


# ---- ways in -----------------------------------------------------------------------------------


class Capsules:
    """An array of a library that has __dlpack__ alone, as PyTorch's were before version 2.11."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **keywords):
        return self.x.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


class Interface:
    """An array that has __cuda_array_interface__ alone."""

    def __init__(self, x):
        self.x = x

    @property
    def __cuda_array_interface__(self):
        return self.x.__cuda_array_interface__


def as_it_is(x):
    if not says_its_stream(x):
        pytest.skip("this library does not say its stream")
    return x


def by_interface(x):
    if "stream" not in x.__cuda_array_interface__:
        pytest.skip("this library's interface names no stream")
    return Interface(x)


WAYS_IN = {
    "as it is": as_it_is,
    "__dlpack__": Capsules,
    "interface": by_interface,
    "from_dlpack": gm.from_dlpack,
    "from_dlpack of a view": lambda x: gm.from_dlpack(x)[::-1][::-1],
}


# ---- what is done with it ----------------------------------------------------------------------


def into_ours(x, stream):
    made = gm.DeviceArray(COUNT)
    return gm.copy(x, out=made, stream=stream)


def in_two_calls(x, stream):
    kept = gm.from_dlpack(x)
    gm.copy(kept, stream=stream)
    return gm.strided_read(kept, 0, 1, stream=stream)


def assigned(x, stream):
    """Runs on the default stream."""
    made = gm.DeviceArray(COUNT)
    made[...] = x
    return made


def by_a_copy(x, stream):
    return gm.from_dlpack(x).copy(stream=stream)


def as_a_copy(x, stream):
    """Runs on the default stream."""
    return gm.from_dlpack(x, copy=True)


def by_numpy(x, stream):
    return gm.from_dlpack(x).to_host(stream=stream)


CALLS = {
    "out": into_ours,
    "two calls": in_two_calls,
    "assigned": assigned,
    "copy": by_a_copy,
    "copy=True": as_a_copy,
    "to_host": by_numpy,
}


def rounds(library, queue, call):
    """Run `call` on temporaries of different values; return the rounds whose result is wrong."""
    theirs, wrong = library.stream(), []
    with library.on(theirs):
        for number in range(ROUNDS):
            queue.delay()
            with queue.entered:
                got = call(library.full(COUNT, number), queue.given)
            # The array is gone; the same memory is the likeliest for the next ones.
            others = [library.full(COUNT, -1) for _ in range(3)]
            here = got if isinstance(got, np.ndarray) else got.to_host()
            if not (here == number).all():
                wrong.append(number)
            del others
    return wrong


@pytest.mark.parametrize("way", WAYS_IN)
def test_a_temporary_is_read_before_its_memory_is_reused(library, queue, way):
    lend = WAYS_IN[way]
    assert not rounds(library, queue, lambda x, stream: gm.copy(lend(x), stream=stream))


@pytest.mark.parametrize("name", CALLS)
def test_by_every_kind_of_call(library, queue, name):
    assert not rounds(library, queue, CALLS[name])


def test_by_a_loaded_kernel(library, queue):
    kernel = gm.load(
        source="""__global__ void move(const float *x, float *y) {
            int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i]; }"""
    )["move"]

    def launch(x, stream):
        made = gm.DeviceArray(COUNT)
        kernel[COUNT // 256, 256, stream](as_it_is(x), made)
        return made

    assert not rounds(library, queue, launch)


def test_a_result_in_a_temporary_is_read_after_the_call(library, queue):
    """The library reads its array on its own stream, which waits for our call."""
    theirs, wrong = library.stream(), []
    a = [gm.to_device(np.full(COUNT, value, "f4")) for value in (1, 2)]
    gm.synchronize()
    with library.on(theirs):
        for number in range(ROUNDS):
            out = as_it_is(library.full(COUNT, -1))
            queue.delay()
            with queue.entered:
                gm.copy(a[number % 2], out=out, stream=queue.given)
            if not (library.host(out + 0) == number % 2 + 1).all():
                wrong.append(number)
    assert not wrong


# ---- what is held ------------------------------------------------------------------------------


class Owner:
    """A producer whose end can be seen."""

    def __init__(self, x):
        self.__cuda_array_interface__ = x.__cuda_array_interface__ | {"stream": None}
        self.x = x


def test_memory_is_held_until_the_call_is_done(library):
    """And no longer than until the next call that makes an array, or synchronize."""
    queue = Queue(library, "theirs")
    for release in (gm.synchronize, lambda: gm.DeviceArray(1)):
        owner = Owner(library.full(COUNT, 5))
        alive = weakref.ref(owner)
        gm.synchronize()
        with library.on(queue.theirs):
            library.spin()
        got = gm.copy(gm.from_dlpack(owner), stream=queue.given)
        del owner
        gc.collect()
        assert alive() is not None  # nobody has asked whether it is done
        assert (got.to_host() == 5).all()
        release()
        assert alive() is None


def test_memory_that_nothing_used_is_not_held(library):
    for use in (lambda d: None, lambda d: d.shape, lambda d: d.to_host()):
        owner = Owner(library.full(COUNT, 5))
        alive = weakref.ref(owner)
        use(gm.from_dlpack(owner))
        del owner
        gc.collect()
        assert alive() is None
