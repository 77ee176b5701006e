"""Views for tests: opaque elements at any address, and slices of their axes."""

import math

from hypothesis import strategies as st


def placed(memory, at, shape, itemsize):
    """Return an array of opaque elements in memory of bytes, on the host or a device."""
    return memory[at : at + math.prod(shape) * itemsize].view(f"V{itemsize}").reshape(shape)


@st.composite
def slices(draw, n):
    """Some of an axis of n, or all of it: each one, every k-th, or backwards."""
    step = draw(st.sampled_from([1, 1, 1, -1, 2, 3, -2, -5]))
    first, last = sorted((draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))))
    if draw(st.booleans()):
        first, last = 0, n - 1
    before = first - 1 if first > 0 else None
    return slice(first, last + 1, step) if step > 0 else slice(last, before, step)
