"""permute's kept plans: what was planned before changes nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gpumem as gm


def planned(a, axes):
    """Return what tells of a plan: the grid, and the sectors of all lines."""
    counted = gm.traffic("permute", a, variant="packed", axes=axes)
    sites = [(s["file"], s["line"], s["kind"], s["sectors"]) for s in counted.sites]
    return counted.grid, sorted(sites)


@pytest.mark.parametrize(
    ("dtype", "shape", "axes", "offset"),
    [
        ("f2", (8, 19, 16), (1, 2, 0), 10),
        ("u1", (35, 27, 32), (1, 2, 0), 8),
        ("f8", (7, 33, 24), (2, 1, 0), 2),
        ("f4", (23, 10, 32), (2, 1, 0), 1),
    ],
)
def test_a_plan_is_the_same_after_one_of_another_alignment(dtype, shape, axes, offset):
    """Both arrays begin at whole words, but not at the same place of a sector."""
    size = int(np.prod(shape))
    memory = gm.to_device(np.zeros(size + offset, dtype), backend="sim")
    aligned, other = memory[:size].reshape(shape), memory[offset:].reshape(shape)
    with ThreadPoolExecutor(1) as fresh:  # threads keep plans of their own
        alone = fresh.submit(planned, other, axes).result()
    with ThreadPoolExecutor(1) as fresh:
        fresh.submit(planned, aligned, axes).result()
        assert fresh.submit(planned, other, axes).result() == alone
