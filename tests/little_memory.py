"""Threads whose first call finds little memory: an error or the right result, and never the end.

A process of its own; FIRST in the environment says what threads do at first. Prints how many of
them got an error, and how many the right result.
"""

import _thread
import collections
import ctypes
import os
import resource
import sys
from pathlib import Path

import numpy as np

import gpumem as gm

LARGE, SMALL, MOST = 100_000, 600, 200_000  # bytes, and how many blocks at most
KERNEL = """
__global__ void kernel_%d(const float *x, float *y)
{
    __shared__ float tile[12000];
    tile[31 - threadIdx.x] = x[31 - threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];
}
"""
LOADED = "".join(KERNEL % number for number in range(20))  # 960 KB of shared memory in all
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
RESERVE = 100 << 20  # bytes: less than what a launch takes, with its stacks
blocks = (ctypes.c_void_p * MOST)()
a = np.arange(1 << 18, dtype="f4")
matrix = a.reshape(512, 512)
out, turned = np.empty_like(a), np.empty_like(matrix)
kernel = gm.load(
    source="""
    __global__ void reverse(const float *x, float *y)
    {
        __shared__ float tile[64];
        tile[63 - threadIdx.x] = x[blockIdx.x * 64 + 63 - threadIdx.x];
        __syncthreads();
        y[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];
    }
    """,
    backend="sim",
)["reverse"]


def copy():
    out[:] = 0
    gm.copy(a, out=out, backend="sim")
    return bool((out == a).all())


def permute():
    turned[:] = 0
    gm.permute(matrix, (1, 0), out=turned, backend="sim")
    return bool((turned == matrix.T).all())


def launch():
    out[:] = 0
    kernel[a.size // 64, 64](a, out)
    return bool((out == a).all())


def refuse():
    """A wrong call is a MemoryError if there is none to say what was wrong."""
    try:
        gm.transpose(a[:64].reshape(1, 8, 8), variant="tile", backend="sim")
    except ValueError as error:
        return "takes 2" in str(error)
    return False


def load():
    """The loader, too, says that memory ran out."""
    kernel = gm.load(source=LOADED, backend="sim")["kernel_7"]
    out[:] = 0
    kernel[1, 32](a, out)
    return bool((out[:32] == a[:32]).all())


def locked():
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


def take_all_but(large):
    """Take all memory but so many large blocks; return how many blocks are taken."""
    taken = 0
    for size in (LARGE, SMALL) if large == 0 else (LARGE,):
        while block := libc.malloc(size):
            blocks[taken] = block
            taken += 1
    return give(taken, max(taken - large, 0))


def give(taken, rest):
    while taken > rest:
        taken -= 1
        libc.free(blocks[taken])
    return taken


def end(unraisable):
    """An unexpected error of a thread ends the process, which would wait for the thread."""
    sys.__unraisablehook__(unraisable)
    os._exit(1)


def run(first, room):
    """Have a thread make its first call with little memory, and another with all there is."""
    ready, limited, tried, freed, done = (locked() for _ in range(5))
    found = []

    def work():
        ready.release()
        limited.acquire()
        taken = take_all_but(room)
        try:
            found.append(first())
        except MemoryError:
            pass
        give(taken, 0)
        tried.release()
        freed.acquire()
        found.append(first())
        done.release()

    _thread.start_new_thread(work, ())
    ready.acquire()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + RESERVE, resource.RLIM_INFINITY))
    limited.release()
    tried.acquire()
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    freed.release()
    done.acquire()
    assert all(found) and found, (first, room, found)
    return len(found) == 2


sys.unraisablehook = end
calls = {one.__name__: one for one in (copy, permute, launch, load, refuse)}
first = calls[os.environ["FIRST"]]
assert all(one() for one in calls.values())
counts = collections.Counter(
    run(first, room) for room in [*range(0, 100, 2), *range(100, 900, 200)]
)
print(counts[False], counts[True])
