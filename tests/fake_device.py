"""Makes gpumem use tests/fake_cuda: imported first in a process of its own.

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
_library.fake_cuda_fail.argtypes = ctypes.c_int64, ctypes.c_int, ctypes.c_int
_library.fake_cuda_calls.restype = ctypes.c_int64
for _name in ("failed_call", "why_lost", "complaint"):
    getattr(_library, f"fake_cuda_{_name}").restype = ctypes.c_char_p

set_devices = _library.fake_cuda_set_devices
set_pace = _library.fake_cuda_set_pace
protect = _library.fake_cuda_protect
fail = _library.fake_cuda_fail
calls = _library.fake_cuda_calls
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


def live():
    """Numbers of device and host allocations, streams, events and textures, after a collection."""
    gc.collect()
    counts = (ctypes.c_int64 * 5)()
    _library.fake_cuda_live(counts)
    return tuple(counts)
