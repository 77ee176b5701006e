"""How often the driver is asked whose memory an array of another library is; prints the numbers."""

import contextlib
import os

import fake_device as fake  # first
import numpy as np

import gpumem as gm

COUNT = 1000
fake.set_devices(int(os.environ["FAKE_DEVICES"]))


class OnHost:
    """An array that says that memory of the host were the device's."""

    def __init__(self):
        self.memory = np.zeros(COUNT, "u4")

    @property
    def __cuda_array_interface__(self):
        there = {"data": (self.memory.ctypes.data, False)}
        return {"shape": (COUNT,), "typestr": "<u4", "version": 3, "stream": 1} | there


def calls(work):
    before = fake.calls()
    work()
    return fake.calls() - before


def check_refused():
    with contextlib.suppress(ValueError):
        gm.copy(OnHost())
        raise AssertionError("no ValueError")


theirs, others = fake.Theirs(1, COUNT), fake.Theirs(2, COUNT)
out = gm.DeviceArray((COUNT,), "u4", backend="cuda")
gm.copy(out)  # loads the kernels
for _ in range(2):
    check_refused()
first = calls(lambda: gm.copy(theirs, out=out))
again = calls(lambda: gm.copy(theirs, out=out))
np.testing.assert_array_equal(out.to_host(), np.full(COUNT, 0x01010101, "u4"))
another = calls(lambda: gm.copy(others, out=out))
np.testing.assert_array_equal(out.to_host(), np.full(COUNT, 0x02020202, "u4"))
check_refused()
print(first - again, another - again)
fake.check()
