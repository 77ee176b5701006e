"""Tiles of products leave out what is outside of the matrix."""

from __future__ import annotations

import numpy as np
import pytest

import gpumem as gm


def shared_loads(family, variant, a, b):
    """Return the bytes that threads load from shared memory to multiply them."""
    counted = gm.traffic(family, a, b, variant=variant)
    assert np.array_equal(counted.result, a @ b)
    return sum(
        site["bytes"]
        for site in counted.sites
        if site["space"] == "shared" and site["file"].endswith("sgemm/warp.h")
    )


@pytest.mark.parametrize(
    ("family", "variant", "side"),
    [
        ("sgemm", "warp_tile_tma", 128),
        ("sgemm", "stream_k", 128),
        ("matmul", "tma", 128),
        ("matmul", "warp_tiles:64x64", 64),
        ("matmul", "warp_tiles:p64x64", 64),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_tile_costs_what_is_inside(family, variant, side, turned, rng):
    """A few rows or columns more than a tile load less than a tile of them would."""
    if turned and family == "sgemm":
        pytest.skip("factors are packed first: the kernel sees one layout")

    def cost(rows, columns):
        def draw(*shape):
            return rng.integers(-8, 9, shape).astype("f4")

        a = draw(64, rows).T if turned else draw(rows, 64)
        if family == "matmul":  # a stack: a single product may be left to sgemm
            a, b = np.stack([a, a]), draw(2, 64, columns)
            if turned:
                a = np.ascontiguousarray(a.transpose(0, 2, 1)).transpose(0, 2, 1)
            return shared_loads(family, variant, a, b)
        return shared_loads(family, variant, a, draw(64, columns))

    whole = cost(side, side)
    assert cost(2 * side, side) == pytest.approx(2 * whole, rel=0.05)
    for rows, columns in ((side + 4, side), (side, side + 4), (side + 4, side + 4)):
        tiles = (1 + (rows > side)) * (1 + (columns > side))
        assert cost(rows, columns) < 0.95 * tiles * whole
