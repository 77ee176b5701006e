"""What is counted of users' kernels: warps, requests that are a guess, and lines one by one."""

from __future__ import annotations

import numpy as np
import pytest
from loading import load

LINES = 400
# Odd lanes make one access less than even ones: then each access looks for its line.
MANY_LINES = (
    "__global__ void many_lines(int *x)\n{\n    int t = threadIdx.x;\n"
    "    if (t % 2 == 0) x[t] = 1;\n"
    + "".join(f"    x[{32 * k} + t] = {k};\n" for k in range(1, LINES + 1))
    + "}\n"
)
SOURCE = (
    MANY_LINES
    + """
__global__ void fewer_and_fewer(int *x)
{
    for (int i = threadIdx.x; i < 32; i++) x[32 * i + threadIdx.x] = i;
}
__global__ void fill(int *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
"""
)


@pytest.fixture(scope="module")
def module():
    return load(source=SOURCE)


@pytest.fixture
def x():
    return np.zeros(32 * (LINES + 1) + 1, "i4")


def test_the_last_warp_of_a_block_may_not_be_full(module, x):
    for threads, warps in [(1, 1), (32, 1), (33, 2)]:
        (kernel,) = module.traffic("fill", 3, threads, [x])["kernels"]
        assert kernel["warps"] == 3 * warps


def test_requests_are_a_guess_where_the_first_lane_makes_most(module, x):
    """Lane k stores 32 - k times; nothing says which of the stores go together."""
    (site,) = module.traffic("fewer_and_fewer", 1, 32, [x])["sites"]
    assert (site["lanes"], site["uncertain"]) == (32 * 33 // 2, 32 * 33 // 2)


def test_many_lines_are_counted_one_by_one(module, x):
    """So many that their places in the table collide."""
    some, *every = module.traffic("many_lines", 1, 32, [x])["sites"]
    assert (some["requests"], some["lanes"]) == (1, 16)
    first = some["line"] + 1
    found = [(site["line"], site["requests"], site["lanes"]) for site in every]
    assert found == [(first + k, 1, 32) for k in range(LINES)]
