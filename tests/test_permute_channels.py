"""permute's row channels: pixels of many channels to planes, and planes to pixels."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpumem as gm

UNITS = {"u1": "b8", "i2": "b16", "f4": "b32"}
MARGIN = 64  # elements before and behind a result, which keep what they were


def moved(there, a, variant, rng, first):
    """Return whether the row takes it; then what it stored was right, and nothing else changed."""
    want = np.ascontiguousarray(a.transpose(0, 2, 1))
    memory = rng.integers(0, 256, want.nbytes + (2 * MARGIN + first) * a.itemsize, dtype=np.uint8)
    begin = (MARGIN + first) * a.itemsize
    out = gm.to_device(memory, backend=there.backend)
    result = out[begin : begin + want.nbytes].view(a.dtype).reshape(want.shape)
    try:
        gm.permute(there, (0, 2, 1), out=result, variant=variant)
    except ValueError as error:  # which of two equal sides are pixels, or units are larger
        assert "between pixels and planes" in str(error) or "moves units of" in str(error)
        return False
    memory[begin : begin + want.nbytes] = want.view(np.uint8).ravel()
    assert out.to_host().tobytes() == memory.tobytes()
    return True


@pytest.mark.parametrize("dtype", UNITS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_number_of_channels_and_pixels(dtype, backend, rng, data):
    """Of some images, cut out of larger ones, mirrored or not, at any place of a vector."""
    size = np.dtype(dtype).itemsize
    channels = data.draw(st.integers(2, 64))
    pixels = data.draw(st.one_of(st.integers(2, 200), st.integers(2, 50_000 // channels // size)))
    images, more = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 2))
    to_planes = data.draw(st.booleans())
    whole = (images, pixels + more, channels) if to_planes else (images, channels, pixels + more)
    offset, first = data.draw(st.integers(0, 32)), data.draw(st.integers(0, 32))
    memory = rng.integers(0, 256, (np.prod(whole) + offset) * size, dtype=np.uint8)
    index = (
        slice(None, None, data.draw(st.sampled_from([1, 1, -1]))),
        *[slice(pixels), slice(None)][:: 1 if to_planes else -1],
    )
    there = gm.to_device(memory, backend=backend)
    a, there = (m[offset * size :].view(dtype).reshape(whole)[index] for m in (memory, there))
    if data.draw(st.integers(0, 3)) == 0:
        a, there = ((m[:, :, ::-1] if to_planes else m[:, ::-1]) for m in (a, there))
    moved(there, a, f"channels:{UNITS[dtype]}", rng, first)
    assert moved(there, a, "auto", rng, first)


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("channels", [2, 5, 7, 16, 33, 64])
@pytest.mark.parametrize("to_planes", [False, True])
def test_every_place_of_a_sector(dtype, channels, to_planes, backend, rng):
    """Tiles that end anywhere: one pixel more from one to the next."""
    for more in range(34):
        pixels, first = 97 + 65 * (more % 3) + more, int(rng.integers(33))
        shape = (2, pixels, channels) if to_planes else (2, channels, pixels)
        a = rng.integers(-100, 100, shape).astype(dtype)
        there = gm.to_device(a, backend=backend)
        taken = moved(there, a, "channels", rng, first)
        assert taken or np.prod(shape[1:]) % 2 == 0  # which may be units of two


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((2, 311, 11, 5), (0, 3, 2, 1)),  # planes in another order, of each image
        ((3, 2, 97, 13, 3), (1, 4, 0, 3, 2)),  # and between others
        ((2, 311, 7, 3), (2, 0, 3, 1)),  # images between planes
        ((2, 3, 13, 97), (0, 3, 2, 1)),  # and back
        ((3, 2, 9, 201), (1, 3, 0, 2)),
        ((3, 2, 9, 201), (1, 3, 2, 0)),
    ],
)
def test_channels_along_two_axes(dtype, shape, axes, backend, rng):
    """At every place of a sector, cut out of others, and with an axis reversed."""
    pixels, size = max(shape), int(np.prod(shape))
    for offset in range(32 // np.dtype(dtype).itemsize):
        memory = rng.integers(-100, 100, size + offset).astype(dtype)
        a = memory[offset:].reshape(shape)
        if offset % 3 == 1:
            a = a[tuple(slice(1, -1) if extent == pixels else slice(None) for extent in shape)]
        elif offset % 3 == 2:
            a = np.flip(a, offset % a.ndim)
        got = gm.permute(gm.to_device(a, backend=backend), axes, variant="channels")
        assert got.to_host().tobytes() == a.transpose(axes).tobytes()


def test_auto_takes_two_axes_of_channels():
    a = np.ones((40, 20_011, 13, 3), "u1")
    assert gm.traffic("permute", a, axes=(0, 3, 2, 1)).variant == "channels:b8"


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("channels", [5, 9, 16, 31])
@pytest.mark.parametrize("to_planes", [False, True])
def test_memory_is_moved_by_sectors(dtype, channels, to_planes):
    """Whatever the size of a pixel, and in whole vectors; rows of pixels share those in which they
    end."""
    size = np.dtype(dtype).itemsize
    pixels = 400_001 // channels // size
    shape = (2, pixels, channels) if to_planes else (2, channels, pixels)
    a = gm.to_device(np.ones(shape, dtype), backend="sim")
    counted = gm.traffic("permute", a, axes=(0, 2, 1), variant="channels")
    assert counted.stores.sectors * 32 < 1.05 * a.nbytes
    assert counted.stores.requests * 512 < 1.4 * a.nbytes
    assert counted.loads.sectors * 32 < (1.5 if to_planes else 1.2) * a.nbytes


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("channels", [8, 12, 16, 24, 48, 64])
@pytest.mark.parametrize("to_planes", [False, True])
def test_few_lanes_share_a_bank(dtype, channels, to_planes):
    """Even where pixels are whole vectors, and planes begin alike."""
    shape = (4032, channels) if to_planes else (channels, 4032)
    a = gm.to_device(np.ones(shape, dtype), backend="sim")
    counted = gm.traffic("permute", a, axes=(1, 0), variant="channels")
    assert counted.shared.bank_ways < 3.5


@pytest.mark.parametrize("axes", [(1, 0), (0, 1)])
def test_auto_takes_it(axes):
    """Where transpose has no vectors for a few columns or rows; and of a stack."""
    a = np.ones((1_000_003, 7), "u1")
    a = a if axes == (1, 0) else a.T.copy()
    assert gm.traffic("permute", a, axes=(1, 0)).variant == "channels:b8"
    stack = np.ones((5, *a.shape), "u1")[:, :20_000, :20_000]
    assert gm.traffic("permute", stack, axes=(0, 2, 1)).variant == "channels:b8"
    assert gm.traffic("transpose", a).variant == "strided"
    assert (gm.transpose(a, backend="sim") == 1).all()


def test_auto_takes_other_rows_for_many_short_images():
    """A block for each would do next to nothing; lanes of words find them in the L1."""
    for shape, row in (((20_000, 301, 5), "words"), ((20_000, 5, 301), "packed:small")):
        a = gm.DeviceArray(shape, "u1", backend="sim")
        assert gm.traffic("permute", a, axes=(0, 2, 1)).variant == row


@pytest.mark.parametrize("channels", [3, 13])
def test_the_family_transpose_moves_channels_as_well(channels, rng, backend):
    """By this family, and not for ever."""
    a = rng.integers(0, 256, (100_001, channels), dtype=np.uint8)
    for b in (a, np.ascontiguousarray(a.T)):
        got = gm.permute(gm.to_device(b, backend=backend), (1, 0), variant="matrix")
        assert got.to_host().tobytes() == b.T.tobytes()


@pytest.mark.parametrize(
    ("shape", "dtype", "axes"),
    [
        ((100, 65), "u1", (1, 0)),  # too many channels
        ((5, 100, 2), "f4", (1, 0, 2)),  # units of 8 bytes
        ((40, 30, 7), "u1", (1, 0, 2)),  # pixels stay together
    ],
)
def test_what_it_does_not_take(shape, dtype, axes, backend):
    with pytest.raises(ValueError, match=r"moves 2 to 64 channels of units of 1, 2 or 4 bytes"):
        gm.permute(np.ones(shape, dtype), axes, variant="channels", backend=backend)


def test_an_instance_names_its_unit(backend):
    a = np.ones((98, 7, 2), "u1")
    with pytest.raises(ValueError, match=r"moves units of 1 byte; .* units of 2"):
        gm.permute(a, (1, 0, 2), variant="channels:b8", backend=backend)
