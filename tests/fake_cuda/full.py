"""Where device memory runs out: what cuBLAS says of it, and the steps of tools/soak.py.

FAKE_CUBLAS in the environment is the path of tests/stand_in/cublas.c, compiled. Prints how many
steps there were, and how many of them ran out of memory.
"""

import ctypes
import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import fake_device as fake  # first
import numpy as np

import gpumem as gm

OUT_OF_MEMORY = 2
NOT_INITIALIZED, ALLOC_FAILED, INTERNAL_ERROR, NOT_SUPPORTED = 1, 3, 14, 15
STEPS = 300
BEYOND = "sgemm", "transpose", "matmul", "chase"  # cuBLAS, tensor cores, clusters
cublas = ctypes.CDLL(os.environ["FAKE_CUBLAS"])
tools = Path(fake.__file__).resolve().parent.parent / "tools"
sys.path.append(str(tools))
soak = SimpleNamespace(**runpy.run_path(str(tools / "soak.py")))
words = SimpleNamespace(backend="cuda", fill=0.999, seed=0, seconds=0, threads=2)


def is_memory_error(create=0, call=0):
    """Whether cuBLAS, whose calls end so, makes an error of memory; None: no error."""
    a = np.ones((64, 64), "f4")
    cublas.stand_in_statuses(create, call)
    try:
        gm.sgemm(a, a, variant="cublas", backend="cuda")
    except gm.CudaError as error:
        asked = error.call.startswith("cublas")
        assert error.code == ((create or call) if asked else OUT_OF_MEMORY)
        assert ("CUBLAS_STATUS" if asked else "a handle of cuBLAS takes") in str(error)
        assert not error.sticky
        return isinstance(error, MemoryError)
    finally:
        fake.check()
    return None


def launches():
    """Whether a kernel is launched, for the first time, or there is no memory for its code."""
    try:
        gm.copy(small)
    except MemoryError as error:
        total = gm.info()["backends"]["cuda"]["devices"][0]["memory_bytes"]
        free = f"takes up to 32 MiB, 4.0 MiB of {total / 2**30:.2f} GiB are free"
        assert f"the code of gpumem's kernels {free}" in str(error), error
        return False
    return True


fake.set_pace(10, 1)
small = gm.DeviceArray((10,), "u1", backend="cuda")
most = gm.info()["backends"]["cuda"]["devices"][0]["free_bytes"] - (4 << 20)
taken = gm.DeviceArray((most,), "u1", backend="cuda")
assert not launches()
assert not launches()
del taken  # the pool has it now, and gives it up
assert launches()
process = soak.Process(words, 0)
assert is_memory_error(create=NOT_INITIALIZED) is False
assert is_memory_error(create=ALLOC_FAILED) is True
taken = soak.fill(words)
free = gm.info()["backends"]["cuda"]["devices"][0]["free_bytes"]
assert 0 < free < 8 << 20, free
assert is_memory_error() is True  # no handle is made
del taken
assert is_memory_error() is None  # here it is
taken = soak.fill(words)
assert is_memory_error(call=ALLOC_FAILED) is True
assert is_memory_error(call=INTERNAL_ERROR) is True
assert is_memory_error(call=NOT_SUPPORTED) is False

for worker in process.workers:
    worker.families = [one for one in worker.families if one not in BEYOND]
    for number in range(STEPS):
        process.step(worker, number)
assert not process.failures, process.failures[0]
fake.check()
done = sum(process.counts.values())
ran_out = sum(count for name, count in process.counts.items() if name.endswith("out of memory"))

del taken
gm.pool_trim(backend="cuda")
assert is_memory_error(call=INTERNAL_ERROR) is False
print(done, ran_out)
