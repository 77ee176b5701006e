"""permute of axes that change places and run backwards: rotated matrices and images."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from view_cases import placed, slices

import gpumem as gm
from gpumem import _core
from gpumem.families.permute import _parameters

FLIPS = {
    "rows": np.s_[::-1, :],
    "columns": np.s_[:, ::-1],
    "both": np.s_[::-1, ::-1],
}
INSTANCES = [
    ("u1", 16, "matrices:vector_b8"),
    ("u1", 16, "matrices:vector_b8_narrow"),
    ("u1", 1, "matrices:gathered_b8"),
    ("u2", 16, "matrices:vector_b16"),
    ("u2", 16, "matrices:vector_b16_small"),
    ("u2", 1, "matrices:gathered_b16"),
    ("f4", 1, "matrices:vector_b32"),
    ("f4", 16, "matrices:vector_b32"),
    ("f4", 1, "matrices:shifted_b32"),
    ("f4", 1, "matrices:shifted_b32_tall"),
    ("f8", 1, "matrices:vector_b64"),
    ("c16", 1, "matrices:vector_b128"),
    ("u1", 1, "joined:b8"),
    ("u2", 1, "joined:b16"),
    ("f4", 1, "joined:b32"),
    ("f8", 1, "joined:b64"),
    ("c16", 1, "joined:b128"),
]


@pytest.mark.parametrize("flip", FLIPS)
@pytest.mark.parametrize(("dtype", "whole", "instance"), INSTANCES)
def test_rotated_matrices(dtype, whole, instance, flip, backend, rng):
    """By every instance; the first and the last row end where the memory does."""
    rows, cols = (int(n) * whole for n in rng.integers(200 // whole, 700 // whole, 2))
    a = np.frombuffer(rng.bytes(rows * cols * np.dtype(dtype).itemsize), dtype)
    a = a.reshape(rows, cols)
    x = gm.to_device(a, backend=backend)[FLIPS[flip]]
    got = gm.permute(x, (1, 0), variant=instance)
    assert got.to_host().tobytes() == a[FLIPS[flip]].T.tobytes()


@pytest.mark.parametrize("flip", FLIPS)
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8"])
def test_rotated_images(dtype, channels, flip, backend, rng):
    rows, cols = map(int, rng.integers(100, 260, 2))
    size = rows * cols * channels * np.dtype(dtype).itemsize
    a = np.frombuffer(rng.bytes(size), dtype).reshape(rows, cols, channels)
    x = gm.to_device(a, backend=backend)[FLIPS[flip]]
    for variant in ("auto", "packed"):
        got = gm.permute(x, (1, 0, 2), variant=variant)
        assert got.to_host().tobytes() == a[FLIPS[flip]].transpose(1, 0, 2).tobytes()


@pytest.mark.parametrize("flip", FLIPS)
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
def test_rotated_stacks(dtype, flip, backend, rng):
    """Of small matrices, whose rows of the result would follow each other without the flip."""
    for rows in (5, 9, 33, 130):
        for cols in (4, 9, 16):
            a = np.frombuffer(rng.bytes(40 * rows * cols * np.dtype(dtype).itemsize), dtype)
            a = a.reshape(40, rows, cols)
            cut = (slice(None), *FLIPS[flip])
            got = gm.permute(gm.to_device(a, backend=backend)[cut], (0, 2, 1), variant="packed")
            assert got.to_host().tobytes() == a[cut].transpose(0, 2, 1).tobytes()


@pytest.mark.parametrize("shape", [(3, 31, 64), (2, 57, 61)])
@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
def test_channels_in_the_other_order(dtype, channels, shape, backend, rng):
    """From pixels to planes, and back."""
    size = math.prod(shape) * channels * np.dtype(dtype).itemsize
    a = np.frombuffer(rng.bytes(size), dtype)
    pixels, planes = a.reshape(*shape, channels), a.reshape(shape[0], channels, *shape[1:])
    for b, cut, axes in (
        (pixels, np.s_[..., ::-1], (0, 3, 1, 2)),
        (planes, np.s_[:, ::-1], (0, 2, 3, 1)),
    ):
        x = gm.to_device(b, backend=backend)[cut]
        got = gm.permute(x, axes, variant="pixels")
        assert got.to_host().tobytes() == b[cut].transpose(axes).tobytes()


@pytest.mark.parametrize("flip", FLIPS)
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4"])
def test_small_matrices(dtype, flip):
    """By every kernel that takes them: no access is outside of the memory."""
    for rows in (2, 3, 4, 5, 17, 40):
        for cols in (2, 3, 4, 5, 16):
            a = np.arange(rows * cols).astype(dtype).reshape(rows, cols)
            x = gm.to_device(a, backend="sim")[FLIPS[flip]]
            for one in gm.variants("permute", instances=True):
                with contextlib.suppress(ValueError):  # that the variant does not take the layout
                    got = gm.traffic("permute", x, axes=(1, 0), variant=one.name).result.to_host()
                    assert got.tobytes() == a[FLIPS[flip]].T.tobytes(), one.name


@st.composite
def views(draw):
    """The shape and element of an array, slices, and axes."""
    itemsize = draw(st.sampled_from([1, 1, 2, 2, 3, 4, 8, 16]))
    sides = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 15, 16, 33])
    shape = draw(st.lists(sides, min_size=1, max_size=3))
    for side in draw(st.lists(st.integers(1, 150), min_size=1, max_size=2)):
        shape.insert(draw(st.integers(0, len(shape))), side)
    while math.prod(shape) > 1 << 18:
        shape[shape.index(max(shape))] //= 2
    cut = tuple(draw(slices(n)) for n in shape)
    return shape, itemsize, cut, tuple(draw(st.permutations(range(len(shape)))))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(view=views(), source=st.integers(0, 20), data=st.data())
@pytest.mark.parametrize("variant", ["matrices", "packed", "pixels"])
def test_views_that_are_permuted(variant, view, source, data, backend):
    shape, itemsize, cut, axes = view
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    here = rng.integers(0, 256, math.prod(shape) * itemsize + source, dtype=np.uint8)
    a = placed(here, source, shape, itemsize)[cut]
    x = placed(gm.to_device(here, backend=backend), source, shape, itemsize)[cut]
    try:
        got = gm.permute(x, axes, variant=variant)
    except ValueError as refused:
        assert variant != "packed" and f"variant {variant}" in str(refused)
        return
    assert got.to_host().tobytes() == a.transpose(axes).tobytes()


@pytest.mark.parametrize(
    ("dtype", "shape", "variant"),
    [
        ("u1", (512, 256), "matrices"),
        ("u1", (521, 613), "matrices"),
        ("u1", (521, 613), "packed"),
        ("u2", (521, 613), "matrices"),
        ("f4", (521, 613), "matrices"),
        ("u1", (120, 130, 3), "packed"),
        ("u2", (120, 131, 3), "packed"),
        ("f4", (120, 130, 3), "packed"),
    ],
)
def test_rotations_cost_what_a_transpose_does(dtype, shape, variant):
    """But for rows of the result that begin elsewhere in sectors: up to a tenth."""
    x = gm.to_device(np.zeros(shape, dtype), backend="sim")
    axes = (1, 0, 2)[: len(shape)]
    plain = gm.traffic("permute", x, axes=axes, variant=variant)
    for flip in FLIPS.values():
        turned = gm.traffic("permute", x[flip], axes=axes, variant=variant)
        assert turned.loads.sectors <= 1.1 * plain.loads.sectors
        assert turned.stores.sectors <= 1.1 * plain.stores.sectors


def chosen(view):
    out = gm.to_device(np.empty(view.shape, view.dtype), backend="sim")
    plan = _core.prepare("permute", "auto", (view,), out, None, _parameters(range(view.ndim)))
    return plan.variant


@pytest.mark.parametrize("flip", FLIPS)
@pytest.mark.parametrize(
    ("dtype", "shape", "variant"),
    [
        ("u1", (4096, 4096), "matrices:vector_b8"),
        ("u1", (4001, 5003), "matrices:gathered_b8"),
        ("f4", (4096, 4096), "matrices:vector_b32"),
        ("f8", (4001, 5003), "matrices:vector_b64"),
        ("u1", (1500, 2001, 3), "joined:b8"),
        ("f4", (1500, 2001, 3), "joined:b32"),
    ],
)
def test_choice_for_rotations(dtype, shape, variant, flip):
    view = gm.to_device(np.empty(shape, dtype), backend="sim")[FLIPS[flip]]
    assert chosen(view.transpose((1, 0, 2)[: len(shape)])) == variant


def test_choice_for_pixels_that_become_planes():
    images = gm.to_device(np.empty((8, 600, 500, 3), "u1"), backend="sim")
    assert chosen(images[..., ::-1].transpose(0, 3, 1, 2)) == "pixels:b8"
    assert chosen(images[:, :, ::-1].transpose(0, 3, 1, 2)) == "words"  # mirrored
