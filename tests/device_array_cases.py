"""What the tests of DeviceArray share."""

import numpy as np

import gpumem as gm

CUBE = np.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)

POINT = np.dtype([("x", "f4"), ("y", "i8"), ("tags", "S3", (2,)), ("in", [("z", "i2")])])

ATTRIBUTES = "shape strides dtype ndim size nbytes itemsize".split()


def make_cube(backend):
    return gm.to_device(CUBE, backend=backend)


def same(there, here):
    """The same attributes and, on the host, the same bytes."""
    here = np.asarray(here)
    for name in ATTRIBUTES:
        if name != "strides" or here.size:
            assert getattr(there, name) == getattr(here, name), name
    assert there.contiguous == here.flags.c_contiguous
    got = there.to_host()
    assert type(got) is np.ndarray and got.flags.c_contiguous and got.flags.writeable
    assert (got.shape, got.dtype) == (here.shape, here.dtype)
    assert got.tobytes() == here.tobytes()


def make_points(backend):
    here = np.frombuffer(bytes(i * 29 % 256 for i in range(5 * 4 * POINT.itemsize)), POINT)
    here = here.reshape(5, 4)
    return here, gm.to_device(here, backend=backend)
