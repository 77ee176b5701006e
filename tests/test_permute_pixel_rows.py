"""permute's rows of pixels, reversed or some of their bytes: variant shifted, and its choice."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from view_cases import placed, slices

import gpumem as gm
from gpumem import _core
from gpumem.families.permute import _parameters

AROUND = 40  # bytes before and after arrays


@st.composite
def images(draw):
    """Rows of pixels with the units of each in the opposite order to that of the row."""
    itemsize = draw(st.sampled_from([1, 2]))
    units = draw(st.integers(2, 5 if itemsize == 1 else 3))
    outer = draw(st.lists(st.integers(1, 5), max_size=2))
    pixels = draw(st.integers(-(-16 // (units * itemsize)), 400))
    if draw(st.booleans()):
        first = draw(st.integers(0, pixels // 3))  # rows with a gap between them
        cut = (slice(first, None), slice(None, None, -1))
        pixels += first
    else:
        cut = (slice(None, None, -1), slice(None))
    cut = (*(draw(slices(n)) for n in outer), *cut)
    return [*outer, pixels, units], cut, itemsize


@st.composite
def picks(draw):
    """One of two bytes, two of three, or three of four, in either order."""
    outer = draw(st.lists(st.integers(1, 5), max_size=2))
    channels = draw(st.integers(2, 4))
    units = channels - 1
    pixels = draw(st.integers(-(-16 // units), 1500))
    apart = 2 if channels == 3 and draw(st.booleans()) else 1
    first = draw(st.integers(0, channels - 1 - (units - 1) * apart))
    pick = slice(first, first + (units - 1) * apart + 1, apart)
    if draw(st.booleans()):
        last = first + (units - 1) * apart
        pick = slice(last, first - 1 if first > 0 else None, -apart)
    inside = slice(1, None) if draw(st.booleans()) else slice(None)
    cut = (*(draw(slices(n)) for n in outer), inside, pick)
    return [*outer, pixels + 1, channels], cut, 1


def is_taken(a):
    """Rows of fewer bytes are no rows of shifted."""
    return math.prod(a.shape[-2:]) * a.itemsize >= 16


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    image=images() | picks(), source=st.integers(0, 20), target=st.integers(0, 20), data=st.data()
)
def test_any_image(image, source, target, data, backend):
    """Byte for byte, at any addresses, and nothing beside the result is written."""
    shape, cut, itemsize = image
    source, target = source // itemsize * itemsize, target // itemsize * itemsize
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    here = rng.integers(0, 256, math.prod(shape) * itemsize + source, dtype=np.uint8)
    a = placed(here, source, shape, itemsize)[cut]
    there = placed(gm.to_device(here, backend=backend), source, shape, itemsize)[cut]
    after = rng.integers(0, 256, a.nbytes + AROUND, dtype=np.uint8)
    memory = gm.to_device(after, backend=backend)
    out = placed(memory, target, a.shape, itemsize)
    gm.permute(there, range(a.ndim), variant="shifted" if is_taken(a) else "auto", out=out)
    after[target : target + a.nbytes] = np.frombuffer(a.tobytes(), np.uint8)
    assert memory.to_host().tobytes() == after.tobytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(image=images(), gap=st.integers(1, 20), data=st.data())
def test_any_image_into_gaps(image, gap, data, backend):
    """Into rows with gaps between them, which keep what they have."""
    shape, cut, itemsize = image
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    a = rng.integers(0, 256, math.prod(shape) * itemsize, dtype=np.uint8)
    a = placed(a, 0, shape, itemsize)[cut]
    whole = (*a.shape[:-2], a.shape[-2] + gap, a.shape[-1])
    after = rng.integers(0, 256, math.prod(whole) * itemsize, dtype=np.uint8)
    memory = gm.to_device(after, backend=backend)
    inside = (..., slice(gap // 2, gap // 2 + a.shape[-2]), slice(None))
    there = gm.to_device(a, backend=backend)
    if cut[-1].step == -1:  # to_device has put the units in order: reverse them again
        there = gm.to_device(a[..., ::-1], backend=backend)[..., ::-1]
    else:
        there = gm.to_device(a[..., ::-1, :], backend=backend)[..., ::-1, :]
    out = placed(memory, 0, whole, itemsize)[inside]
    gm.permute(there, range(a.ndim), variant="shifted" if is_taken(a) else "auto", out=out)
    placed(after, 0, whole, itemsize)[inside] = a
    assert memory.to_host().tobytes() == after.tobytes()


@pytest.mark.parametrize("cut", [np.s_[:, ::-1], np.s_[:, :, ::-1], np.s_[:, 1:, ::-1]])
@pytest.mark.parametrize("dtype", ["u1", "f2"])
def test_units_are_loaded_in_vectors(dtype, cut):
    """Three for one of the result, at most; a row's end has two of these."""
    a = gm.to_device(np.ones((64, 1000, 3), dtype), backend="sim")[cut]
    counted = gm.traffic("permute", a, axes=(0, 1, 2), variant="shifted")
    assert counted.loads.bytes_asked <= 3 * a.nbytes + len(a) * 6 * 16
    assert counted.stores.bytes_asked == a.nbytes
    assert [kernel["name"] for kernel in counted.kernels] == ["permute_shifted_pixels"]


@pytest.mark.parametrize(
    ("shape", "cut"),
    [
        ((200_000,), np.s_[::2]),
        ((64, 1001), np.s_[:, 1::2]),
        ((64, 1000, 3), np.s_[..., :2]),
        ((64, 1000, 3), np.s_[..., ::-2]),
        ((64, 1000, 4), np.s_[..., 2::-1]),  # BGRA to RGB
    ],
)
def test_bytes_are_picked_from_vectors(shape, cut):
    """Three for one of the result, at most; a row's end has two of these."""
    a = gm.to_device(np.ones(shape, "u1"), backend="sim")[cut]
    counted = gm.traffic("permute", a, axes=range(a.ndim), variant="shifted")
    assert counted.loads.bytes_asked <= 3 * a.nbytes + len(a) * 6 * 16
    assert counted.stores.bytes_asked == a.nbytes
    assert [kernel["name"] for kernel in counted.kernels] == ["permute_shifted_picked"]


def test_pixels_end_with_the_memory():
    """The last pixel's other bytes may be those of nobody."""
    memory = np.arange(4 * 1000, dtype="u1")
    a = np.lib.stride_tricks.as_strided(memory[: 4 * 999 + 3], (1000, 3), (4, 1))
    there = gm.from_dlpack(a)
    out = gm.permute(there, (0, 1), variant="shifted")
    np.testing.assert_array_equal(out.to_host(), a)


IMAGE = (4000, 1000, 3)


@pytest.mark.parametrize(
    ("dtype", "shape", "cut", "variant"),
    [
        ("u1", IMAGE, np.s_[:, ::-1], "shifted"),
        ("u1", IMAGE, np.s_[:, :, ::-1], "shifted"),
        ("f2", IMAGE, np.s_[:, ::-1], "shifted"),
        ("u1", (3000, 1000, 4), np.s_[..., ::-1], "shifted"),
        ("u1", (500, 1000, 3), np.s_[:, ::-1], "words"),  # little
        ("u1", (1000000, 6, 3), np.s_[:, ::-1], "words"),  # rows of 18 bytes
        ("f2", (100000, 30, 3), np.s_[:, ::-1], "words"),
        ("f4", IMAGE, np.s_[:, ::-1], "words"),
        ("u1", (60_000_000,), np.s_[::2], "shifted"),
        ("u1", (60_000, 2001), np.s_[::2, ::2], "shifted"),
        ("u1", (20_000, 1000, 3), np.s_[..., :2], "shifted"),
        ("u1", (4000, 1000, 4), np.s_[..., 2::-1], "shifted"),
        ("u1", (4_000_000,), np.s_[::2], "words"),
        ("u1", (2000, 1000, 7), np.s_[:, ::-1], "words"),  # a unit may be 6 bytes away
    ],
)
def test_choice(dtype, shape, cut, variant):
    view = gm.to_device(np.empty(shape, dtype), backend="sim")[cut]
    out = gm.to_device(np.empty(view.shape, dtype), backend="sim")
    plan = _core.prepare("permute", "auto", (view,), out, None, _parameters(range(view.ndim)))
    assert plan.variant == variant


@pytest.mark.gpu
@pytest.mark.usefixtures("gigabytes")
@pytest.mark.parametrize(
    "cut", [np.s_[:, ::-1], np.s_[:, 1:, ::-1], np.s_[:, 1:], np.s_[:, 1:, :2]]
)
def test_more_than_2_gib(cut, rng):
    """Rows of pixels, and plain ones."""
    a = gm.DeviceArray((30000, 29999, 3), "u1", backend="cuda")
    first = rng.integers(0, 256, a.shape[1:], dtype=np.uint8)
    gm.copy(gm.to_device(first, backend="cuda"), out=a[0])
    for done in (2**k for k in range(15)):  # the rows before, again
        more = min(done, len(a) - done)
        gm.copy(a[:more], out=a[done : done + more])
    out = gm.permute(a[cut], (0, 1, 2), variant="shifted")
    for row in (0, 1, 23861, 23862, 23863, len(a) - 1):
        np.testing.assert_array_equal(out[row].to_host(), first[cut[1:]])
