"""A signal handler with little memory calls gpumem while a kernel runs.

That call runs on a host thread of its own. The thread gets a stack, but there is no memory for its
variables. A process of its own; prints what each call came to: before, in the handler with little
memory and with all there is, and after the kernel.
"""

import ctypes
import json
import resource
import signal
from pathlib import Path

import numpy as np
from midway import bytes_of

import gpumem as gm

LARGE, SPARE = 100_000, 5  # bytes; the variables take 1.7 MB
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
wait = gm.load(
    source="""
    __global__ void wait(volatile unsigned *flags)
    {
        while (!flags[1]) {
            flags[0]++;  /* a spin that changes nothing would be an error after a second */
        }
    }
    """
)["wait"]
flags = gm.to_device(np.zeros(2, "u4"))
begun, handled = bytes_of(flags).view("u4").reshape(2, 1)
a = np.arange(1000)
out = np.empty_like(a)
outcomes = []


def copy():
    out[:] = 0
    try:
        gm.copy(a, out=out)
        outcomes.append("right" if (out == a).all() else "wrong")
    except MemoryError as error:
        outcomes.append(str(error))


def leave_a_stack():
    """Have the next thread take the stack of one that has ended, and had none of the variables."""
    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, libc.abs, None) == 0
    assert libc.pthread_join(thread, None) == 0


def take_all():
    """Take all memory but a few blocks."""
    spare = [libc.malloc(LARGE) for _ in range(SPARE)]
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
    taken = list(iter(lambda: libc.malloc(LARGE), None))
    for block in spare:
        libc.free(block)
    return taken


def give(taken):
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    for block in taken:
        libc.free(block)


def handler(*_):
    if not begun:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        return
    leave_a_stack()
    taken = take_all()
    copy()
    give(taken)
    copy()
    handled[:] = 1


copy()
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.01)
wait[1, 1](flags)
copy()
print(json.dumps(outcomes))
