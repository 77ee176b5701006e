"""What the tests of shift_points share."""

from typing import Any, NamedTuple

import numpy as np

import gpumem as gm

POINTS = gm.variants("shift_points")


FLOATS = ["f4", "f8"]


MARGIN = 256  # guard bytes before and after each array


def fields(dtype):
    return np.dtype([("x", dtype), ("y", dtype)])


def random_points(rng, n, dtype, layout):
    """Random bit patterns, including subnormals, infinities and NaN, and ordinary numbers."""
    a = np.frombuffer(rng.bytes(2 * n * np.dtype(dtype).itemsize), dtype).copy()
    a[::3] = rng.standard_normal(a[::3].size)
    return as_layout(a, layout)


def as_layout(flat, layout):
    """View a flat array as points in the given layout."""
    if layout == "fields":
        return flat.view(fields(flat.dtype))
    return flat.reshape(-1, 2) if layout == "aos" else flat.reshape(2, -1)


def layouts(variant):
    by_name = {"aos": ["aos", "fields"], "soa": ["soa"]}
    return by_name.get(variant.name[:3], ["aos", "fields", "soa"])


class Guarded(NamedTuple):
    """A device array inside a buffer of random bytes, and the buffer's initial contents."""

    array: Any
    buffer: Any
    before: np.ndarray
    first: int

    def assert_margins_unchanged(self):
        after, last = self.buffer.to_host(), self.first + self.array.nbytes
        np.testing.assert_array_equal(after[: self.first], self.before[: self.first])
        np.testing.assert_array_equal(after[last:], self.before[last:])

    def assert_unchanged(self):
        np.testing.assert_array_equal(self.buffer.to_host(), self.before)


def guarded(rng, like, backend, shift=0, values=None):
    """A guarded array with the shape and dtype of `like`; it holds `values`, or random bytes."""
    first = MARGIN + shift
    before = np.frombuffer(rng.bytes(like.nbytes + 2 * first), "u1").copy()
    if values is not None:
        before[first : first + like.nbytes] = np.frombuffer(values.tobytes(), "u1")
    buffer = gm.to_device(before, backend=backend)
    array = buffer[first : first + like.nbytes].view(like.dtype).reshape(like.shape)
    return Guarded(array, buffer, before, first)
