"""Reads of memory that nothing has written are findings: global, shared and local memory."""

from __future__ import annotations

import re

import numpy as np
import pytest
from loading import load

import gpumem as gm
from gpumem.cuda_c.own_sources import build_toolchain

SOURCE = r"""
#include <cmath>
#include <cstring>

struct record { char key; int value; double weight; };
struct wide { float at[32]; };

/* ---- global memory */

__global__ void read(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i];
    }
}
__global__ void write(float *out, int first, int past)
{
    int i = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < past) {
        out[i] = i;
    }
}
__global__ void write_vectors(float4 *out) { out[threadIdx.x] = make_float4(1, 2, 3, 4); }
__global__ void count(int *out) { atomicAdd(out, 1); }
__global__ void write_and_read(float *out, float *work)
{
    work[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = work[31 - threadIdx.x];
}
__global__ void records(record *out, record *work)
{
    work->key = 1;
    work->value = 2;
    work->weight = 3;
    *out = *work;
}

/* ---- shared memory */

__global__ void shared_never(float *out)
{
    __shared__ float held[32];
    out[threadIdx.x] = held[threadIdx.x];
}
__global__ void shared_scalar(float *out, int n)
{
    __shared__ float total;
    if (threadIdx.x < n) {
        total = 1;
    }
    __syncthreads();
    out[threadIdx.x] = total;
}
__global__ void shared_count(int *out, int n)
{
    __shared__ int total;
    if (n && threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    atomicAdd(&total, 1);
    __syncthreads();
    out[threadIdx.x] = total;
}
__global__ void shared_dynamic(float4 *out, int n)
{
    extern __shared__ float4 vectors[];
    if (threadIdx.x < n) {
        vectors[threadIdx.x] = make_float4(1, 2, 3, 4);
    }
    __syncthreads();
    out[threadIdx.x] = vectors[31 - threadIdx.x];
}
__global__ void shared_second_block(float *out)
{
    __shared__ float held[32];
    if (blockIdx.x == 0) {
        held[threadIdx.x] = 1;
    }
    __syncthreads();
    out[blockIdx.x * 32 + threadIdx.x] = held[threadIdx.x ^ 1];
}

/* ---- local memory */

__global__ void scalar(float *out, int n)
{
    float value;
    if (n) {
        value = 1;
    }
    out[0] = value;
}
__global__ void array(float *out, int n)
{
    float held[4];
    for (int i = 0; i < n; i++) {
        held[i] = i;
    }
    for (int i = 0; i < 4; i++) {
        out[i] = held[i];
    }
}
__global__ void sum(float *out, int n)
{
    float total;
    if (n) {
        total = 0;
    }
    for (int i = 0; i < 3; i++) {
        total += i;
    }
    out[0] = total;
}
__global__ void scope(float *out, int n)
{
    for (int i = 0; i < 3; i++) {
        float again;
        if (i == 0 || n) {
            again = i;
        }
        out[i] = again;
    }
}
__global__ void vector(float4 *out, int n)
{
    float4 value;
    if (n) {
        value = make_float4(1, 2, 3, 4);
    }
    out[0] = value;
}
__global__ void some_lanes(float *out, int n)
{
    float value;
    if ((int)threadIdx.x < n) {
        value = 1;
    }
    if (threadIdx.x < 20) {
        out[threadIdx.x] = value;
    }
}
__device__ __noinline__ float partly(int n)
{
    float held[64];
    for (int i = 0; i < n; i++) {
        held[i] = i;
    }
    return held[0];
}
__device__ __noinline__ wide make(float x)
{
    wide made;
    for (int i = 0; i < 32; i++) {
        made.at[i] = x;
    }
    return made;
}
__device__ __noinline__ float use(wide given, int i) { return given.at[i]; }
__device__ __noinline__ float2 two(float x) { return make_float2(x, x); }
__global__ void frames(float *out)
{
    float total = partly(3);
    wide first = make(2), second;
    total += use(first, 3);
    second = make(3);
    float2 both;
    both = two(2);
    out[0] = total + use(second, 4) + both.y;
}
__device__ int fibonacci(int n)
{
    int result;
    if (n < 2) {
        result = n;
    } else {
        result = fibonacci(n - 1) + fibonacci(n - 2);
    }
    return result;
}
__global__ void recursion(int *out) { out[0] = fibonacci(10); }
__global__ void padding(record *out)
{
    record one;
    one.key = 1;
    one.value = 2;
    one.weight = 3;
    record other = one;
    out[0] = other;
    out[1] = one;
}
__global__ void one_union(float *out, int n)
{
    union { float number; unsigned bits; unsigned char byte[4]; } both;
    both.number = 1;
    out[0] = both.bits + both.byte[n];
}
__global__ void bytes(float *out, int n)
{
    float zeros[8], copy[8];
    memset(zeros, 0, sizeof zeros);
    memcpy(copy, zeros, sizeof copy);
    out[0] = copy[n];
}
__global__ void functions(float *out, float x)
{
    float sine, cosine, whole;
    int exponent, quotient;
    double fine_sine, fine_cosine;
    sincosf(x, &sine, &cosine);
    sincos((double)x, &fine_sine, &fine_cosine);
    float sum = frexpf(x, &exponent) + modff(x, &whole) + remquof(x, 2, &quotient);
    out[0] = sine + cosine + whole + exponent + quotient + fine_sine + fine_cosine + sum;
}
"""

OUT = np.zeros(256, np.float32)
COUNTS = np.zeros(32, np.int32)
INTS = np.zeros(16, np.int32)
LOCAL = r"load of {} bytes of a local variable that nothing has written: uninitialised"
SHARED = r"load of {0} bytes of shared memory, {0} of which nothing in the block has written"

# kernel, arguments, what is found (None: nothing), and the other options
CASES = [
    ("shared_never", (OUT,), SHARED.format(4), {}),
    ("shared_scalar", (OUT, 1), None, {}),
    ("shared_scalar", (OUT, 0), SHARED.format(4), {}),
    ("shared_count", (COUNTS, 1), None, {}),
    ("shared_count", (COUNTS, 0), SHARED.format(4), {}),
    ("shared_dynamic", (OUT, 32), None, {"shared_bytes": 512}),
    ("shared_dynamic", (OUT, 31), SHARED.format(16), {"shared_bytes": 512}),
    ("shared_second_block", (OUT,), None, {"grid": 1}),
    ("shared_second_block", (OUT,), SHARED.format(4), {"grid": 2}),
    ("scalar", (OUT, 1), None, {"block": 1}),
    ("scalar", (OUT, 0), LOCAL.format(4), {"block": 1}),
    ("array", (OUT, 4), None, {"block": 1}),
    ("array", (OUT, 3), LOCAL.format(4), {"block": 1}),
    ("sum", (OUT, 1), None, {"block": 1}),
    ("sum", (OUT, 0), LOCAL.format(4), {"block": 1}),
    ("scope", (OUT, 1), None, {"block": 1}),
    ("scope", (OUT, 0), LOCAL.format(4), {"block": 1}),
    ("vector", (OUT, 1), None, {"block": 1}),
    ("vector", (OUT, 0), LOCAL.format(16), {"block": 1}),
    ("some_lanes", (OUT, 20), None, {}),
    ("some_lanes", (OUT, 19), LOCAL.format(4), {}),
    ("frames", (OUT,), None, {"block": 1}),
    ("recursion", (INTS,), None, {"block": 1}),
    ("padding", (OUT,), None, {"block": 1}),
    ("one_union", (OUT, 1), None, {"block": 1}),
    ("bytes", (OUT, 1), None, {"block": 1}),
    ("functions", (OUT, 0.3), None, {"block": 1}),
]  # fmt: skip


@pytest.fixture(scope="module")
def module():
    return load(source=SOURCE, name="unwritten.cu")


def is_clang():
    return build_toolchain().host_compiler("CXX").clang


def text_of(arguments):
    return "-".join(str(one) for one in arguments if not isinstance(one, np.ndarray))


@pytest.mark.parametrize(
    ("kernel", "arguments", "finding", "options"),
    CASES,
    ids=[f"{row[0]}-{text_of(row[1])}" for row in CASES],
)
def test_finding(module, kernel, arguments, finding, options):
    if finding and kernel in ("array", "vector") and is_clang():
        pytest.skip("Clang does not report accesses to parts of local variables")
    options = dict(options)
    grid, block = options.pop("grid", 1), options.pop("block", 32)
    error = module.check(kernel, grid, block, arguments, **options)
    if finding is None:
        assert error is None
        return
    assert error is not None and re.search(finding, str(error)), error
    first = 1 + SOURCE[: SOURCE.index(f" {kernel}(")].count("\n")
    assert error.kernel == kernel and first < error.line < first + 14


# ---- global memory, from one launch to the next -------------------------------------------------


def fresh(count):
    return gm.DeviceArray(count, np.float32, backend="sim")


def finding(error):
    assert error is not None
    return re.search(r"\): (.*)", str(error))[1]


GLOBAL = "load of 4 bytes of global memory, 4 of which nothing has written: uninitialised"


def test_a_fresh_allocation_is_unwritten(module):
    assert finding(module.check("read", 2, 64, (OUT, fresh(128), 128))) == GLOBAL


def test_a_used_allocation_is_unwritten_again(module):
    for _ in range(100):
        fresh(128).fill_bytes(0)
    assert finding(module.check("read", 2, 64, (OUT, fresh(128), 128))) == GLOBAL


@pytest.mark.parametrize("how", ["fill", "from the host", "copy", "plain launch", "DLPack"])
def test_whatever_writes_all_of_it(module, how):
    there = fresh(128)
    if how == "fill":
        there.fill_bytes(0)
    elif how == "from the host":
        there = gm.to_device(np.ones(128, np.float32), backend="sim")
    elif how == "copy":
        there = gm.to_device(np.ones(128, np.float32), backend="sim").copy()
    elif how == "plain launch":
        module.run("write", 2, 64, (there, 0, 128))
    else:
        np.from_dlpack(there)[...] = 1
    assert module.check("read", 2, 64, (OUT, there, 128)) is None


def test_a_traced_launch_writes_what_it_stores(module):
    there = fresh(128)
    assert module.check("write", 1, 64, (there, 32, 96)) is None
    assert module.check("read", 1, 64, (OUT, np.zeros(128, np.float32), 64)) is None
    error = module.check("read", 1, 64, (OUT, there, 64))
    assert finding(error) == GLOBAL and error.thread == (0, 0, 0)
    assert module.check("write", 1, 64, (there, 0, 32)) is None
    assert module.check("read", 1, 96, (OUT, there, 96)) is None
    error = module.check("read", 1, 97, (OUT, there, 97))
    assert finding(error) == GLOBAL and error.thread == (96, 0, 0)


def test_vectors(module):
    there = fresh(128)
    assert module.check("write_vectors", 1, 31, (there,)) is None
    assert module.check("read", 1, 124, (OUT, there, 124)) is None
    assert module.check("read", 1, 125, (OUT, there, 125)).thread == (124, 0, 0)


def test_atomic_functions_read_and_write(module):
    there = gm.DeviceArray(4, np.int32, backend="sim")
    assert finding(module.check("count", 1, 32, (there,))) == GLOBAL
    there.fill_bytes(0)
    assert module.check("count", 1, 32, (there,)) is None
    assert int(there.to_host()[0]) == 32


def test_within_a_launch(module):
    assert module.check("write_and_read", 1, 32, (OUT, fresh(32))) is None
    assert finding(module.check("write_and_read", 1, 31, (OUT, fresh(32)))) == GLOBAL


def test_padding_of_a_record(module):
    assert module.check("records", 1, 1, (fresh(8), fresh(8))) is None
