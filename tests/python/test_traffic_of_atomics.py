"""Atomic operations in reports of traffic: histograms and a reduction, counted with NumPy."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from loading import load

from gpumem.count.summary import summary
from gpumem.count.traffic import Traffic
from gpumem.report.explanation import _words
from gpumem.report.explanation._figures import Counted

SOURCE = """
__global__ void in_global_memory(const unsigned char *in, unsigned *bins)
{
    atomicAdd(&bins[in[blockIdx.x * blockDim.x + threadIdx.x]], 1u);
}

__global__ void in_shared_memory(const unsigned char *in, unsigned *bins)
{
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&own[in[blockIdx.x * blockDim.x + threadIdx.x]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__device__ unsigned done;

__global__ void last_block(const double *in, volatile double *sums, double *out)
{
    __shared__ double parts[64];
    __shared__ bool last;
    parts[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int i = 0; i < 64; i++) {
            sum += parts[i];
        }
        sums[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) {
        atomicAdd(out, sums[threadIdx.x]);
    }
}

__global__ void exchanged(unsigned long long *cells, unsigned long long *old)
{
    int i = threadIdx.x;
    old[i] = atomicCAS(&cells[4 * i], 0ull, 1ull);
    old[i] += atomicExch(&cells[4 * i], 2ull);
}
"""


@functools.cache
def module():
    return load(source=SOURCE, name="atomics.cu")


def report(kernel, grid, block, arguments):
    counted = module().traffic(kernel, grid, block, arguments)
    (launch,) = counted["kernels"]
    named = {"family": "users", "variant": kernel, "result": None}
    return Traffic(named | launch | {"kernels": [launch], "sites": counted["sites"]})


def figures(access):
    return access.requests, access.sectors, access.bytes_asked, access.width


@pytest.fixture
def pixels(rng):
    return rng.integers(0, 256, (4, 8, 32)).astype(np.uint8)  # per block, warp and lane


def warps(pixels):
    return pixels.reshape(-1, 32)


def bank_passes(words):
    """The most different words of a warp in one bank."""
    return np.bincount(np.unique(words) % 32).max()


def test_a_histogram_in_global_memory(pixels):
    bins = np.zeros(256, np.uint32)
    t = report("in_global_memory", 4, 256, (pixels, bins))
    assert np.array_equal(bins, np.bincount(pixels.ravel(), minlength=256))
    sectors = sum(np.unique(warp // 8).size for warp in warps(pixels))
    distinct = sum(np.unique(warp).size for warp in warps(pixels))
    assert figures(t.atomics) == (32, sectors, 4 * distinct, 32)
    assert t.atomics.sectors_per_request == sectors / 32
    assert t.atomics.efficiency == distinct / (8 * sectors)
    assert figures(t.loads) == (32, 32, 1024, 8) and t.stores.requests == 0
    assert t.requests == 64 and t.shared.requests == 0
    assert t.bytes_asked == 1024 + 4 * distinct and t.bytes_moved == 32 * (32 + sectors)


def test_one_bin_for_all_is_one_sector_per_request():
    t = report("in_global_memory", 1, 64, (np.full(64, 9, np.uint8), np.zeros(256, np.uint32)))
    assert figures(t.atomics) == (2, 2, 8, 32)


def test_a_histogram_in_shared_memory(pixels):
    bins = np.zeros(256, np.uint32)
    t = report("in_shared_memory", 4, 256, (pixels, bins))
    assert np.array_equal(bins, np.bincount(pixels.ravel(), minlength=256))
    passes = sum(map(bank_passes, warps(pixels)))
    distinct = sum(np.unique(warp).size for warp in warps(pixels))
    assert figures(t.shared.atomics) == (32, 0, 4 * distinct, 32)
    assert t.shared.atomics.passes == passes
    assert t.shared.loads.passes == t.shared.stores.passes == 32
    assert t.shared.passes == 64 + passes and t.shared.requests == 96
    assert t.shared.bank_ways == passes / 32
    assert figures(t.atomics) == (32, 128, 4096, 32)


def test_a_reduction_whose_last_block_adds_up(rng):
    values, out = rng.random(20 * 64), np.zeros(1)
    t = report("last_block", 20, 64, (values, np.zeros(20), out))
    assert np.isclose(out[0], values.sum())
    # A ticket of 32 bits per block, and one request of 20 lanes to one double.
    assert figures(t.atomics) == (21, 21, 20 * 4 + 8, 64)
    assert t.shared.atomics.requests == t.shared.atomics.passes == 0


def test_exchanges_are_atomics_too():
    cells, old = np.zeros(128, np.uint64), np.zeros(32, np.uint64)
    t = report("exchanged", 1, 32, (cells, old))
    assert np.array_equal(old, np.ones(32)) and (cells[::4] == 2).all()
    assert figures(t.atomics) == (2, 64, 512, 64)


def test_text_and_json_have_them(pixels):
    t = report("in_shared_memory", 4, 256, (pixels, np.zeros(256, np.uint32)))
    found = json.loads(t.to_json())
    assert found["atomics"] == t.atomics.to_dict() and found["atomics"]["requests"] == 32
    assert found["shared"]["atomics"]["passes"] == t.shared.atomics.passes
    rows = [line.split() for line in str(t).splitlines()]
    line = SOURCE[: SOURCE.index("atomicAdd(&bins[threadIdx.x]")].count("\n") + 1
    assert [f"atomics.cu:{line}", *"global atomic 32 32 128 4.00 1.00 100.0% -".split()] in rows
    table = summary([t]).splitlines()
    assert [row.split()[-7] for row in table[2:]] == ["store", "atomic"] and len(table) == 4


def test_an_explanation_tells_them():
    t = report("exchanged", 1, 32, (np.zeros(128, np.uint64), np.zeros(32, np.uint64)))
    text = " ".join(filter(None, _words.counts(Counted(t, None, None, 0, None), None)))
    sectors = "touches 32 sectors of 32 bytes where 8 would do: 25 % of the bytes moved are used"
    assert f"a warp's atomic operation of 64 bits per thread {sectors}" in text
