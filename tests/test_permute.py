"""permute: every variant over orders of axes, extents, element sizes, layouts and alignments."""

import contextlib
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import exhaustive

import gpumem as gm
from gpumem import _core
from gpumem.families import oracle, table

VARIANTS = ["auto", *(v.name for v in gm.variants("permute"))]
DTYPES = ["u1", "i2", "f4", "f8", "c16", "V3", "V5", "V6", "V12", "V24"]
MARGIN = 256


def random_bytes(rng, shape, dtype):
    a = np.empty(shape, dtype)
    a.reshape(-1).view("u1")[...] = rng.integers(0, 256, a.nbytes, dtype=np.uint8)
    return a


def moved(there, a, axes, variant, rng, margin=MARGIN):
    """Permute a device array into poisoned memory; compare every byte, and those around it.

    Return False if the variant does not take the layout.
    """
    wanted = np.ascontiguousarray(np.transpose(a, axes)).reshape(np.transpose(a, axes).shape)
    around = rng.integers(0, 256, wanted.nbytes + 2 * MARGIN, dtype=np.uint8)
    buffer = gm.to_device(around, backend=there.backend)
    end = margin + wanted.nbytes
    out = buffer[margin:end].view(a.dtype).reshape(wanted.shape)
    try:
        assert gm.permute(there, axes, variant=variant, out=out) is out
    except ValueError as error:
        assert variant not in ("auto", "elementwise", "runs"), error
        assert f"variant {variant}" in str(error)
        return False
    got = out.to_host()
    assert got.shape == wanted.shape and got.tobytes() == wanted.tobytes()
    after = buffer.to_host()
    assert np.array_equal(after[:margin], around[:margin])
    assert np.array_equal(after[end:], around[end:])
    return True


def cut(a, cuts):
    """Slice each axis: all, backwards, every other one, or without the first."""
    kinds = [slice(None), slice(None, None, -1), slice(None, None, 2), slice(1, None)]
    return a[tuple(kinds[k] for k in cuts)] if a.ndim else a


@pytest.mark.parametrize("variant", VARIANTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_layout(variant, backend, rng, data):
    extents = [1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 100, 257]
    shape = data.draw(st.lists(st.sampled_from(extents), max_size=5))
    while np.prod(shape, dtype=int) > 2**16:
        shape[int(np.argmax(shape))] = 2
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))
    offset = data.draw(st.sampled_from([0, 1, 2, 4, 8, 16]))
    cuts = [data.draw(st.sampled_from([0, 0, 0, 1, 2, 3])) for _ in shape]
    axes = data.draw(st.permutations(range(len(shape))))
    size = int(np.prod(shape, dtype=int)) * dtype.itemsize
    memory = rng.integers(0, 256, size + 32, dtype=np.uint8)
    there = gm.to_device(memory, backend=backend)
    a, there = (
        cut(m[offset : offset + size].view(dtype).reshape(shape), cuts) for m in (memory, there)
    )
    moved(there, a, axes, variant, rng)


MATRICES = next(v for v in gm.variants("permute") if v.name == "matrices").instances
UNITS = {"b8": "u1", "b16": "f2", "b32": "f4", "b64": "f8", "b128": "c16"}


@pytest.mark.parametrize("instance", [one.name for one in MATRICES])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_matrices_of_an_array(instance, backend, rng, data):
    """Sides of less, as much and more than tiles; gaps and alignments; the edges of memory."""
    dtype = np.dtype(next(UNITS[part] for part in instance.split("_") if part in UNITS))
    whole = 16 // dtype.itemsize if data.draw(st.booleans()) else 1
    sides = [
        data.draw(st.sampled_from([1, 31, 63, 65, 112, 128, 130, 225, 256, 270])) for _ in range(2)
    ]
    rows, cols = (-(-side // whole) * whole for side in sides)
    order = data.draw(st.sampled_from([(0, 2, 1), (2, 1, 0), (1, 2, 0)]))
    outer = data.draw(st.integers(2, 3))
    shape = (outer, rows, cols) if order == (0, 2, 1) else (rows, outer, cols)
    gap, offset = (whole * data.draw(st.integers(0, 3)) for _ in range(2))
    margin = MARGIN + (0 if whole > 1 else data.draw(st.integers(0, 3)) * dtype.itemsize)
    back = data.draw(st.booleans())
    size = (shape[0] * shape[1] * (shape[2] + gap) + offset) * dtype.itemsize
    memory = rng.integers(0, 256, size, dtype=np.uint8)
    there = gm.to_device(memory, backend=backend)
    a, there = (
        m.view(dtype)[offset:].reshape(*shape[:2], shape[2] + gap)[:, :, : shape[2]]
        for m in (memory, there)
    )
    a, there = (m[::-1] if back and order == (0, 2, 1) else m for m in (a, there))
    moved(there, a, order, instance, rng, margin)
    if backend == "sim" and a.size <= 2**15:
        with contextlib.suppress(ValueError):
            gm.traffic("permute", there, variant=instance, axes=order)


@pytest.mark.parametrize(
    ("shape", "instance"),
    [
        ((16, 128, 128), "vector_b16"),
        ((16, 64, 4096), "vector_b16"),  # half of its tiles is empty
        ((16, 64, 192), "vector_b16_small"),
        ((16, 192, 64), "vector_b16_small"),
        ((16, 32, 4096), "vector_b16_small"),
    ],
    ids=str,
)
def test_matrices_of_halves_have_tiles_of_their_size(shape, instance):
    """Each sector of whole rows is asked for once."""
    a = np.ones(shape, "f2")
    counted = gm.traffic("permute", a, axes=(0, 2, 1))
    assert counted.variant == f"matrices:{instance}"
    assert counted.shared.bank_ways == 1
    assert counted.stores.sectors == counted.loads.sectors == a.nbytes // 32
    assert counted.stores.requests * 256 <= a.nbytes


PIXELS = next(v for v in gm.variants("permute") if v.name == "pixels").instances


@pytest.mark.parametrize("instance", [one.name for one in PIXELS])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_pixels_and_planes(instance, backend, rng, data):
    """Any number of pixels and images, cut out of larger ones, at any place of a vector."""
    _, size, *kind = instance.replace(":", "_").split("_")
    dtype = np.dtype({"b8": "u1", "b16": "i2", "b32": "f4"}[size])
    channels = data.draw(st.integers(2, 4))
    step = {"": 16, "words": 4, "shifted": dtype.itemsize}["".join(kind)] // dtype.itemsize
    counts = [1, 2, 5, 15, 16, 17, 31, 32, 33, 48, 63, 65, 129, 300]
    pixels = step * data.draw(st.sampled_from([*counts, *(16 * 31 + n for n in (0, 16, 17, 65))]))
    to_planes = data.draw(st.booleans())
    images = data.draw(st.integers(1, 3))
    more = step * data.draw(st.integers(0, 2))  # pixels beside those that are moved
    if "shifted" in kind and not to_planes:  # where the pixels of the result begin
        pixel = channels * dtype.itemsize
        places = range(0, 16, max(pixel & -pixel, dtype.itemsize))
    else:
        places = range(0, 16, step * dtype.itemsize)
    margin = MARGIN + data.draw(st.sampled_from(places))
    whole = (images, pixels + more, channels) if to_planes else (images, channels, pixels + more)
    offset = data.draw(st.sampled_from(range(0, 16, step * dtype.itemsize)))
    if "shifted" in kind and to_planes:
        offset -= offset % ((channels & -channels) * dtype.itemsize)
    memory = rng.integers(0, 256, int(np.prod(whole)) * dtype.itemsize + offset, dtype=np.uint8)
    there = gm.to_device(memory, backend=backend)
    index = np.s_[:, :pixels] if to_planes else np.s_[:, :, :pixels]
    a, there = (m[offset:].view(dtype).reshape(whole)[index] for m in (memory, there))
    if not to_planes and data.draw(st.booleans()):
        a, there = a[:, ::-1], there[:, ::-1]
    if pixels <= channels:
        return  # which of the two are pixels is not known
    assert moved(there, a, (0, 2, 1), instance, rng, margin)
    if backend == "sim" and a.size <= 2**13:
        counted = gm.traffic("permute", there, variant=instance, axes=(0, 2, 1))
        assert counted.stores.bytes_asked == a.nbytes
        assert counted.loads.bytes_asked == a.nbytes or "shifted" in kind
        assert counted.shared.bank_ways in (1, None)  # none where there are ends only


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4"])
@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize("to_planes", [False, True])
def test_every_place_of_pixels_and_planes(dtype, channels, to_planes, backend, rng):
    """Of each array, and every number of pixels up to some vectors, by the row or by auto."""
    size = np.dtype(dtype).itemsize
    for first, margin in itertools.product(range(0, 16, size), repeat=2):
        pixels = int(rng.integers(channels, 300))
        shape = (2, pixels, channels) if to_planes else (2, channels, pixels)
        memory = rng.integers(0, 256, 2 * pixels * channels * size + first, dtype=np.uint8)
        there = gm.to_device(memory, backend=backend)
        a, there = (m[first:].view(dtype).reshape(shape) for m in (memory, there))
        taken = moved(there, a, (0, 2, 1), "pixels", rng, MARGIN + margin)
        pixel = channels * size
        reached = (first if to_planes else margin) % (pixel & -pixel) == 0
        assert taken or not reached or pixels <= channels
        assert moved(there, a, (0, 2, 1), "auto", rng, MARGIN + margin)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4"])
@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize("to_planes", [False, True])
def test_planes_that_begin_anywhere_are_moved_in_vectors(dtype, channels, to_planes):
    """In few more requests and sectors than 16 bytes per lane have in rows that are aligned."""
    shape = (2, 333 * 331, channels) if to_planes else (2, channels, 333 * 331)
    a = np.ones(shape, dtype)
    counted = gm.traffic("permute", a, axes=(0, 2, 1))
    assert counted.variant.startswith("pixels:b") and counted.variant.endswith("_shifted")
    assert counted.shared.bank_ways == 1
    for side in (counted.loads, counted.stores):
        assert side.sectors * 32 < 1.12 * a.nbytes
        assert side.requests * 512 < (2.1 if side is counted.loads else 1.1) * a.nbytes


@pytest.mark.parametrize(
    ("dtype", "shape", "axes"),
    [
        ("u1", (2, 64, 5), (0, 2, 1)),  # channels
        ("u1", (2, 64, 64), (0, 2, 1)),
        ("i2", (3, 64), (0, 1)),
        ("f8", (2, 64, 3), (0, 2, 1)),
    ],
    ids=str,
)
def test_what_pixels_does_not_take(dtype, shape, axes):
    with pytest.raises(ValueError, match=r"variant pixels (moves 2 to 4 channels|has no kernel)"):
        gm.permute(np.zeros(shape, dtype), axes, variant="pixels", backend="sim")


@pytest.mark.parametrize(
    ("instance", "dtype", "pixels", "first", "says"),
    [
        ("b8", "u1", 60, 0, "of 1 byte each, between pixels and planes of whole 16-byte vectors"),
        ("b16", "i2", 60, 0, "of 2 bytes each, .* of whole 16-byte vectors"),
        ("b16_words", "i2", 63, 0, "of 2 bytes each, between pixels and planes of whole words"),
        ("b8_shifted", "u1", 333, 1, "where some pixel begins at 16 bytes"),
    ],
)
def test_what_an_instance_of_pixels_does_not_take(instance, dtype, pixels, first, says):
    a = gm.to_device(np.zeros(pixels * 16 + first, dtype), backend="sim")[first:]
    with pytest.raises(ValueError, match=rf"variant pixels:{instance} moves .*{says}"):
        gm.permute(a.reshape(4, pixels, 4), (0, 2, 1), variant=f"pixels:{instance}")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_layout_under_observation(rng, data):
    """No race, no stray access, and none that is not aligned, which the host would forgive."""
    shape = data.draw(st.lists(st.sampled_from([2, 3, 4, 5, 8, 31, 32, 33, 64]), max_size=4))
    while np.prod(shape, dtype=int) > 2**13:
        shape[int(np.argmax(shape))] = 2
    dtype = np.dtype(data.draw(st.sampled_from(["u1", "i2", "f4", "V3", "V6", "c16"])))
    offset = data.draw(st.sampled_from([0, 1, 2, 4, 8]))
    cuts = [data.draw(st.sampled_from([0, 0, 0, 1, 2, 3])) for _ in shape]
    axes = data.draw(st.permutations(range(len(shape))))
    size = int(np.prod(shape, dtype=int)) * dtype.itemsize
    there = gm.to_device(rng.integers(0, 256, size + 16, dtype=np.uint8), backend="sim")
    there = cut(there[offset : offset + size].view(dtype).reshape(shape), cuts)
    for variant in VARIANTS:
        with contextlib.suppress(ValueError):  # that the variant does not take the layout
            gm.traffic("permute", there, variant=variant, axes=axes)


@pytest.mark.parametrize(
    ("dtype", "shape", "axes"),
    [
        ("u1", (9, 2895, 6), (0, 2, 1)),
        ("u1", (5, 6, 15, 40, 10), (1, 3, 0, 4, 2)),
        ("u1", (20, 5, 432, 4), (0, 3, 2, 1)),
        ("u1", (13, 32, 32, 33), (2, 1, 3, 0)),
        ("u1", (300, 13, 4, 16), (3, 2, 1, 0)),
        ("f2", (3, 501, 73), (0, 2, 1)),
        ("f2", (21, 8, 623), (1, 0, 2)),
        ("f2", (14, 5, 15, 4, 3, 87), (0, 2, 3, 5, 1, 4)),
        ("u1", (2, 256, 64), (0, 2, 1)),
    ],
    ids=str,
)
def test_rows_that_begin_anywhere_are_moved_in_words(dtype, shape, axes, rng):
    """And no block reads what it has not written, on chip, or what is not of the array."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = rng.integers(0, 256, size + 8, dtype=np.uint8)
    there = gm.to_device(memory, backend="sim")
    for offset in range(0, 4, np.dtype(dtype).itemsize):
        a, view = (m[offset : offset + size].view(dtype).reshape(shape) for m in (memory, there))
        assert moved(view, a, axes, "packed", rng, MARGIN + offset)
        counted = gm.traffic("permute", view, variant="packed", axes=axes)
        assert counted.loads.requests * 64 <= size


def all_orders(backend, rng, extents, ranks, dtypes):
    taken = dict.fromkeys(VARIANTS, 0)
    for rank, dtype in itertools.product(ranks, dtypes):
        for axes in itertools.permutations(range(rank)):
            a = random_bytes(rng, rng.choice(extents, rank), dtype)
            there = gm.to_device(a, backend=backend)
            for variant in VARIANTS:
                taken[variant] += moved(there, a, axes, variant, rng)
    del taken["pixels"]  # has tests of its own: few such layouts are images
    assert min(taken.values()) > 0


def test_all_orders_of_three_axes(backend, rng):
    all_orders(backend, rng, [1, 2, 3, 7, 31, 32, 33], range(4), DTYPES)


@exhaustive
def test_all_orders_of_four_axes(backend, rng):
    for _ in range(5):
        all_orders(backend, rng, [0, 1, 2, 3, 5, 7, 13, 31, 32, 33], [4], DTYPES)


def check_far_elements(backend, variant, shape, axes, rng, dtype="u1"):
    """Every element says where it was, modulo a prime; those far apart are read."""
    period, size = 2**20 - 3, int(np.prod(shape))
    row = random_bytes(rng, (period,), dtype)
    there = gm.to_device(row, backend=backend)
    a = gm.DeviceArray(size, dtype, backend=backend)
    for first in range(0, size, period):
        part = a[first : first + period]
        gm.copy(there[: part.size], out=part)
    out = gm.permute(a.reshape(shape), axes, variant=variant)
    flat = out.reshape(size)
    steps = [int(np.prod(shape[d + 1 :])) for d in axes]
    for start in (
        0,
        min(2**31 - 5000, size // 2),
        size - 10_000,
        *rng.integers(0, size - 10_000, 40),
    ):
        index = np.arange(start, start + 10_000)
        at = sum(
            c * step for c, step in zip(np.unravel_index(index, out.shape), steps, strict=True)
        )
        found = flat[int(start) : int(start) + 10_000].to_host()
        assert found.tobytes() == row[at % period].tobytes()


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("variant", "shape", "axes"),
    [
        ("elementwise", (3, 8191, 91000), (0, 2, 1)),
        ("runs", (3, 8192, 1399, 64), (0, 2, 1, 3)),
        ("runs", (3, 8191, 91000), (0, 2, 1)),
        ("tiles", (3, 8191, 91000), (0, 2, 1)),
        ("matrices", (3, 8191, 91000), (0, 2, 1)),
        ("matrices", (8192, 3, 90112), (2, 1, 0)),
        ("joined", (8191, 3, 91000), (2, 1, 0)),
        ("packed", (3, 8191, 91000), (0, 2, 1)),
        ("packed", (745_000_001, 3), (1, 0)),
        ("packed", (5, 9, 48_000_001), (2, 0, 1)),
        ("auto", (745_000_001, 3), (1, 0)),
    ],
    ids=str,
)
def test_more_elements_than_an_int_counts(variant, shape, axes, rng):
    check_far_elements("cuda", variant, shape, axes, rng)


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.exhaustive
def test_rows_of_more_than_4_gib(rng):
    check_far_elements("cuda", "joined", (2, 2**29 + 21), (1, 0), rng, "f8")


@pytest.mark.parametrize("axes", [(1, 2, 0), (2, 0, 1), (2, 1, 0)], ids=str)
@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_planes_far_apart(dtype, axes, backend, rng):
    """Rows of a tile are further apart than 31 bits count bytes; most of the memory is unused."""
    planes, pixels, far = 6, 640, 450_000_016 // np.dtype(dtype).itemsize
    (device, *_) = gm.info()["backends"][backend]["devices"]
    if device["memory_bytes"] < 2 * planes * far * np.dtype(dtype).itemsize:
        pytest.skip("the device has too little memory")
    whole = gm.DeviceArray(planes * far, dtype, backend=backend)
    there = whole.reshape(planes, far // 8, 8)[:, :pixels]
    a = random_bytes(rng, there.shape, dtype)
    gm.copy(gm.to_device(a, backend=backend), out=there)
    for variant in ("auto", "packed"):
        for part, wanted in ((there, a), (there[::-1], a[::-1]), (there[:, ::-1], a[:, ::-1])):
            got = gm.permute(part, axes, variant=variant).to_host()
            np.testing.assert_array_equal(got, wanted.transpose(axes))


def test_many_axes(backend, rng):
    """Axes that cannot be merged: more than some variants take."""
    a = random_bytes(rng, (2,) * 15, "u1")
    there = gm.to_device(a, backend=backend)
    for axes in (range(14, -1, -1), rng.permutation(15), range(15)):
        for variant in VARIANTS:
            moved(there, a, tuple(int(d) for d in axes), variant, rng)
    ones = random_bytes(rng, (1,) * 40 + (6, 1, 7), "i2")
    moved(gm.to_device(ones, backend=backend), ones, tuple(range(42, -1, -1)), "auto", rng)


def test_broadcast_axes(rng):
    """Elements that share an address are read more than once."""
    row = random_bytes(rng, (33,), "f4")
    a = np.broadcast_to(row, (5, 33))
    for variant in VARIANTS:
        try:
            got = gm.permute(a, variant=variant)
        except ValueError:
            continue
        assert got.tobytes() == np.ascontiguousarray(a.T).tobytes()


@pytest.mark.parametrize("variant", gm.variants("permute"), ids=str)
def test_a_result_without_elements(variant, backend):
    """Of every element that a row or an instance has a kernel for."""
    for one in (variant, *variant.instances):
        for itemsize in one.itemsizes or (1, 3, 16):  # or any
            a = np.empty((3, 0, 7), f"V{itemsize}")
            got = gm.permute(a, (0, 2, 1), variant=one.name, backend=backend)
            assert got.shape == (3, 7, 0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_on_the_host(variant, backend, rng):
    a = random_bytes(rng, (9, 40, 33), "f4")
    if variant in ("pixels", "channels"):
        a = random_bytes(rng, (9, 64, 3), "i2")
        got = gm.permute(a, (2, 0, 1), variant=variant, backend=backend)
        oracle.check("permute", got, a, axes=(2, 0, 1))
        return
    if variant == "shifted":
        got = gm.permute(a[:, :, 1:], (1, 0, 2), variant=variant, backend=backend)
        oracle.check("permute", got, a[:, :, 1:], axes=(1, 0, 2))
        return
    if variant != "contiguous":
        got = gm.permute(a, (2, 0, 1), variant=variant, backend=backend)
        oracle.check("permute", got, a, axes=(2, 0, 1))
    if variant not in ("contiguous", "matrix", "matrices"):
        got = gm.permute(a[::2, :, ::-1], variant=variant, backend=backend)
        oracle.check("permute", got, a[::2, :, ::-1])


def test_pieces(backend, rng):
    """A host array is cut along what becomes the first axis of the result."""
    a = random_bytes(rng, (6, 1030, 70), "f4")
    for axes in ((1, 2, 0), (2, 0, 1), (0, 2, 1)):
        values = table.parameters("permute", {"axes": axes})
        got = _core.call("permute", "auto", (a,), None, None, backend, values, 4096)
        oracle.check("permute", got, a, axes=axes)


@pytest.mark.parametrize(
    ("axes", "error", "says"),
    [
        ((0, 1), ValueError, "axes has 2 numbers, a has 3 dimensions"),
        ((), ValueError, "axes has 0 numbers, a has 3 dimensions"),
        ((0, 1, 1), ValueError, r"axes\[2\] is 1, which axes has twice"),
        ((0, 2, -1), ValueError, r"axes\[2\] is -1, which axes has twice"),
        ((0, 1, 3), ValueError, r"axes\[2\] is 3, a has 3 dimensions"),
        ((-4, 1, 2), ValueError, r"axes\[0\] is -4, a has 3 dimensions"),
        ((0, 1, 64), ValueError, r"axes\[2\] is 64, expected -64 to 63"),
        ((0, 1, 2**70), ValueError, r"axes\[2\] is \d+, expected"),
        ((0, 1) * 33, ValueError, "axes has 66 numbers, an array has at most 64"),
        ((0, 1, 2.0), TypeError, r"axes\[2\] must be an integer, not float"),
        ((0, 1, True), TypeError, r"axes\[2\] must be an integer, not bool"),
        ("012", TypeError, "axes must be a sequence of integers or None, not '012'"),
        (2, TypeError, "axes must be a sequence of integers or None, not 2"),
    ],
)
def test_axes_that_are_no_permutation(axes, error, says):
    a = np.zeros((2, 3, 4), "f4")
    with pytest.raises(error, match=says):
        gm.permute(a, axes, backend="sim")


def test_axes_of_any_sequence(rng):
    a = random_bytes(rng, (2, 3, 4), "f4")
    for axes in ([2, 0, 1], np.array([2, 0, 1]), range(2, -1, -1), (-1, -3, -2)):
        assert np.array_equal(
            gm.permute(a, axes, backend="sim").view("u4"), np.transpose(a, axes).view("u4")
        )
    scalar = np.float32(3)
    assert gm.permute(scalar, (), backend="sim") == gm.permute(scalar, backend="sim") == 3


@pytest.mark.parametrize(
    ("dtype", "shape", "axes", "variant"),
    [
        ("f4", (8, 32, 64), (1, 0, 2), "runs"),
        # The caches have the rest of each sector until it is read, or have not.
        ("f4", (8, 64, 3), (0, 2, 1), "words"),
        ("f2", (99, 1000, 9), (0, 2, 1), "channels"),
        ("u1", (100_001, 13), (1, 0), "channels"),
        ("u1", (12, 100_000), (1, 0), "channels"),
        ("u1", (100_000, 12), (1, 0), "matrix"),  # planes of whole vectors
        ("f2", (100_000, 13), (1, 0), "channels"),
        ("f2", (20_000, 40), (1, 0), "matrix"),  # whole vectors on both sides
        ("f2", (99, 1000, 9), (2, 1, 0), "joined"),
        ("f4", (64, 64, 64), (2, 1, 0), "matrices"),
        ("f2", (7, 96, 192), (0, 2, 1), "matrices"),  # as many small tiles as multiprocessors
        ("f4", (16, 60, 48, 30), (3, 1, 2, 0), "packed"),
        ("f4", (8, 1, 64), (1, 0, 2), "contiguous"),
        ("f4", (2,) * 13, tuple(range(12, -1, -1)), "words"),
        ("u1", (8, 32, 64, 3), (0, 3, 1, 2), "pixels"),
        ("f4", (8, 32, 64, 3), (0, 3, 1, 2), "pixels"),
        ("f4", (8, 3, 1023), (0, 2, 1), "pixels"),
        ("u1", (8, 333, 331, 3), (0, 3, 1, 2), "pixels"),
        ("f4", (4096, 2), (1, 0), "pixels"),
        ("u1", (8, 333, 331, 3, 2), (0, 3, 1, 2, 4), "units"),  # pixels of pairs
        ("u1", (8, 3, 32, 64), (0, 2, 3, 1), "pixels"),
        ("f2", (4, 512), (1, 0), "pixels"),
        ("u1", (8, 4, 16, 3), (0, 3, 1, 2), "words"),  # most lanes of pixels would be idle
        # Small matrices: at most 20 tiles for each of the simulator's 16 multiprocessors.
        ("u1", (130, 125), (1, 0), "tiles"),
        ("u1", (128, 128), (1, 0), "matrix"),  # whole vectors
        ("f2", (200, 250), (1, 0), "tiles"),
        ("f2", (14, 5000), (1, 0), "matrix"),  # few rows, which transpose gathers
        ("f2", (601, 901), (1, 0), "matrix"),  # too many tiles
        ("f4", (5000, 20), (1, 0), "tiles"),
        ("f4", (20000, 20), (1, 0), "matrix"),
        ("f4", (64, 64), (1, 0), "matrix"),  # tiles of transpose are full
        ("f8", (4000, 7), (1, 0), "tiles"),
        ("f8", (4000, 6), (1, 0), "matrix"),  # four of five lanes would be idle
        ("f8", (3, 4000), (1, 0), "runs"),
        ("c16", (500, 16), (1, 0), "tiles"),
        ("c16", (500, 17), (1, 0), "matrix"),
        ("f4", (500, 10, 4), (1, 0, 2), "tiles"),  # units of 16 bytes
        # 12 MiB and more: the L2 has no room for both sides.
        ("f8", (1280, 1280), (1, 0), "tiles"),
        ("f8", (640, 640), (1, 0), "matrix"),
        ("c16", (896, 880), (1, 0), "tiles"),
        ("c16", (512, 512), (1, 0), "matrix"),
        ("u1", (16, 48, 512, 64), (0, 2, 1, 3), "runs"),
        # The L1 has a whole matrix, unless all of its rows fall on the same lines.
        ("f8", (50_000, 9, 7), (0, 2, 1), "runs"),
        ("f8", (22_000, 9, 16), (0, 2, 1), "packed"),
        ("u1", (48, 16, 32, 32, 32), (3, 1, 2, 0, 4), "packed"),  # short runs from far apart
        ("f4", (12, 16, 8, 4099), (0, 2, 1, 3), "words"),
        ("f4", (13, 16, 512, 63), (0, 2, 1, 3), "shifted"),
    ],
)
def test_choice_for_auto(dtype, shape, axes, variant):
    counted = gm.traffic("permute", np.ones(shape, dtype), axes=axes)
    assert counted.variant.split(":")[0] == variant


@pytest.mark.parametrize(
    ("dtype", "shape", "axes"),
    [
        ("f2", (9, 320, 256), (2, 1, 0)),
        ("f2", (7, 9, 2464, 128), (3, 1, 2, 0)),
        ("f2", (4, 3, 640, 15, 7), (3, 4, 0, 2, 1)),
        ("f4", (5, 96, 40), (2, 1, 0)),
    ],
)
def test_tiles_of_short_axes_end_at_sectors(dtype, shape, axes):
    """The innermost axis of the result is in a tile as a whole, so the next one decides."""
    a = np.ones(shape, dtype)
    counted = gm.traffic("permute", a, axes=axes, variant="packed")
    assert counted.stores.sectors == a.nbytes // 32


@pytest.mark.parametrize(
    ("dtype", "shape", "axes", "variant"),
    [
        ("f4", (4, 64, 64, 3), (0, 3, 1, 2), "auto"),
        ("u1", (4, 128, 128, 3), (0, 3, 1, 2), "auto"),
        ("u1", (4, 3, 128, 128), (0, 2, 3, 1), "auto"),
        ("f2", (4, 256, 16, 64), (0, 2, 1, 3), "auto"),
        ("f4", (2, 256, 16, 64), (0, 2, 3, 1), "auto"),
        ("f4", (64, 64, 128), (1, 2, 0), "auto"),
        ("f4", (10000, 8, 8), (0, 2, 1), "packed"),  # auto takes runs while they are few
        ("c16", (32, 64, 64), (2, 1, 0), "auto"),
        ("u1", (1000, 8, 8), (0, 2, 1), "packed"),
    ],
)
def test_whole_sectors_on_both_sides(dtype, shape, axes, variant):
    """Each sector of both arrays is asked for once, in words of at least 4 bytes."""
    a = np.ones(shape, dtype)
    counted = gm.traffic("permute", a, axes=axes, variant=variant)
    assert (counted.loads.sectors, counted.stores.sectors) == (a.nbytes // 32, a.nbytes // 32)
    for side in (counted.loads, counted.stores):
        assert side.requests * 128 <= 1.02 * a.nbytes  # the last tile may have few


def test_a_plan_that_is_kept_is_right_for_other_arrays(backend, rng):
    """Layouts come back, in turn with others, at addresses of other alignments.

    The host forgives accesses that are not aligned; a GPU does not.
    """
    shapes = [(5, 7, 33), (7, 5, 33), (64, 4, 8), (4, 64, 8)]
    for i in [0, 1, 2, 3, 0, 0, 1, 3, 2, 2]:
        memory = rng.integers(0, 256, np.prod(shapes[i]) + 8, dtype=np.uint8)
        buffer = gm.to_device(memory, backend=backend)
        for start, shift in [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (0, 0), (3, 3)]:
            a, there = (
                m[start : memory.size - 8 + start].reshape(shapes[i]) for m in (memory, buffer)
            )
            assert moved(there, a, (2, 0, 1), "packed", rng, MARGIN + shift)
