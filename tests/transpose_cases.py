"""What the tests of transpose share."""

import numpy as np

import gpumem as gm
from gpumem.families import oracle

TRANSPOSE = gm.variants("transpose", instances=True)


KERNELS = [v for v in TRANSPOSE if v.source.endswith(".cu")]


NARROW_SMALL = [v for v in KERNELS if v.name in ("narrow_words", "narrow_vectors")]


DTYPES = {1: "u1", 2: "u2", 4: "f4", 8: "f8", 16: "c16"}


MARGIN = 256


def random_bytes(rng, shape, dtype):
    """An array of random bytes; floats include NaNs of any payload."""
    a = np.empty(shape, dtype)
    a.reshape(-1).view("u1")[...] = rng.integers(0, 256, a.nbytes, dtype=np.uint8)
    return a


def poisoned_out(rng, shape, dtype, backend):
    """A device array inside a larger buffer, and a function that checks the bytes around it."""
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    around = rng.integers(0, 256, nbytes + 2 * MARGIN, dtype=np.uint8)
    buffer = gm.to_device(around, backend=backend)
    out = buffer[MARGIN : MARGIN + nbytes].view(dtype).reshape(shape)

    def intact():
        after = buffer.to_host()
        np.testing.assert_array_equal(after[:MARGIN], around[:MARGIN])
        np.testing.assert_array_equal(after[MARGIN + nbytes :], around[MARGIN + nbytes :])

    return out, intact


def run_and_check(rng, variant, a, there, backend, **parameters):
    wanted = oracle.expected("transpose", a, variant=variant.name)
    out, intact = poisoned_out(rng, wanted.shape, a.dtype, backend)
    got = variant(there, out=out, **parameters)
    assert got is out
    oracle.check("transpose", got.to_host(), a, variant=variant.name)
    intact()
