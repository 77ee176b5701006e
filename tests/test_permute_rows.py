"""permute's rows that begin anywhere: variant shifted, and when auto takes it."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from view_cases import placed

import gpumem as gm

AROUND = 40  # bytes before and after arrays


@st.composite
def blocks(draw):
    """A block of a larger array: the shape of that, the slices, the element, and axes."""
    itemsize = draw(st.sampled_from([1, 2, 3, 4, 8, 12]))
    rows = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    shape = [*rows, draw(st.integers(-(-16 // itemsize), 600 // itemsize))]
    whole, cut = [], []
    for axis, n in enumerate(shape):
        before, after = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        whole.append(before + n + after)
        last = axis + 1 == len(shape)
        backwards = (not last or itemsize in (1, 2, 4)) and draw(st.booleans())
        end = None if before == 0 else before - 1
        cut.append(slice(before + n - 1, end, -1) if backwards else slice(before, before + n))
    axes = (*draw(st.permutations(range(len(rows)))), len(rows))
    return whole, tuple(cut), itemsize, axes


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(block=blocks(), source=st.integers(0, 20), target=st.integers(0, 20), data=st.data())
def test_rows_that_begin_anywhere(block, source, target, data, backend):
    """Byte for byte, at any addresses, and nothing beside the result is written."""
    whole, cut, itemsize, axes = block
    if cut[-1].step == -1:  # units are whole elements there
        source, target = source // itemsize * itemsize, target // itemsize * itemsize
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    here = rng.integers(0, 256, math.prod(whole) * itemsize + source, dtype=np.uint8)
    a = placed(here, source, whole, itemsize)[cut].transpose(axes)
    there = placed(gm.to_device(here, backend=backend), source, whole, itemsize)[cut]
    after = rng.integers(0, 256, a.nbytes + AROUND, dtype=np.uint8)
    memory = gm.to_device(after, backend=backend)
    gm.permute(there, axes, variant="shifted", out=placed(memory, target, a.shape, itemsize))
    after[target : target + a.nbytes] = np.frombuffer(a.tobytes(), np.uint8)
    assert memory.to_host().tobytes() == after.tobytes()


def test_crops_of_images():
    """Bytes of a row that begins anywhere; a copy of such a view is permute's, too."""
    image = gm.to_device(np.ones((64, 1000, 3), "u1"), backend="sim")
    crop = image[:, 5:900]
    counted = gm.traffic("permute", crop, axes=(0, 1, 2), variant="shifted")
    # A sector in which a row ends is stored in two requests, but for ends in its middle.
    assert counted.stores.sectors <= math.ceil(crop.nbytes / 32) + len(crop) * 3 // 2
    assert counted.stores.bytes_asked == crop.nbytes
    assert gm.copy(crop).to_host().tobytes() == crop.to_host().tobytes()


@pytest.mark.parametrize("cut", [np.s_[:, 1:], np.s_[:, :-1], np.s_[1:, 2:], np.s_[:-1, :22]])
def test_vectors_end_with_the_memory(cut):
    """What vectors have room for beyond the array is not loaded where its memory ends."""
    a = gm.to_device(np.ones((5, 23), "u1"), backend="sim")
    counted = gm.traffic("permute", a[cut], axes=(0, 1), variant="shifted")
    assert counted.loads.bytes_asked >= a[cut].nbytes


def test_the_last_block_ends_with_the_memory():
    """It is far from the memory's begin, and the first blocks are far from its end."""
    a = gm.to_device(np.ones((60, 1003), "u1"), backend="sim")[:, 1:]
    counted = gm.traffic("permute", a, axes=(0, 1), variant="shifted")
    assert counted.loads.bytes_asked >= a.nbytes


def test_the_first_block_begins_with_the_memory():
    """That of an array of NumPy's, which begins inside of a vector."""
    memory = np.ones(60 * 1003 + 32, "u1")
    first = -memory.ctypes.data % 16 + 5
    a = gm.from_dlpack(memory[first:][: 60 * 1003].reshape(60, 1003))
    counted = gm.traffic("permute", a[:, :1002], axes=(0, 1), variant="shifted")
    assert counted.loads.bytes_asked >= 60 * 1002


def test_refused_rows(backend):
    a = gm.to_device(np.ones((4, 6, 3), "u1"), backend=backend)
    with pytest.raises(ValueError, match=r"shifted moves rows of 16 bytes to 1 GiB.*have 3"):
        gm.permute(a, (1, 0, 2), variant="shifted")
