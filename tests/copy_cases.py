"""What the tests of copy share."""

import numpy as np
import pytest

import gpumem as gm

COPY = gm.variants("copy")


POISONS = [0xAA, 0x55]


MARGIN = 256  # guard bytes before and after each output; a multiple of every alignment


PADDED = np.dtype([("small", "u1"), ("large", "f8"), ("last", "i2")], align=True)


def raw_bytes(a):
    """The bytes of all elements in C order, including padding between fields."""
    a = np.asarray(a)
    if a.size == 0 or a.itemsize == 0:
        return np.empty(0, np.uint8)
    # a.tobytes() fails above 32 dimensions before NumPy 2.3.
    return np.array(a.view(f"V{a.itemsize}"), order="C").reshape(-1).view(np.uint8)


def check(got, wanted, context=""):
    """`got` must be a plain C-contiguous ndarray with the bytes, dtype and shape of `wanted`."""
    wanted = np.asarray(wanted)
    assert type(got) is np.ndarray
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype), context
    assert got.flags.c_contiguous, context
    got_bytes, expected = raw_bytes(got), raw_bytes(wanted)
    if got_bytes.tobytes() != expected.tobytes():
        differ = np.flatnonzero(got_bytes != expected)
        first = differ[0]
        pytest.fail(
            f"{context}: {differ.size} of {expected.size} bytes differ, the first is byte {first}: "
            f"{got_bytes[first]:#04x}, expected {expected[first]:#04x}"
        )


def random_array(rng, shape, dtype):
    """Random bytes: includes NaN payloads, bools other than 0 and 1, and nonzero padding."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=int))
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    data = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8)
    return data.view(dtype).reshape(shape)


def poisoned(shape, dtype, poison):
    """An ndarray with every byte set to `poison`."""
    dtype = np.dtype(dtype)
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype)
    count = int(np.prod(shape, dtype=int))
    return np.full(count * dtype.itemsize, poison, np.uint8).view(dtype).reshape(shape)


def make_noise():
    """Random bytes; the tests copy slices of them."""
    return np.random.default_rng(20).integers(0, 256, 2**23 + 64, dtype=np.uint8)


class GuardedOutput:
    """A poisoned device output inside a larger buffer, to detect out-of-bounds stores."""

    def __init__(self, backend, count, poison):
        self.poison = poison
        self.buffer = gm.DeviceArray(count + 2 * MARGIN, "u1", backend=backend)
        self.buffer.fill_bytes(poison)
        self.out = self.buffer[MARGIN : MARGIN + count]

    def check(self, wanted, context):
        after = self.buffer.to_host()
        check(after[MARGIN:-MARGIN], wanted, context)
        assert np.all(after[:MARGIN] == self.poison), f"{context}: stores before the start"
        assert np.all(after[-MARGIN:] == self.poison), f"{context}: stores past the end"
