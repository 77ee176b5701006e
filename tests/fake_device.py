"""Makes gpumem use tests/fake_cuda: imported first, or a plugin of pytest's, in its own process.

FAKE_CUDA in the environment is the path of the module that building.build_fake_cuda has built.
"""

import ctypes
import gc
import os
import sys

from building import load

_core = load("gpumem._core", os.environ["FAKE_CUDA"])
sys.modules["gpumem._core"] = _core
_library = ctypes.CDLL(os.environ["FAKE_CUDA"])
_library.fake_cuda_set_pace.argtypes = ctypes.c_int, ctypes.c_uint64
_library.fake_cuda_fail.argtypes = ctypes.c_int64, ctypes.c_int64, ctypes.c_int, ctypes.c_int
_library.fake_cuda_calls.restype = ctypes.c_int64
_library.fake_cuda_default_allocations.restype = ctypes.c_int64
for _name in ("failed_call", "why_lost", "complaint"):
    getattr(_library, f"fake_cuda_{_name}").restype = ctypes.c_char_p

set_devices = _library.fake_cuda_set_devices
set_pace = _library.fake_cuda_set_pace
set_most_blocks = _library.fake_cuda_set_most_blocks
protect = _library.fake_cuda_protect
fail = _library.fake_cuda_fail
calls = _library.fake_cuda_calls
default_allocations = _library.fake_cuda_default_allocations
set_archs = _library.fake_cuda_set_archs
revive = _library.fake_cuda_revive
left = _library.fake_cuda_left


def cuda(name, *arguments):
    """Call a function of the runtime, as another library in the process would."""
    error = getattr(_library, name)(*arguments)
    assert error == 0, (name, error)


def failed_call():
    """The name of the call that has failed as fail() asked for, or None."""
    name = _library.fake_cuda_failed_call()
    return name and name.decode()


def check():
    """Fail if something was done that CUDA leaves undefined, or an error was left behind."""
    complaint, lost = _library.fake_cuda_complaint(), _library.fake_cuda_why_lost()
    assert complaint is None, complaint
    assert lost is None, lost
    assert left() == 0


def pytest_runtest_teardown():
    check()


def live():
    """Numbers of device and host allocations, streams, events and textures, after a collection."""
    gc.collect()
    counts = (ctypes.c_int64 * 5)()
    _library.fake_cuda_live(counts)
    return tuple(counts)


class Theirs:
    """An array of another library, on a nonblocking stream of its own, which fills it."""

    def __init__(self, value, count):
        self.stream, self.memory, self.count = ctypes.c_void_p(), ctypes.c_void_p(), count
        nonblocking = 1
        cuda("cudaStreamCreateWithFlags", ctypes.byref(self.stream), nonblocking)
        cuda("cudaMalloc", ctypes.byref(self.memory), ctypes.c_size_t(4 * count))
        self.fill(value)

    def fill(self, value):
        size = ctypes.c_size_t(4 * self.count)
        cuda("cudaMemsetAsync", self.memory, value, size, self.stream)

    def free(self):
        cuda("cudaFree", self.memory)
        cuda("cudaStreamDestroy", self.stream)

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": (self.count,),
            "typestr": "|u4",
            "data": (self.memory.value, False),
            "version": 3,
            "stream": self.stream.value,
        }
