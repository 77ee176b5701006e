"""Bytes between the host and a device: the extension's calls that benchmarks are made of."""

import numpy as np
import pytest

import gpumem as gm
from gpumem import _core
from gpumem.measure.transfers import KINDS


def on(kind, nbytes, backend, value=None):
    a = gm.empty(nbytes, "u1", kind=kind, backend=backend)
    a[...] = np.random.default_rng(nbytes).integers(256, size=nbytes) if value is None else value
    return a


# ---- _core.over ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pinned", "write_combined", "mapped", "managed"])
def test_a_host_array_as_one_of_the_device(kind, backend):
    a = on(kind, 1000, backend)
    d = _core.over(a, backend)
    assert (d.shape, d.dtype, d.backend, d.pointer) == ((1000,), a.dtype, backend, a.ctypes.data)
    assert np.array_equal(gm.copy(d[1::3]).to_host(), a[1::3])
    gm.copy(gm.to_device(np.arange(1000, dtype="u1"), backend=backend), out=d)
    gm.synchronize(backend)
    assert np.array_equal(a, np.arange(1000, dtype="u1"))
    del a  # which the device array keeps
    assert d.to_host()[999] == 999 % 256


def test_what_the_device_cannot_reach(backend):
    with pytest.raises(ValueError, match=r"a is in memory that backend .* cannot reach"):
        _core.over(np.ones(3), backend)
    with pytest.raises(ValueError, match="cannot reach"):
        _core.over(gm.empty(3, backend=backend), backend)
    with pytest.raises(ValueError, match="backend"):
        _core.over(on("pinned", 3, backend), "gpu")
    with pytest.raises(TypeError):
        _core.over([1, 2], backend)
    a = on("pinned", 3, backend)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="a is read-only"):
        _core.over(a, backend)


# ---- _core.transfer -----------------------------------------------------------------------------


@pytest.mark.parametrize("driver", [False, True])
@pytest.mark.parametrize("kind", [one for one in KINDS if one != "pageable_driver"])
def test_bytes_arrive_in_pieces(kind, driver, backend):
    for nbytes, pieces in ((0, 3), (1, 1), (1, 5), (1000, 7), (70_001, 16), (3_000_001, 1)):
        a, device = on(kind, nbytes, backend), _core.DeviceArray((nbytes,), "u1", backend=backend)
        device.fill_bytes(0xA5)
        _core.transfer(device, a, True, 2, driver, pieces)
        assert np.array_equal(device.to_host(), a)
        back = on(kind, nbytes, backend, 0xA5)
        _core.transfer(device, back, False, 1, driver, pieces, gm.Stream(backend=backend))
        assert np.array_equal(back, a)


def test_a_count_of_nothing_moves_nothing(backend):
    device = gm.to_device(np.zeros(100, "u1"), backend=backend)
    _core.transfer(device, np.ones(100, "u1"), True, 0, False)
    assert not device.to_host().any()


def test_pageable_memory_goes_by_chunks_or_as_the_driver_does_it(backend):
    a = np.random.default_rng(0).integers(256, size=300_007, dtype="u1")
    for driver in (False, True):
        device = _core.DeviceArray(a.shape, "u1", backend=backend)
        back = np.zeros_like(a)
        _core.transfer(device, a, True, 1, driver, chunk=2**14)
        _core.transfer(device, back, False, 1, driver, chunk=2**14)
        assert np.array_equal(a, back)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"host": np.ones(99, "u1")}, ValueError, "host has 99 bytes, expected .* device, 100"),
        ({"host": np.ones(200, "u1")[::2]}, ValueError, "host is not C-contiguous"),
        ({"host": b"x" * 100}, TypeError, "ndarray"),
        ({"host": np.array([None] * 100)}, TypeError, "host has dtype .*Python's memory"),
        ({"device": np.ones(100, "u1")}, TypeError, "DeviceArray"),
        ({"count": -1}, ValueError, "count is -1"),
        ({"count": 2**64}, OverflowError, "too (big|large)"),
        ({"pieces": 0}, ValueError, "pieces is 0"),
        ({"chunk": -1}, ValueError, "chunk is -1"),
        ({"chunk": "1M"}, TypeError, "int"),
        ({"stream": object()}, TypeError, "stream must be"),
    ],
)
def test_transfers_that_cannot_be(change, error, words):
    device = gm.to_device(np.zeros(100, "u1"), backend="sim")
    good = {"device": device, "host": np.ones(100, "u1"), "to_device": True, "count": 1}
    with pytest.raises(error, match=words):
        _core.transfer(**good | {"driver": False} | change)
    assert not device.to_host().any()


def test_neither_into_what_is_read_only_nor_onto_itself():
    a = on("mapped", 100, "sim", 7)
    d = _core.over(a, "sim")
    with pytest.raises(ValueError, match="share memory"):
        _core.transfer(d, a, True, 1, False)
    with pytest.raises(ValueError, match="not C-contiguous"):
        _core.transfer(d[::2], np.ones(50, "u1"), True, 1, False)
    frozen = np.zeros(100, "u1")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="host is read-only"):
        _core.transfer(d, frozen, False, 1, False)
    _core.transfer(d, frozen, True, 1, False)  # only read
    assert not a.any()


# ---- from device to device ----------------------------------------------------------------------


@pytest.mark.parametrize(("nbytes", "pieces"), [(0, 3), (1, 1), (2, 5), (1000, 7), (300_001, 16)])
def test_bytes_go_to_another_array_in_pieces(nbytes, pieces, backend):
    a = on("pageable", nbytes, backend)
    source, target = gm.to_device(a, backend=backend), gm.DeviceArray(nbytes, "u1", backend=backend)
    target.fill_bytes(0xA5)
    _core.send(source, target, 2, pieces)
    assert np.array_equal(target.to_host(), a)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"target": gm.DeviceArray(99, "u1", backend="sim")}, ValueError, "target has 99 bytes"),
        ({"target": np.ones(100, "u1")}, TypeError, "DeviceArray"),
        ({"target": gm.DeviceArray(200, "u1", backend="sim")[::2]}, ValueError, "target is not C"),
        ({"source": gm.DeviceArray(200, "u1", backend="sim")[::2]}, ValueError, "source is not C"),
        ({"count": -1}, ValueError, "count is -1"),
        ({"pieces": 0}, ValueError, "pieces is 0"),
        ({"count": 2**62, "pieces": 4}, ValueError, "count is"),
    ],
)
def test_what_cannot_be_sent(change, error, words):
    target = gm.to_device(np.zeros(100, "u1"), backend="sim")
    source = gm.to_device(np.ones(100, "u1"), backend="sim")
    with pytest.raises(error, match=words):
        _core.send(**{"source": source, "target": target, "count": 1} | change)
    assert not target.to_host().any()
    with pytest.raises(ValueError, match="share memory"):
        _core.send(source, source, 1)


def test_the_simulator_reaches_its_own_memory_alone():
    assert _core.can_reach(0, 0, "sim") and _core.let_reach(0, 0, True, "sim")
    with pytest.raises(ValueError, match="device 0 always reaches the memory of device 0"):
        _core.let_reach(0, 0, False, "sim")
    for pair in ((0, 1), (2, 0), (-1, 0)):
        with pytest.raises(ValueError, match=r"device is -?\d, the simulator has device 0 alone"):
            _core.can_reach(*pair, "sim")
        with pytest.raises(ValueError, match="the simulator has device 0 alone"):
            _core.let_reach(*pair, True, "sim")


def test_an_array_reached_from_a_device_keeps_its_memory():
    d = gm.to_device(np.arange(10), backend="sim")
    reached = _core.reach(d[2:], 0)
    pointer = d.pointer
    del d
    assert (reached.pointer, reached.device, reached.shape) == (pointer + 16, 0, (8,))
    assert np.array_equal(gm.copy(reached).to_host(), np.arange(2, 10))
    with pytest.raises(ValueError, match="the simulator has device 0 alone"):
        _core.reach(reached, 1)
    with pytest.raises(TypeError):
        _core.reach(np.ones(3), 0)
