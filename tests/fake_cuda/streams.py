"""Streams, events and transfers on the fake device, which does everything as late as it may."""

import contextlib
import functools
import os
import re

import fake_device as fake  # first
import numpy as np

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle

COUNT = 1000
a = np.arange(COUNT, dtype="f4")


def filled(value):
    return np.full(COUNT, value * 0x01010101, "u4")


def other_libraries():
    """Their work before a call comes before it, and what they do afterwards comes after it."""
    for stream in (None, gm.Stream(backend="cuda")):
        x, y = fake.Theirs(1, COUNT), fake.Theirs(2, COUNT)
        got = gm.copy(x, stream=stream)
        x.fill(3)
        fake.cuda("cudaStreamSynchronize", x.stream)
        np.testing.assert_array_equal(got.to_host(), filled(1))
        assert gm.copy(x, out=y, stream=stream) is y
        np.testing.assert_array_equal(gm.copy(y).to_host(), filled(3))
        x.fill(4)
        total = gm.copy(x, stream=y.stream.value)  # on a nonblocking stream
        x.fill(5)
        on_host = total.to_host()
        np.testing.assert_array_equal(on_host, filled(4))
        released = gm.copy(x, stream=y.stream.value)
        del released  # while it is queued: its memory is the next array's
        fresh = gm.to_device(filled(7))
        fake.cuda("cudaStreamSynchronize", y.stream)
        np.testing.assert_array_equal(fresh.to_host(), filled(7))
        del got, total, fresh
        gm.synchronize("cuda")
        x.free()
        y.free()


def own_streams():
    """Results of one stream are inputs and outputs of another."""
    first, second = gm.Stream(backend="cuda"), gm.Stream(backend="cuda")
    on_device = gm.to_device(a)
    out = gm.DeviceArray(a.shape, a.dtype, backend="cuda")
    events = [_core.Event(backend="cuda") for _ in range(2)]
    events[0].record(first)
    gm.copy(on_device, out=out, stream=first)
    events[1].record(first)
    first.synchronize()
    total = gm.DeviceArray(a.shape, a.dtype, backend="cuda")
    gm.add(out, out, out=total, stream=second)
    np.testing.assert_array_equal(total.to_host(), a + a)
    assert events[0].elapsed(events[1]) >= 0
    with second:
        once = gm.add(on_device, on_device)
        twice = gm.add(once, on_device)
        del once
        np.testing.assert_array_equal(twice.to_host(), a * 3)
    on_device[10:20] = a[:10]
    np.testing.assert_array_equal(on_device[5:25].to_host()[5:15], a[:10])
    on_device.fill_bytes(0)
    assert not on_device.to_host().any()
    gathered = gm.gather(gm.to_device(a), gm.to_device(np.arange(COUNT)[::-1].copy()))
    np.testing.assert_array_equal(gathered.to_host(), a[::-1])
    with contextlib.suppress(IndexError):
        gm.gather(gm.to_device(a), gm.to_device(np.full(3, COUNT)))
        raise AssertionError("no IndexError")


def left_by_kernels():
    """What the kernels of a call leave for each other is not the next array's while they run."""
    x = np.random.default_rng().integers(0, 9, 2**18).astype("f4")
    theirs, ours = fake.Theirs(1, COUNT), gm.Stream(backend="cuda")
    on_device = gm.to_device(x)
    for stream in (theirs.stream.value, ours, None):
        total, sums = gm.reduce(on_device, stream=stream), gm.scan(on_device, stream=stream)
        fresh = [gm.to_device(filled(7)) for _ in range(20)]  # on the default stream
        assert total.to_host() == x.sum()
        np.testing.assert_array_equal(sums.to_host(), x.cumsum(dtype="f8"))
        for array in fresh:
            np.testing.assert_array_equal(array.to_host(), filled(7))
    del total, sums, fresh
    gm.synchronize("cuda")
    theirs.free()


def pieces_do_not_wait():
    """However many pieces an array has whose kernel needs memory, none allocates it for all."""
    x, coefficients = np.random.default_rng().random(2**16, "f4"), np.arange(1, 9, dtype="f4")
    wanted = gm.polynomial(x, coefficients, backend="sim")
    counts = []
    for chunk in (1 << 12, 1 << 14):
        before = fake.default_allocations()
        variant, inputs = "constant_divergent", (x, coefficients)
        got = _core.call("polynomial", variant, inputs, None, None, "cuda", (-1,), chunk)
        np.testing.assert_array_equal(got, wanted)
        counts.append(fake.default_allocations() - before)
    assert counts[0] == counts[1] < 16, counts


def shared_variables():
    """Calls on several streams that use a variable which a device has once."""
    rng = np.random.default_rng(2)
    streams = [gm.Stream(backend="cuda") for _ in range(3)]
    x = rng.random(256, "f4")
    on_device = gm.to_device(x)
    for _ in range(5):
        tables = [rng.random(4, "f4") for _ in streams]
        moved = [gm.to_device(table) for table in tables]  # it waits for all streams
        results = [gm.DeviceArray(x.shape, x.dtype, backend="cuda") for _ in streams]  # as well
        for table, out, stream in zip(moved, results, streams, strict=True):
            gm.polynomial(on_device, table, out=out, variant="constant", stream=stream)
        for table, result in zip(tables, results, strict=True):
            oracle.check("polynomial", result.to_host(), x, table, variant="constant")


def transfers():
    """From and to all kinds of host memory, whole, strided and in pieces."""
    large = np.random.default_rng(1).integers(0, 256, 5 << 20, dtype=np.uint8)
    for kind in (None, "pinned", "write_combined", "mapped", "managed"):
        for source in (a, a.reshape(10, -1).T, large):
            host = source
            if kind:
                host = gm.empty(source.shape, source.dtype, kind=kind, backend="cuda")
                host[...] = source
            there = gm.to_device(host)
            host = host.copy()  # pinned memory is the next array's
            back = gm.empty(source.shape, source.dtype, kind=kind or "pinned", backend="cuda")
            np.testing.assert_array_equal(there.to_host(back), source)
            np.testing.assert_array_equal(there.to_host(), source)
            np.testing.assert_array_equal(gm.copy(host, backend="cuda"), source)
    for chunk in (1 << 10, 1 << 12, 1 << 16):
        got = _core.call("copy", "auto", (large,), None, None, "cuda", (0,), chunk)
        np.testing.assert_array_equal(got, large)
        pair = (a, a[::-1].copy())
        got = _core.call("add", "auto", pair, None, None, "cuda", (), chunk)
        np.testing.assert_array_equal(got, np.full(COUNT, a[-1]))
        there = gm.DeviceArray(large.shape, large.dtype, backend="cuda")
        back = np.empty_like(large)
        _core.transfer(there, large, True, 2, False, 3, None, chunk)
        _core.transfer(there, back, False, 2, False, 3, None, chunk)
        np.testing.assert_array_equal(back, large)


def pools():
    """Released memory stays in the pool until it is trimmed, and nothing more is in use then."""
    if os.environ["FAKE_NO_POOL"]:
        return
    used = gm.pool_info()["device"]["used"]
    for _ in range(10):
        kept = [gm.to_device(a) for _ in range(5)]
        assert gm.pool_info()["device"]["used"] > used
        del kept
    assert gm.pool_info()["device"]["used"] == used
    gm.pool_trim()
    info = gm.pool_info()["device"]
    assert info["reserved"] == info["used"] == used


def out_of_memory():
    """The message says how much was asked for, and how much is free."""
    total = _core.backend_info("cuda")["devices"][0]["memory_bytes"]
    for allocate, nbytes, of in (
        (gm.DeviceArray, 1 << 32, f"of {total / 2**30:.2f} GiB are free"),
        (functools.partial(gm.empty, kind="pinned"), 1 << 50, "of the host's are free"),
        (functools.partial(gm.empty, kind="managed"), 1 << 50, "of the host's are free"),
    ):
        try:
            allocate(nbytes, "u1", backend="cuda")
            raise AssertionError("no MemoryError")
        except MemoryError as error:
            text = str(error)
        assert f"asked for {nbytes} bytes ({nbytes / 2**30:.2f} GiB)" in text, text
        free, in_gib = re.search(r", (\d+) bytes \(([\d.]+) GiB\) of", text).groups()
        assert in_gib == f"{int(free) / 2**30:.2f}" and of in text, text


gm.to_device(a)
for pace in (0, 50, 100):
    fake.set_pace(pace, 7)
    for work in (
        other_libraries,
        own_streams,
        left_by_kernels,
        pieces_do_not_wait,
        shared_variables,
        transfers,
        pools,
        out_of_memory,
    ):
        fake.protect(work is not transfers)  # which takes long where much memory is in use
        work()
        fake.check()
    gm.pool_trim()
    print(*fake.live())
