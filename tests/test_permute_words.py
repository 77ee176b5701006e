"""permute's row words: units of up to 4 bytes at any distances, and when auto takes it."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from view_cases import placed, slices

import gpumem as gm
from gpumem import _core
from gpumem.families.permute import _parameters

AROUND = 40  # bytes before and after the result


@st.composite
def views(draw):
    """A view: the shape and element of its array, the slices, a repeated axis, and axes."""
    itemsize = draw(st.sampled_from([1, 2, 4]))
    sides = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 40])
    shape = draw(st.lists(sides, min_size=0, max_size=3))
    shape.insert(draw(st.integers(0, len(shape))), draw(st.integers(1, 700)))
    cut = tuple(draw(slices(n)) for n in shape)
    axis = st.tuples(st.integers(0, len(shape)), st.sampled_from([1, 2, 3, 16, 50]))
    repeat = draw(st.none() | axis)
    axes = draw(st.permutations(range(len(shape) + (repeat is not None))))
    return shape, itemsize, cut, repeat, tuple(axes)


def repeated(a, at, times):
    """Return the array with one more axis, along which it is the same again and again."""
    shape, strides = list(a.shape), list(a.strides)
    shape.insert(at, times)
    strides.insert(at, 0)
    return np.lib.stride_tricks.as_strided(a, shape, strides)


def repeated_there(here, shape, itemsize, repeat, backend):
    """The same on a device, of an array of bytes on the host."""
    if backend == "sim":
        return gm.from_dlpack(repeated(here.view(f"u{itemsize}").reshape(shape), *repeat))
    torch = pytest.importorskip("torch")
    at, times = repeat
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[itemsize]
    one = torch.from_numpy(here).cuda().view(kind).reshape(shape).unsqueeze(at)
    return gm.from_dlpack(one.expand(*shape[:at], times, *shape[at:]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(view=views(), source=st.integers(0, 12), target=st.integers(0, 20), data=st.data())
def test_units_at_any_distances(view, source, target, data, backend):
    """Byte for byte, and nothing beside the result is written."""
    shape, itemsize, cut, repeat, axes = view
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    here = rng.integers(0, 256, math.prod(shape) * itemsize + source, dtype=np.uint8)
    a = placed(here, source, shape, itemsize)
    if repeat is None:
        there = placed(gm.to_device(here, backend=backend), source, shape, itemsize)
    else:
        a = repeated(a, *repeat)
        there = repeated_there(here[source:], shape, itemsize, repeat, backend)
        there = there.view(f"V{itemsize}")
        cut = (*cut[: repeat[0]], slice(None), *cut[repeat[0] :])
    want = a[cut].transpose(axes)
    after = rng.integers(0, 256, want.nbytes + target + AROUND, dtype=np.uint8)
    memory = gm.to_device(after, backend=backend)
    out = placed(memory, target, want.shape, itemsize)
    try:
        gm.permute(there[cut], axes, variant="words", out=out)
    except ValueError as error:
        assume("moves units of up to 4 bytes" not in str(error))
        raise
    after[target : target + want.nbytes] = np.frombuffer(want.tobytes(), np.uint8)
    assert memory.to_host().tobytes() == after.tobytes()


@pytest.mark.parametrize(
    ("dtype", "shape", "axes", "part"),
    [
        ("u1", (4000,), (0,), ""),
        ("u2", (40, 300), (0, 1), ""),
        ("u1", (40, 30, 3), (0, 1, 2), "_short_b8"),
        ("u4", (40, 30, 3), (0, 1, 2), "_short"),
        ("u1", (40, 30, 2, 2), (0, 1, 3, 2), "_single"),
    ],
)
def test_each_unit_is_loaded_once(dtype, shape, axes, part):
    """And stored in whole words, whichever kernel finds them."""
    rows = np.ones((*shape[:-1], 2 * shape[-1] + 1), dtype)
    there = gm.to_device(rows, backend="sim")[..., 1::2]
    counted = gm.traffic("permute", there, axes=axes, variant="words")
    assert counted.loads.bytes_asked == counted.stores.bytes_asked == there.nbytes
    assert counted.stores.sectors <= math.ceil(there.nbytes / 32) + 2
    assert [kernel["name"] for kernel in counted.kernels] == ["permute_words" + part]


def test_a_repeated_unit_is_loaded_for_words_only():
    """One in each word of 16 bytes, and one more where a row ends in it."""
    rows, times = 30, 1001
    there = repeated_there(np.ones(rows, "u1"), (rows,), 1, (1, times), "sim")
    counted = gm.traffic("permute", there, axes=(0, 1), variant="words")
    assert counted.loads.bytes_asked <= rows * (times // 16 + 2) + 32 * rows
    assert [kernel["name"] for kernel in counted.kernels] == ["permute_words_same"]


@pytest.mark.parametrize("shape", [(12,), (12, 33), (12, 5, 3)])
def test_arrays_of_more_than_2_gib(shape):
    """They are moved in pieces, each with distances of less than 2^31."""
    apart = (1 << 28) + 12345
    memory = np.zeros(12 * apart, "u1")  # of which the system has the pages below only
    strides = (apart, 7, 2) if len(shape) > 2 else (apart, 1)[: len(shape)]
    a = np.lib.stride_tricks.as_strided(memory, shape, strides)
    a[...] = np.random.default_rng().integers(0, 256, shape)
    out = gm.to_device(np.full(shape, 170, "u1"), backend="sim")
    gm.permute(gm.from_dlpack(a), tuple(range(len(shape))), variant="words", out=out)
    assert np.array_equal(out.to_host(), a)
    if len(shape) > 1:
        with pytest.raises(ValueError, match=r"all but the outermost axis.*less than 2 GiB apart"):
            gm.permute(gm.from_dlpack(a), variant="words")


def test_refused_units(backend):
    a = gm.to_device(np.ones((40, 3)), backend=backend)[:, ::2]
    with pytest.raises(
        ValueError, match=r"words moves units of up to 4 bytes.*80 units of 8 bytes"
    ):
        gm.permute(a, (0, 1), variant="words")


IMAGE = (500, 400, 3)


@pytest.mark.parametrize(
    ("dtype", "shape", "cut", "variant"),
    [
        ("u1", (3000000,), np.s_[::-1], "words"),
        ("u1", (30000000,), np.s_[::-1], "shifted"),  # memory takes most of the time
        ("f2", (4000, 4001), np.s_[:, ::-1], "shifted"),
        ("f4", (1000, 1001), np.s_[:, ::-1], "words"),
        ("f8", (1000, 1001), np.s_[:, ::-1], "runs"),
        ("u1", IMAGE, np.s_[:, :, ::-1], "words"),  # channels in the other order
        ("u1", IMAGE, np.s_[:, ::-1], "words"),  # pixels
        ("u1", IMAGE, np.s_[::-1], "runs"),  # rows, of vectors
        ("f4", IMAGE, np.s_[:, :, 1], "words"),
        ("u1", (2000, 2000), np.s_[::2, ::2], "words"),
    ],
)
def test_choice_for_views(dtype, shape, cut, variant):
    view = gm.to_device(np.empty(shape, dtype), backend="sim")[cut]
    out = gm.to_device(np.empty(view.shape, dtype), backend="sim")
    plan = _core.prepare("permute", "auto", (view,), out, None, _parameters(range(view.ndim)))
    assert plan.variant == variant
