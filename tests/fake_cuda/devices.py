"""Arrays of two fake devices, which reach each other's memory only where that was enabled."""

import contextlib

import fake_device as fake  # first

fake.set_devices(2)

import numpy as np  # noqa: E402

import gpumem as gm  # noqa: E402
from gpumem import _core  # noqa: E402

a = np.arange(5000, dtype="f4")


@contextlib.contextmanager
def device(number):
    """Make a device the current one, which calls must leave as it is."""
    fake.cuda("cudaSetDevice", number)
    yield
    assert gm.DeviceArray(1, "u1", backend="cuda").device == number
    fake.cuda("cudaSetDevice", 0)


def check():
    with device(1):
        second = gm.to_device(a, backend="cuda")
        assert second.device == 1
    first = gm.to_device(a + 1, backend="cuda")
    assert first.device == 0
    for current in (0, 1):
        with device(current):  # a call runs where its arrays are
            doubled = gm.add(second, second)
            assert doubled.device == 1
            np.testing.assert_array_equal(doubled.to_host(), a + a)
            np.testing.assert_array_equal(gm.copy(first).to_host(), a + 1)
            del doubled
    there = gm.DeviceArray(a.shape, a.dtype, backend="cuda")
    _core.send(second, there, 1, 3)
    np.testing.assert_array_equal(there.to_host(), a)
    near = second.copy(device=0)
    assert near.device == 0
    np.testing.assert_array_equal(near.to_host(), a)
    del near
    if _core.can_reach(0, 1, "cuda"):
        before = _core.let_reach(0, 1, True, "cuda")
        near = gm.copy(_core.reach(second, 0))
        assert near.device == 0
        np.testing.assert_array_equal(near.to_host(), a)
        assert _core.let_reach(0, 1, before, "cuda")
        del near
    with device(1):
        del first, there  # each is released on its own device
    del second


fake.protect(True)
for pace in (0, 20, 100):
    fake.set_pace(pace, 11)
    check()
    fake.check()
    print(*fake.live())
