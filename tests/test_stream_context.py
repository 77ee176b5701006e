"""Streams as context managers: which stream calls without one join."""

import asyncio
import copy
import sys
import threading

import numpy as np
import pytest

import gpumem as gm
from gpumem import _core


def used(backend, stream=None):
    """The handle of the stream that a call on the device runs on."""
    a, out = (gm.DeviceArray(3, backend=backend) for _ in range(2))
    return _core.prepare("copy", "auto", (a,), out, stream, (0,)).stream


def test_calls_join_the_innermost(backend):
    outer, inner = gm.Stream(backend=backend), gm.Stream(backend=backend)
    assert used(backend) == 0 and gm.Stream.current(backend=backend) is None
    with outer as entered:
        assert entered is outer is gm.Stream.current(backend=backend)
        assert used(backend) == outer.handle
        with inner, inner:
            assert used(backend) == inner.handle
            assert used(backend, outer) == outer.handle
        assert used(backend) == outer.handle
    assert used(backend) == 0 and gm.Stream.current(backend=backend) is None


def test_it_ends_with_an_exception(backend):
    with pytest.raises(ZeroDivisionError), gm.Stream(backend=backend):
        1 / 0  # noqa: B018
    assert used(backend) == 0


def test_streams_end_in_order(backend):
    outer, inner = gm.Stream(backend=backend), gm.Stream(backend=backend)
    with pytest.raises(RuntimeError, match="not the stream that was entered last"):
        outer.__exit__(None, None, None)
    with outer, inner:
        with pytest.raises(RuntimeError, match="not the stream that was entered last"):
            outer.__exit__(None, None, None)
        assert used(backend) == inner.handle


def test_each_thread_and_task_has_its_own(backend):
    streams = [gm.Stream(backend=backend) for _ in range(4)]
    barrier = threading.Barrier(len(streams))
    found = {}

    def run(i):
        with streams[i]:
            barrier.wait()
            found[i] = used(backend)
            barrier.wait()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(streams))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: stream.handle for i, stream in enumerate(streams)}
    assert used(backend) == 0

    async def task(stream, wait, go):
        with stream:
            go.set()
            await wait.wait()
            return used(backend)

    async def both():
        first, second = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(
            task(streams[0], second, first), task(streams[1], first, second)
        )

    assert asyncio.run(both()) == [streams[0].handle, streams[1].handle]


def test_every_way_of_a_device_array_inside(backend):
    here = np.arange(24.0).reshape(4, 6)
    with gm.Stream(backend=backend) as stream:
        there = gm.to_device(here, backend=backend)
        there[1:, ::2] = there[:-1, 1::2]
        there[0] = 7
        result = gm.copy(there.T)
        copies = [copy.deepcopy(result), result.T.ravel(), result.T.copy(), result.flatten()]
        result.fill_bytes(0)
        assert gm.copy(here, backend=backend).tolist() == here.tolist()
        stream.synchronize()
    here[1:, ::2] = here[:-1, 1::2].copy()
    here[0] = 7
    for got, wanted in zip(copies, [here.T, here.ravel(), here, here.T.ravel()], strict=True):
        np.testing.assert_array_equal(got.to_host(), wanted)
    assert not result.to_host().any()


def test_a_prepared_call_keeps_its_stream(backend):
    a = gm.to_device(np.ones(5), backend=backend)
    stream = gm.Stream(backend=backend)
    count = sys.getrefcount(stream)
    with stream:
        prepared = _core.prepare("copy", "auto", (a,), gm.copy(a), None, (0,))
    assert sys.getrefcount(stream) == count + 1
    prepared.launch()
    del prepared
    assert sys.getrefcount(stream) == count


def test_no_reference_stays(backend):
    stream = gm.Stream(backend=backend)
    count = sys.getrefcount(stream)
    for _ in range(20):
        with stream, stream:
            used(backend)
            gm.Stream.current(backend=backend)
            with pytest.raises(RuntimeError):
                gm.Stream(backend=backend).__exit__()
    assert sys.getrefcount(stream) == count


@pytest.mark.gpu
def test_streams_of_another_backend_are_passed_by():
    with gm.Stream(backend="cuda") as there, gm.Stream(backend="sim") as here:
        assert used("cuda") == there.handle and used("sim") == here.handle
    with gm.Stream(backend="sim"):
        assert used("cuda") == 0
