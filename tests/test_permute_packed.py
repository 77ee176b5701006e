"""permute's row packed: units of 1 and 2 bytes in rows that begin anywhere on either side."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import python

import gpumem as gm

MARGIN = 64


def check(memory, there, pick, axes, margin, rng):
    """Permute what `pick` makes of the memory; compare every byte, and those around the result."""
    a, view = pick(memory), pick(there)
    if a.size == 0:
        return
    wanted = np.frombuffer(a.transpose(axes).tobytes(), np.uint8)
    margin += MARGIN
    after = rng.integers(0, 256, margin + wanted.size + MARGIN, dtype=np.uint8)
    around = gm.to_device(after, backend=there.backend)
    out = around[margin : margin + wanted.size].view(a.dtype).reshape(a.transpose(axes).shape)
    gm.permute(view, axes, variant="packed", out=out)
    after[margin : margin + wanted.size] = wanted
    assert around.to_host().tobytes() == after.tobytes()


EXTENTS = [1, 2, 3, 4, 5, 6, 7, 9, 13, 14, 16, 17, 31, 32, 35, 64, 76, 99, 135, 193, 257]
CUTS = [slice(None), slice(None, None, -1), slice(1, None), slice(None, -1), slice(None, None, 2)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_rows_at_any_place(backend, rng, data):
    """The memory ends with the array: nothing beyond is loaded."""
    dtype = np.dtype(data.draw(st.sampled_from(["u1", "u1", "i2", "f4"])))
    shape = data.draw(st.lists(st.sampled_from(EXTENTS), min_size=2, max_size=6))
    while np.prod(shape) > 60000:
        shape[int(np.argmax(shape))] = 3
    before = data.draw(st.integers(0, 33)) * dtype.itemsize
    cuts = tuple(CUTS[data.draw(st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4]))] for _ in shape)
    axes = data.draw(st.permutations(range(len(shape))))
    margin = data.draw(st.integers(0, 33)) * dtype.itemsize
    memory = rng.integers(0, 256, before + int(np.prod(shape)) * dtype.itemsize, dtype=np.uint8)
    there = gm.to_device(memory, backend=backend)
    check(memory, there, lambda m: m[before:].view(dtype).reshape(shape)[cuts], axes, margin, rng)


# Layouts, and for 1 KiB of them: requests to load, sectors stored of 32, and passes on chip.
LAYOUTS = [
    ("u1", (135, 26, 5, 128), (3, 2, 1, 0), 4.8, 53, 95),  # words on chip, far apart in the result
    ("u1", (9, 9053, 16), (0, 2, 1), 2.7, 45, 113),  # long runs of the input, in groups
    ("u1", (40, 1003, 16), (0, 2, 1), 2.7, 42, 121),  # the last group has fewer units
    ("u1", (110, 3, 9, 7, 193), (3, 2, 1, 4, 0), 2.4, 52, 92),  # rows that follow each other
    ("u1", (3, 23, 2, 49, 15, 23), (5, 2, 1, 3, 0, 4), 2.4, 46, 102),
    ("u1", (285, 174, 80), (2, 1, 0), 2.6, 55, 111),
    ("u1", (4, 14, 13, 8, 236), (4, 3, 0, 2, 1), 9.6, 42, 120),
    ("u1", (445, 511, 3), (2, 1, 0), 5.7, 49, 114),  # squares of 3 rows of 4
    ("u1", (190, 70, 30, 3), (0, 2, 1, 3), 2.2, 50, 139),  # no squares: rows have the closest axis
    ("u1", (33, 37, 300), (2, 0, 1), 3.5, 72, 210),  # ragged in the squared axis
    ("i2", (1349, 54, 14), (2, 1, 0), 4.7, 47, 92),
    ("i2", (79, 6, 23, 48), (1, 2, 3, 0), 4.3, 33, 71),
    ("i2", (2, 562, 60, 11, 7), (0, 2, 3, 1, 4), 2.4, 41, 59),
    ("i2", (35, 17, 95, 21), (1, 0, 2, 3), 2.2, 42, 62),
    ("u1", (64, 6, 6, 8, 32), (3, 2, 1, 4, 0), 2.4, 33, 119),  # groups, of shorter rows
    ("u1", (32, 9, 16, 41, 32), (3, 0, 4, 2, 1), 9.0, 41, 215),
    ("u1", (40, 32, 12, 11, 32), (3, 0, 4, 2, 1), 2.4, 33, 127),
    ("u1", (528, 29, 35), (2, 1, 0), 5.1, 37, 201),  # of units of two axes, the last one shorter
    ("i2", (72, 39, 50), (2, 1, 0), 2.7, 41, 134),
    ("i2", (48, 47, 52), (1, 2, 0), 4.6, 33, 133),  # the last tile has fewer units in a group
]


@pytest.mark.parametrize(("dtype", "shape", "axes", "loads", "stores", "passes"), LAYOUTS, ids=str)
def test_rows_in_words_and_vectors(dtype, shape, axes, loads, stores, passes, rng):
    """At each place of a word, with nothing read on chip that is not written."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = rng.integers(0, 256, size + 3, dtype=np.uint8)
    there = gm.to_device(memory, backend="sim")
    for start in range(0, 4, np.dtype(dtype).itemsize):

        def pick(m, start=start):
            return m[start : start + size].view(dtype).reshape(shape)

        check(memory, there, pick, axes, 3 * start + np.dtype(dtype).itemsize, rng)
        counted = gm.traffic("permute", pick(there), variant="packed", axes=axes)
        found = (counted.loads.requests, counted.stores.sectors, counted.shared.passes)
        most = (loads, stores, passes)
        assert all(n * 1024 <= limit * size for n, limit in zip(found, most, strict=True))


@pytest.mark.parametrize(("shape", "axes"), [((9, 43, 153), (2, 0, 1)), ((55, 7, 313), (2, 0, 1))])
def test_last_rows_shorter_than_a_word(shape, axes, rng):
    """Of 3 bytes and of 1, which begin and end in one word: nothing beside them is written."""
    size = int(np.prod(shape))
    memory = rng.integers(0, 256, size + 3, dtype=np.uint8)
    there = gm.to_device(memory, backend="sim")
    for start in range(4):
        for margin in range(4):
            check(
                memory, there, lambda m, at=start: m[at:][:size].reshape(shape), axes, margin, rng
            )


# Arrays that are large for a device have larger tiles, which write whole sectors: a tile loads what
# completes its last ones, and leaves the first to the tile before it. Axes move that are no
# multiple of a sector.
LARGE = [
    ("u1", (37, 122, 13, 16), (3, 1, 2, 0)),
    ("u1", (9, 122, 8, 131), (3, 2, 1, 0)),
    ("u1", (7, 3, 257, 211), (0, 3, 2, 1)),
    ("u1", (203, 62, 5, 23), (3, 2, 1, 0)),  # rows that begin anywhere, and have a halo
    ("u1", (386, 45, 83), (2, 1, 0)),
    ("i2", (143, 81, 61), (2, 1, 0)),
    ("u1", (487, 9, 319), (1, 2, 0)),  # rows in a chain, of which each completes the next one's
    ("i2", (419, 7, 219), (1, 2, 0)),
    ("u1", (528, 5, 9, 52), (2, 3, 1, 0)),  # groups, and rows of vectors that are not of sectors
    ("u1", (1040, 11, 7, 12), (1, 2, 3, 0)),
    ("u1", (5, 144, 52, 7), (3, 0, 2, 1)),
    ("u1", (3, 64, 3, 9, 7, 11), (3, 0, 5, 2, 4, 1)),
    ("u1", (4, 32, 12, 32, 9, 32), (3, 0, 4, 2, 5, 1)),
    ("i2", (3, 96, 52, 7), (0, 3, 2, 1)),
    ("i2", (2, 200, 44, 11), (3, 0, 2, 1)),
    ("i2", (4, 122, 14, 90), (0, 3, 2, 1)),
    ("i2", (43, 12, 3, 11, 32), (1, 4, 3, 2, 0)),  # two axes of the result in a row
    ("i2", (270, 11, 2, 48), (1, 3, 2, 0)),  # a row is one index of the axis along which tiles go
    ("i2", (39, 74, 128), (2, 1, 0)),
    ("f4", (91, 33, 64), (2, 1, 0)),
    ("f4", (99, 16, 101), (2, 1, 0)),  # the halo is at another place of a vector
    ("u1", (200, 20, 200, 2), (3, 2, 1, 0)),
    ("f4", (3, 55, 14, 97), (0, 3, 2, 1)),
    ("f8", (79, 13, 90), (1, 2, 0)),
    ("f8", (6, 79, 9, 31), (1, 3, 2, 0)),
    ("c16", (67, 31, 23), (2, 1, 0)),
]


def check_large(backend, times=1):
    """Permute LARGE, longer along the first axis, at odd places of memory."""
    rng = np.random.default_rng()
    for dtype, (first, *others), axes in LARGE:
        dtype, shape = np.dtype(dtype), (first * times, *others)
        before = int(rng.integers(0, 33)) * dtype.itemsize
        memory = rng.integers(0, 256, before + int(np.prod(shape)) * dtype.itemsize, dtype=np.uint8)
        there = gm.to_device(memory, backend=backend)
        margin = int(rng.integers(0, 33)) * dtype.itemsize

        def pick(m, before=before, dtype=dtype, shape=shape):
            return m[before:].view(dtype).reshape(shape)

        check(memory, there, pick, axes, margin, rng)
        if backend == "sim":  # two tiles that write to the same place are a race
            gm.traffic("permute", pick(there), variant="packed", axes=axes)


def test_blocks_of_large_arrays_leave(rng):
    """After a few tiles each; the next ones go on where they left."""
    a = rng.random((64, 129, 300), np.float32)
    counted = gm.traffic("permute", a, axes=(2, 1, 0), variant="packed")
    assert np.array_equal(counted.result, a.T)
    assert counted.grid[0] > 2 * 16  # more than are resident
    assert counted.barriers < 7 * counted.grid[0]  # of few tiles, one for each, and one before


@pytest.mark.parametrize(
    "dtype, shape, axes",
    [
        ("u1", (57, 20, 100, 200), (3, 1, 2, 0)),
        ("u1", (69, 319, 5, 200), (3, 1, 0, 2)),
        ("u1", (100, 777, 319), (2, 1, 0)),
        ("i2", (100, 777, 119), (2, 1, 0)),
    ],
)
def test_tiles_of_a_short_row_follow_each_other(dtype, shape, axes, backend, rng):
    """Rows of the input that two tiles cut, in arrays of which the L2 would forget their ends."""
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    a = np.frombuffer(rng.bytes(nbytes), dtype).reshape(shape)
    got = gm.permute(a, axes, variant="packed", backend=backend)
    assert np.array_equal(np.asarray(got), a.transpose(axes))


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
@pytest.mark.parametrize("count", [20000, 20011, 3 * 6667, 2 * 4703])
def test_stacks_of_small_matrices(dtype, count, rng):
    """Of which a row of the result has no room for a tile's: groups of them are rows."""
    size = count * 5 * 7 * np.dtype(dtype).itemsize
    a = rng.integers(0, 256, size, np.uint8).view(dtype).reshape(count, 5, 7)
    counted = gm.traffic("permute", a, axes=(0, 2, 1), variant="packed")
    assert counted.result.tobytes() == a.transpose(0, 2, 1).tobytes()
    if count == 20000:  # divisible; a barrier for each tile of 8 KiB and more, and one before
        assert counted.barriers <= size // 8192 + 1 + counted.grid[0]


@pytest.mark.parametrize(
    ("dtype", "count", "rows", "cols"),
    [
        ("u1", 1000003, 10, 3),  # groups of 136, and 19 matrices that are left
        ("u1", 7387 * 136 + 1, 10, 3),  # a single one is left with a group
        ("u1", 900001, 3, 11),
        ("i2", 1500007, 3, 5),
    ],
)
@pytest.mark.parametrize("offset", [0, 1])
def test_stacks_that_no_group_divides(dtype, count, rows, cols, offset, backend, rng):
    """Of large ones as many as there are groups are moved, and then the others."""
    size = (count + offset) * rows * cols * np.dtype(dtype).itemsize
    a = np.frombuffer(rng.bytes(size), dtype).reshape(count + offset, rows, cols)
    x = gm.to_device(a, backend=backend)[offset:]
    got = gm.permute(x, (0, 2, 1), variant="packed")
    assert np.array_equal(got.to_host(), a[offset:].transpose(0, 2, 1))


def test_large_arrays():
    """The fewer multiprocessors, the smaller is what is large."""
    python("import test_permute_packed as t; t.check_large('sim')", GPUMEM_SIM_MULTIPROCESSORS="1")


@pytest.mark.gpu
def test_large_arrays_of_a_gpu(backend="cuda"):
    check_large(backend, times=96)
