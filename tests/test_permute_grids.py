"""permute's matrices: bands, and more columns of tiles or matrices than y or z of a grid count."""

import numpy as np
import pytest
from support import exhaustive

import gpumem as gm

INSTANCES = next(v for v in gm.variants("permute") if v.name == "matrices").instances
ITEMSIZES = {one.name.removeprefix("matrices:"): one.itemsizes[0] for one in INSTANCES}
TILES = {  # columns and rows
    "vector_b8": (256, 256),
    "vector_b8_narrow": (128, 256),
    "vector_b16": (128, 128),
    "vector_b16_small": (64, 64),
    "vector_b32": (64, 64),
    "vector_b64": (64, 64),
    "vector_b128": (32, 32),
    "gathered_b8": (320, 256),  # some 224 of a row
    "gathered_b16": (240, 128),
    "shifted_b32": (64, 56),
    "shifted_b32_tall": (32, 120),
}
MOST = 65535  # blocks along y and z
BAND = 128  # tiles


def random_array(rng, shape, itemsize):
    a = np.empty(shape, f"V{itemsize}" if itemsize == 16 else f"u{itemsize}")
    a.reshape(-1).view("u1")[...] = rng.integers(0, 256, a.nbytes, dtype=np.uint8)
    return a


def check(a, axes, instance, backend):
    variant = f"matrices:{instance}"
    got = gm.permute(gm.to_device(a, backend=backend), axes, variant=variant).to_host()
    assert got.tobytes() == a.transpose(axes).tobytes()


def grid_of(a, axes, instance):
    there = gm.to_device(a, backend="sim")
    return gm.traffic("permute", there, axes=axes, variant=f"matrices:{instance}").grid


@pytest.mark.parametrize("instance", ITEMSIZES)
def test_columns_of_tiles_split_into_bands(instance, backend, rng):
    """Three of them; the last one and the last column of tiles are partial."""
    itemsize = ITEMSIZES[instance]
    vector, tile = 16 // itemsize, TILES[instance]
    rows, cols = 2 * BAND * tile[1] + vector, tile[0] + vector
    check(random_array(rng, (2, rows, cols), itemsize), (0, 2, 1), instance, backend)


@pytest.mark.parametrize("rows", [BAND, BAND + 1, 2 * BAND + 1])
def test_the_grid_of_bands(rows):
    """As many tiles in each, of which the last may have none for its last block."""
    a = np.zeros((3, 32 * rows, 32 + 1), "c16")
    bands = -(-rows // BAND)
    assert grid_of(a, (0, 2, 1), "vector_b128") == (-(-rows // bands), 2, 3 * bands)


@pytest.mark.parametrize(
    ("matrices", "axes"),
    [
        ((MOST + 2,), (0, 2, 1)),
        ((257, 257), (0, 1, 3, 2)),
        ((257, 257), (1, 0, 3, 2)),  # matrices are told apart along two axes
        pytest.param((5, 1723, 9), (2, 1, 0, 4, 3), marks=pytest.mark.exhaustive),
    ],
    ids=str,
)
@pytest.mark.parametrize("instance", ["vector_b32", "gathered_b16"])
def test_more_matrices_than_a_grid_counts(instance, matrices, axes, backend, rng):
    assert MOST < np.prod(matrices) and np.prod(matrices) % 2 == 1  # a block has nothing to do
    check(random_array(rng, (*matrices, 2, 2), ITEMSIZES[instance]), axes, instance, backend)


@pytest.mark.parametrize("matrices", [1, 3])
@pytest.mark.parametrize("instance", ["shifted_b32_tall", *exhaustive("vector_b32")])
def test_more_columns_of_tiles_than_a_grid_counts(instance, matrices, backend, rng):
    """Of which the last ones are partial."""
    cols = (MOST + 2) * TILES[instance][0] - 5
    check(random_array(rng, (matrices, 3, cols), ITEMSIZES[instance]), (0, 2, 1), instance, backend)


def test_the_grid_of_what_y_and_z_do_not_count():
    """Both count columns of all matrices; it has as few blocks too many as z counts."""
    a = np.zeros((MOST + 2, 8, 8), "u2")
    assert grid_of(a, (0, 2, 1), "vector_b16_small") == (1, (MOST + 3) // 2, 2)
