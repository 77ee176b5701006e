"""What the dialect's types and functions do in kernels: accesses, findings, output."""

from __future__ import annotations

import ctypes
import os
import re

import numpy as np
import pytest
from loading import load

import gpumem as gm

VECTORS = """
#include <cuda_fp16.h>

template <typename vector> __device__ void copied(vector *to, const vector *from)
{
    to[threadIdx.x] = from[threadIdx.x];
}
#define COPY(name, vector)                                                   \\
    __global__ void name(vector *to, const vector *from) { copied(to, from); }
COPY(float1s, float1) COPY(float2s, float2) COPY(float3s, float3) COPY(float4s, float4)
COPY(char3s, char3) COPY(uchar4s, uchar4) COPY(doubles2, double2) COPY(doubles4, double4)
COPY(half2s, half2) COPY(uints3, uint3)

__global__ void through_shared(float4 *to, const float4 *from)
{
    __shared__ float4 tile[32];
    tile[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = tile[31 - threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def vectors():
    return load(source=VECTORS, name="vectors.cu")


def requests(report, space, kind):
    """All requests of this kind, added up over the lines."""
    return sum(
        site["requests"]
        for site in report["sites"]
        if site["space"] == space and site["kind"] == kind
    )


# A warp's access of 16 bytes per lane is one request, and three members are three.
@pytest.mark.parametrize(
    ("kernel", "bytes_", "expected"),
    [("float1s", 4, 1), ("float2s", 8, 1), ("float3s", 12, 3), ("float4s", 16, 1),
     ("char3s", 3, 3), ("uints3", 12, 3), ("uchar4s", 4, 1), ("doubles2", 16, 1),
     ("doubles4", 32, 2), ("half2s", 4, 1)],
)  # fmt: skip
def test_vectors_move_whole(vectors, rng, kernel, bytes_, expected):
    a = rng.integers(0, 256, 32 * bytes_).astype(np.uint8)
    b = np.zeros_like(a)
    report = vectors.traffic(kernel, 1, 32, (b, a))
    np.testing.assert_array_equal(a, b)
    assert requests(report, "global", "load") == expected
    assert requests(report, "global", "store") == expected


def test_vectors_in_shared_memory(vectors, rng):
    a, b = rng.normal(size=(32, 4)).astype(np.float32), np.zeros((32, 4), np.float32)
    assert vectors.check("through_shared", 1, 32, (b, a)) is None
    np.testing.assert_array_equal(a[::-1], b)


STOPS = """
#include <cassert>

__global__ void asserts(int *a)
{
    assert(a[threadIdx.x] >= 0);
}

__global__ void traps(int *a)
{
    if (a[threadIdx.x] < 0) {
        __trap();
    }
}

__global__ void prints(int *a)
{
    printf("thread %d: %d\\n", (int)threadIdx.x, a[threadIdx.x]);
}

__global__ void waits(int *a)
{
    long long start = clock64();
    while (clock64() - start < 1000) {
        __nanosleep(20);
    }
    a[threadIdx.x] = 1;
}
"""


@pytest.fixture(scope="module")
def stops():
    return load(source=STOPS, name="stops.cu")


@pytest.mark.parametrize(
    ("kernel", "line", "what"),
    [("asserts", 6, "assertion failed: a[threadIdx.x] >= 0"), ("traps", 12, "__trap()")],
)
def test_a_stop_is_a_finding(stops, kernel, line, what):
    a = np.zeros(32, np.int32)
    assert stops.check(kernel, 1, 32, (a,)) is None
    a[5] = -1
    finding = stops.check(kernel, 1, 32, (a,))
    assert f"stops.cu:{line}" in str(finding)
    assert "thread (5, 0, 0)" in str(finding)
    assert what in str(finding)
    with pytest.raises(gm.SimulationError, match=re.escape(what)):  # without a trace too
        stops.run(kernel, 1, 32, (a,))


PARTS = """
__global__ void partly(float4 *to, const float *from)
{
    float4 v;
    v.x = from[0];
    v.y = from[1];
    to[threadIdx.x] = v;
}

__global__ void not_at_all(float4 *to, const float *from)
{
    float4 v;
    if (from[0] > 5) {
        v.x = 1;
    }
    to[threadIdx.x].x = v.x;
}

__global__ void by_pointer(float4 *to, const float *from)
{
    int exponent;
    float whole, sine, cosine;
    float rest = modff(frexpf(from[0], &exponent), &whole);
    sincosf(rest, &sine, &cosine);
    to[threadIdx.x] = make_float4(exponent, whole, sine, cosine);
}
"""


@pytest.mark.skipif("clang" in os.environ.get("CXX", ""), reason="Clang leaves out some stores")
def test_local_vectors_and_results_by_pointer():
    parts = load(source=PARTS, name="parts.cu")
    a, b = np.ones(8, np.float32), np.zeros((32, 4), np.float32)
    assert parts.check("partly", 1, 32, (b, a)) is None
    assert parts.check("by_pointer", 1, 32, (b, a)) is None
    assert "uninitialised" in str(parts.check("not_at_all", 1, 32, (b, a)))


def test_output_is_in_the_order_of_threads(stops, capfd):
    stops.run("prints", 1, 4, (np.arange(10, 14, dtype=np.int32),))
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out.splitlines() == [f"thread {i}: {10 + i}" for i in range(4)]


def test_clocks_run(stops):
    a = np.zeros(4, np.int32)
    stops.run("waits", 1, 4, (a,))
    assert a.tolist() == [1] * 4
