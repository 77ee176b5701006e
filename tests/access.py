"""What the tests of strided_read, strided_write and gather share: arrays, slices, guards."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import gpumem as gm
from gpumem.families import oracle

LADDER = ["cached", "uncached", "readonly", "unroll2", "unroll4", "unroll8"]
WORDS = "words"  # of strided_read and gather, for elements of up to 4 bytes
SIZES = [0, 1, 31, 32, 33, 97, 1027, 65537 + 5]
SLICES = [
    (0, 1),
    (1, 1),
    (8, 1),
    (1, 2),
    (0, 3),
    (5, 32),
    (31, 33),
    (-1, -1),
    (-1, -2),
    (30, -7),
    (-40, 1),
    (-1000, 5),
    (2, 5000),
]
BEYOND = [
    (10**6, 1),
    (10**6, -1),
    (-(10**6), 2),
    (-(10**6), -2),
    (0, 10**12),
    (3, -(10**12)),
    (2**63, 1),
    (-(2**63) - 1, 1),
    (2**100, -1),
    (1, 2**63),
    (-1, -(2**63)),
    (-1, -(2**100)),
]
DTYPES = {1: "u1", 2: "u2", 4: "f4", 8: "f8", 16: "c16"}
ODD_DTYPES = ["V3", "S5", "V12", "V32", "bool", "M8[s]", "f2"]
MARGIN = 256  # bytes around a guarded array
FEWER = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
SLICED = st.tuples(
    st.integers(-350, 350), st.one_of(st.integers(-40, -1), st.integers(1, 40), st.just(1))
)
# Slices that are no copies, and what auto takes of the ladder: by strided_read, by strided_write.
APART = [
    ("f4", 0, 2, "unroll4", "cached"),
    ("f4", 0, 4, "unroll4", "cached"),
    ("f4", 0, 15, "unroll4", "cached"),
    ("f4", -1, -16, "cached", "cached"),
    ("u1", 1, 2, "words", "unroll4"),
    ("u1", 0, 15, "words", "unroll4"),
    ("u1", 0, 16, "unroll4", "cached"),
    ("u1", 0, 63, "unroll4", "cached"),
    ("u1", -1, -64, "cached", "cached"),
    ("u2", -1, -2, "words", "unroll4"),
    ("u2", 1, 7, "words", "unroll4"),
    ("u2", -1, -8, "unroll4", "cached"),
    ("u2", 1, 32, "cached", "cached"),
    ("f8", 1, 2, "unroll4", "cached"),
    ("f8", 1, 8, "cached", "cached"),
    ("c16", 1, 2, "unroll4", "cached"),
    ("c16", 1, 4, "cached", "cached"),
]
BY_CHOICE = ("dtype", "offset", "stride", "read", "write")
DRAWN_DTYPES = st.sampled_from([*DTYPES.values(), "V3"])

VIEWS = {
    "stepped": lambda a: a[::3],
    "part": lambda a: a[7:80],
    "reversed": lambda a: a[::-1],
    "reversed-steps": lambda a: a[90:2:-4],
    "column": lambda a: a.reshape(-1, 4)[:, 1],
    "reversed-column": lambda a: a.reshape(-1, 4)[::-1, 3],
    "row-of-the-transposed": lambda a: a.reshape(4, -1).T[5],
    "one": lambda a: a[9:10],
    "none": lambda a: a[9:9],
}


def random_bytes(rng, shape, dtype):
    """Random bits, so NaN with any payload."""
    a = np.empty(shape, dtype)
    a.reshape(-1).view("u1")[...] = np.frombuffer(rng.bytes(a.nbytes), "u1")
    if a.dtype.kind == "b":
        a.view("u1")[...] &= 1
    return a


class Guarded(NamedTuple):
    """A device array of random bytes inside a buffer whose other bytes must not change."""

    array: Any
    buffer: Any
    before: np.ndarray
    first: int

    def check(self, family, wanted):
        """Check that the array equals `wanted` and that nothing around it has changed."""
        oracle.compare(family, self.array.to_host(), wanted)
        after = self.before.copy()
        after[self.first : self.first + wanted.nbytes] = np.frombuffer(wanted.tobytes(), "u1")
        np.testing.assert_array_equal(self.buffer.to_host(), after)

    def untouched(self):
        """Check that neither the array nor anything around it has changed."""
        np.testing.assert_array_equal(self.buffer.to_host(), self.before)


def guarded(rng, shape, dtype, backend, shift=0, values=None):
    """Make a guarded array, its address `shift` bytes past an aligned one."""
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    first = MARGIN + shift
    before = np.frombuffer(rng.bytes(nbytes + 2 * first), "u1").copy()
    if values is not None:
        before[first : first + nbytes] = np.frombuffer(values.tobytes(), "u1")
    buffer = gm.to_device(before, backend=backend)
    array = buffer[first : first + nbytes].view(dtype).reshape(shape)
    return Guarded(array, buffer, before, first)


def counted(n, offset, stride):
    """How many elements the slice of an array of n has."""
    return len(range(n)[offset::stride])


def written(out, a, offset, stride):
    """What strided_write should leave in out."""
    wanted = out.copy()
    wanted[offset::stride] = a
    return wanted


def taken(a, index):
    """a[index], as an array even if the index has no dimensions."""
    return a[index.reshape(-1)].reshape(index.shape)


def indices(rng, n, shape, dtype):
    """Random indices into n elements, half of them negative; the first and last possible ones."""
    if n == 0:
        return np.empty(shape, dtype)
    index = rng.integers(-n, n, shape).astype(dtype)
    if index.size > 1:
        index.reshape(-1)[[0, -1]] = -n, n - 1
    return index


# Values of an index that are far outside of every array.
FAR = [2**31 - 1, -(2**31), 2**31, 2**32 + 1, -(2**32), 2**62, -(2**62) - 1, 2**63 - 1, -(2**63)]


def led_to(index, n, mode):
    """Where numpy.take would look; its own loop subtracts n until a far index is near."""
    if mode == "wrap":
        return np.array([int(i) % n for i in index], "i8")
    return np.array([min(max(int(i), 0), n - 1) for i in index], "i8")


def far_indices(rng, n, count):
    """Indices of both dtypes, most of them outside of n elements, and some of them far."""
    near = rng.integers(-5 * n, 5 * n, count)
    yield np.concatenate([near, FAR])
    yield np.concatenate([near, [i for i in FAR if -(2**31) <= i < 2**31]]).astype("i4")


def arguments(family, rng, dtype, backend=None, n=97):
    """Arrays and keywords of a call, and its result; the arrays on a backend if one is named."""
    a = random_bytes(rng, (n,), dtype)
    keywords = {} if family == "gather" else {"offset": 2, "stride": 3}
    if family == "strided_read":
        arrays, wanted = (a,), a[2::3]
    elif family == "strided_write":
        arrays = (a, random_bytes(rng, (counted(n, 2, 3),), dtype))
        wanted = written(*arrays, 2, 3)
    else:
        arrays = (a, indices(rng, n, (5, 7), "i8"))
        wanted = taken(*arrays)
    if backend is not None:
        arrays = tuple(gm.to_device(array, backend=backend) for array in arrays)
    return arrays, keywords, wanted


def fits(variant, dtype):
    """Whether a row takes elements of the dtype."""
    return oracle.takes(variant, (9,), dtype)


def by_element(variants, dtypes):
    """Parametrize a test by a row and a dtype that it takes; test_the_ladder has those."""
    pairs = [
        pytest.param(variant, dtype, id=f"{variant}-{dtype}")
        for variant in variants
        for dtype in dtypes
        if fits(variant, dtype)
    ]
    return pytest.mark.parametrize(("variant", "dtype"), pairs)


def drawn_name(data, family, dtype):
    """Draw a variant that takes the dtype, or "auto"."""
    names = [v.name for v in gm.variants(family) if fits(v, dtype)]
    return data.draw(st.sampled_from(["auto", *names]))


COUNT = 256 * 8 * 4  # elements moved: a whole number of tiles of every variant


def touched(places, itemsize, piece):
    """Count the aligned pieces of `piece` bytes that each warp of 32 elements touches."""
    pieces = np.sort(np.asarray(places).reshape(-1, 32) * itemsize // piece, axis=1)
    return int(len(pieces) + np.count_nonzero(np.diff(pieces, axis=1)))


def raw(array):
    """The bytes of an array on the host or the device."""
    return (array if isinstance(array, np.ndarray) else array.to_host()).tobytes()


def floats(*shape):
    return np.arange(np.prod(shape), dtype="f4").reshape(shape)
