"""What repr shows of a DeviceArray, and what it copies for that."""

import os
import sys

import numpy as np
import pytest

import gpumem as gm

CUBE = np.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)


def place(there):
    return (
        f"shape={there.shape}, dtype='{there.dtype}', backend='{there.backend}', "
        f"device={there.device})"
    )


@pytest.mark.parametrize(
    "here",
    [
        CUBE,
        CUBE.T[::-1],
        CUBE[:, 3:],
        np.array(2.5),
        np.array([True, False]),
        np.array(["a", "bc"]),
        np.array([1 + 2j]),
        np.array(["2026-01-02"], "M8[D]"),
        np.array([(1, (2.5, 3))], [("x", "i4"), ("y", "f8", (2,))]),
        np.arange(64),
    ],
    ids=lambda here: f"{here.dtype}-{here.shape}",
)
def test_small_arrays_are_shown_whole(here, backend):
    there = gm.to_device(here, backend=backend)
    numbers = np.array2string(here, separator=", ", prefix="DeviceArray(")
    assert repr(there) == str(there) == f"DeviceArray({numbers}, {place(there)}"


def test_of_large_arrays_the_ends_are_shown(backend):
    here = np.arange(65.0)
    wanted = "DeviceArray([ 0.,  1.,  2., ..., 62., 63., 64.], "
    for shape in [(65,), (5, 13), (13, 5), (65, 1), (1, 65, 1)]:
        there = gm.to_device(here.reshape(shape), backend=backend)
        assert repr(there) == wanted + place(there)
        turned = gm.to_device(here[::-1].copy(), backend=backend)[::-1]
        assert repr(turned.view()) == wanted + place(turned)
    there = gm.to_device(here.reshape(5, 13), backend=backend).T
    assert repr(there) == "DeviceArray([ 0., 13., 26., ..., 38., 51., 64.], " + place(there)


def test_the_numbers_are_those_of_now(backend):
    there = gm.to_device(np.ones(100, "i2"), backend=backend)
    there[97:98].fill_bytes(0)
    assert "[1, 1, 1, ..., 0, 1, 1]" in repr(there)


def test_print_options_hold(backend):
    there = gm.to_device(np.full(3, 1 / 3), backend=backend)
    with np.printoptions(precision=2):
        assert "[0.33, 0.33, 0.33]" in repr(there)


def test_without_the_numbers(backend, monkeypatch):
    there = gm.DeviceArray((1, 0), "V300", backend=backend)  # too large an element
    assert repr(there) == "DeviceArray(" + place(there)

    def fail(*args, **keywords):
        raise RuntimeError

    there = gm.to_device(CUBE, backend=backend)
    with monkeypatch.context() as patch:
        patch.setattr(np, "array2string", fail)
        assert repr(there) == "DeviceArray(" + place(there)
    assert "23." in repr(there)


def test_an_interrupt_is_not_lost(monkeypatch, backend):
    def interrupt(*args, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "array2string", interrupt)
    with pytest.raises(KeyboardInterrupt):
        repr(gm.to_device(CUBE, backend=backend))


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_huge_array_is_hardly_read():
    """Memory of the simulator is mapped when it is first accessed."""
    there = gm.DeviceArray(2**27, "f8", backend="sim")
    there[:3].fill_bytes(0)
    there[-3:].fill_bytes(0)
    before = resident()
    assert "[0., 0., 0., ..., 0., 0., 0.], shape=(134217728,)" in repr(there)
    assert resident() - before < there.nbytes / 8


def test_nothing_is_left_behind(backend):
    small, large = (gm.to_device(np.ones(n), backend=backend) for n in (10, 100))
    watched = [small, large, small.dtype, np.array2string]
    repr(small), repr(large)
    counts = [sys.getrefcount(value) for value in watched]
    used = gm.pool_info(backend=backend)["device"]["used"]
    for _ in range(50):
        repr(small), repr(large), repr(small[::-1]), repr(large[::-1])
    assert [sys.getrefcount(value) for value in watched] == counts
    assert gm.pool_info(backend=backend)["device"]["used"] == used
