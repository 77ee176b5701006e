"""Memory errors of CUDA C as people write it: each is found, and its correct twin is not."""

from __future__ import annotations

import re

import numpy as np
import pytest
from loading import load

import gpumem as gm
from gpumem import _core

SOURCE = r"""
#include <cstring>

__constant__ float coefficients[4];
__device__ int counters[3];
__device__ float scale;

struct point { float at[3]; float weight[4]; };
struct packed { int count; float tail[1]; };
struct record { char key; int value; };
struct sixteen { double first, second; };
struct __align__(8) pair { float x, y; };

/* ---- bounds of variables */

__global__ void shared_array(float *out, int shift)
{
    __shared__ float first[32], second[32];
    float *p = first;
    first[threadIdx.x] = 1;
    second[threadIdx.x] = 2;
    __syncthreads();
    out[threadIdx.x] = p[(int)threadIdx.x + shift];
}
__global__ void shared_vector(sixteen *out, int shift)
{
    __shared__ double held[5];
    if (threadIdx.x < 5) {
        held[threadIdx.x] = 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        out[0] = *(sixteen *)(held + shift);
    }
}
__global__ void dynamic_array(float *out, int shift)
{
    extern __shared__ float held[];
    held[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = held[(int)threadIdx.x + shift];
}
__global__ void device_array(int *out, int shift)
{
    int *p = counters;
    out[0] = p[shift];
}
__global__ void device_scalar(float *out, int shift)
{
    float *p = &scale;
    p[shift] = 1;
}
__global__ void constant_array(float *out, int shift)
{
    const float *p = coefficients;
    out[0] = p[shift];
}

/* ---- indices of arrays */

__global__ void local_array(float *out, int at)
{
    float held[4] = {1, 2, 3, 4};
    out[0] = held[at];
}
__global__ void local_loop(float *out, int count)
{
    float held[4];
    for (int i = 0; i < count; i++) {
        held[i] = i;
    }
    out[0] = held[0];
}
__global__ void row_of_tile(float *out, int column)
{
    __shared__ float tile[4][32];
    tile[1][threadIdx.x] = tile[2][threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[1][column];
}
__global__ void member_array(float *out, int at)
{
    point held = {};
    out[0] = held.at[at] + held.weight[0];
}
__global__ void last_member(float *out, int at)
{
    point held = {};
    out[0] = held.weight[at];
}
__global__ void tail(packed *p, int at)
{
    p->tail[at] = 1;
}

/* ---- alignment */

__global__ void cast_int(int *out, const char *in, int shift)
{
    out[0] = *(const int *)(in + shift);
}
__global__ void cast_double(double *out, const char *in, int shift)
{
    out[0] = *reinterpret_cast<const double *>(in + shift);
}
__global__ void cast_float2(float *out, const float *in, int shift)
{
    float2 both = *(const float2 *)(in + shift);
    out[0] = both.x + both.y;
}
__global__ void aligned_struct(pair *out, const float *in, int shift)
{
    out[0] = *(const pair *)(in + shift);
}
__global__ void copy_of_bytes(float *out, const char *in, int shift)
{
    float value;
    memcpy(&value, in + shift, 4);
    out[0] = value;
}
__global__ void copy_of_a_struct(record *out, const float *in, int shift)
{
    out[0] = *(const record *)(in + shift);
}

/* ---- functions that move bytes */

__global__ void copy_many(char *out, const char *in, int bytes)
{
    memcpy(out, in, bytes);
}
__global__ void copy_32(char *out, const char *in, int shift)
{
    memcpy(out, in + shift, 32);
}
__global__ void set_16(char *out, int shift)
{
    memset(out + shift, 0, 16);
}
__global__ void set_many(char *out, int bytes)
{
    memset(out, 0, bytes);
}
__global__ void zero_loop(char *out, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        out[i] = 0;
    }
}
__global__ void null_store(int at)
{
    int *nowhere = nullptr;
    nowhere[at] = 1;
}
__global__ void null_if(int *out, int set)
{
    int *p = set ? out : nullptr;
    *p = 1;
}
"""

ARRAY = np.zeros(64, np.float32)
BYTES = np.zeros(64, np.int8)
INTS = np.zeros(16, np.int32)

# kernel, arguments, what is found (None: nothing), and the other options
CASES = [
    ("shared_array", (ARRAY, 0), None, {"block": 32}),
    ("shared_array", (ARRAY, 1), r"0 bytes past the end of shared variable 'first' of 128 bytes",
     {"block": 32}),
    ("shared_array", (ARRAY, -1), r"4 bytes before the start of shared variable 'first'",
     {"block": 32}),
    ("shared_array", (ARRAY, 40), r"out of bounds", {"block": 32}),
    ("shared_vector", (ARRAY, 0), None, {"block": 32}),
    ("shared_vector", (ARRAY, 4), r"begins 8 bytes before the end of shared variable 'held'",
     {"block": 32}),
    ("dynamic_array", (ARRAY, 0), None, {"block": 32, "shared_bytes": 128}),
    ("dynamic_array", (ARRAY, 1), r"0 bytes past the end of 128 bytes of dynamic shared memory",
     {"block": 32, "shared_bytes": 128}),
    ("dynamic_array", (ARRAY, -1), r"4 bytes before the start of 128 bytes of dynamic",
     {"block": 32, "shared_bytes": 128}),
    ("device_array", (INTS, 2), None, {}),
    ("device_array", (INTS, 3), r"past the end of __device__ variable 'counters' of 12 bytes", {}),
    ("device_array", (INTS, -1), r"before the start of __device__ variable 'counters'", {}),
    ("device_scalar", (ARRAY, 0), None, {}),
    ("device_scalar", (ARRAY, 1), r"past the end of __device__ variable 'scale' of 4 bytes", {}),
    ("constant_array", (ARRAY, 3), None, {}),
    ("constant_array", (ARRAY, 4), r"past the end of __constant__ variable 'coefficients'", {}),
    ("constant_array", (ARRAY, -1), r"before the start of __constant__ variable", {}),
    ("local_array", (ARRAY, 3), None, {}),
    ("local_array", (ARRAY, 4), r"index 4 is out of bounds of an array of type 'float ?\[4\]'", {}),
    ("local_array", (ARRAY, -1), r"index -1 is out of bounds", {}),
    ("local_loop", (ARRAY, 4), None, {}),
    ("local_loop", (ARRAY, 5), r"index 4 is out of bounds", {}),
    ("row_of_tile", (ARRAY, 31), None, {"block": 32}),
    ("row_of_tile", (ARRAY, 32), r"index 32 is out of bounds of an array of type 'float ?\[32\]'",
     {"block": 32}),
    ("member_array", (ARRAY, 2), None, {}),
    ("member_array", (ARRAY, 3), r"index 3 is out of bounds", {}),
    ("last_member", (ARRAY, 3), None, {}),
    ("last_member", (ARRAY, 4), r"index 4 is out of bounds", {}),
    ("tail", (ARRAY, 40), None, {}),
    ("tail", (ARRAY, 63), r"past the end of an allocation of 256 bytes", {}),
    ("cast_int", (INTS, BYTES, 4), None, {}),
    ("cast_int", (INTS, BYTES, 2), r"load of 4 bytes .* 2 past a multiple of 4: misaligned", {}),
    ("cast_double", (np.zeros(2), BYTES, 8), None, {}),
    ("cast_double", (np.zeros(2), BYTES, 4), r"load of 8 bytes .* 4 past a multiple of 8", {}),
    ("cast_float2", (ARRAY, ARRAY, 2), None, {}),
    ("cast_float2", (ARRAY, ARRAY, 1), r"load of 8 bytes .* 4 past a multiple of 8", {}),
    ("aligned_struct", (ARRAY, ARRAY, 2), None, {}),
    ("aligned_struct", (ARRAY, ARRAY, 1), r"load of .* 4 past a multiple of 8", {}),
    ("copy_of_bytes", (ARRAY, BYTES, 1), None, {}),
    ("copy_of_bytes", (ARRAY, BYTES, 61), r"begins 3 bytes before the end of an allocation", {}),
    ("copy_of_a_struct", (ARRAY, ARRAY, 1), None, {}),
    ("copy_many", (BYTES, BYTES, 64), None, {}),
    ("copy_many", (BYTES, BYTES, 65), r"load of 65 bytes out of bounds", {}),
    ("copy_32", (BYTES, BYTES, 32), None, {}),
    ("copy_32", (BYTES, BYTES, 33), r"load of 32 bytes out of bounds", {}),
    ("set_16", (BYTES, 48), None, {}),
    ("set_16", (BYTES, 50), r"store of 16 bytes out of bounds, begins 14 bytes before the end", {}),
    ("set_many", (BYTES, 64), None, {}),
    ("set_many", (BYTES, 70), r"store of 70 bytes out of bounds", {}),
    ("zero_loop", (BYTES, 64), None, {}),
    ("zero_loop", (BYTES, 65), r"store of 1 bytes out of bounds, 0 bytes past the end", {}),
    ("null_store", (1,), r"store of 4 bytes at address 4, a null pointer", {}),
    ("null_if", (INTS, 1), None, {}),
    ("null_if", (INTS, 0), r"store of 4 bytes at address 0, a null pointer", {}),
]  # fmt: skip


@pytest.fixture(scope="module")
def module():
    return load(source=SOURCE, name="memory.cu")


def text_of(arguments):
    return "-".join(str(one) for one in arguments if isinstance(one, int))


@pytest.mark.parametrize(
    ("kernel", "arguments", "finding", "options"),
    CASES,
    ids=[f"{kernel}-{text_of(arguments)}" for kernel, arguments, _, _ in CASES],
)
def test_finding(module, kernel, arguments, finding, options):
    options = dict(options)
    error = module.check(kernel, 1, options.pop("block", 1), arguments, **options)
    if finding is None:
        assert error is None
        return
    assert error is not None and re.search(finding, str(error)), error
    assert error.kernel == kernel and error.file == "memory.cu"
    first = 1 + SOURCE[: SOURCE.index(f" {kernel}(")].count("\n")
    assert first < error.line < first + 12
    assert error.block == (0, 0, 0)


@pytest.mark.parametrize(
    ("grid", "block", "shared_bytes", "what"),
    [
        (1, 1025, 0, "1025 threads in a block: a device takes from 1 to at most 1024"),
        (1, (32, 33), 0, "1056 threads in a block: a device takes from 1 to at most 1024"),
        (1, (1, 1, 65), 0, "65 threads in a block along z: a device takes from 1 to at most 64"),
        ((1, 65536), 1, 0, "65536 blocks along y: a device takes from 1 to at most 65535"),
        ((1, 1, 65536), 1, 0, "65536 blocks along z: a device takes from 1 to at most 65535"),
        (
            1,
            1,
            232449,
            "232449 bytes of dynamic shared memory: a device takes from 0 to at most 232448",
        ),
    ],
)
def test_limits_of_a_launch(module, grid, block, shared_bytes, what):
    error = module.check("local_array", grid, block, (ARRAY, 0), shared_bytes=shared_bytes)
    assert str(error) == f"kernel local_array cannot be launched with {what}"


def test_grids_that_python_refuses_before(module):
    """The extension module does not rely on it."""
    image = module.compile(traced=True)
    kernel, *_ = image.kernels["local_array"]
    for x in (0, 2**31):
        with pytest.raises(gm.SimulationError, match=f"with {x} blocks along x: a device takes"):
            _core.module_launch(
                image.handle, kernel, (x, 1, 1), (1, 1, 1), 0, (bytes(8), bytes(4)), True, False
            )


def test_largest_launches(module):
    module.run("local_array", 1, (1024, 1), (ARRAY, 0), shared_bytes=232448)
    module.run("local_array", 1, (1, 16, 64), (ARRAY, 0))
    module.run("local_array", (1, 65535), 1, (ARRAY, 0))


@pytest.mark.parametrize("count", [12288, 12289])
def test_static_shared_memory(count):
    source = (
        "__global__ void fill(float *y) {\n"
        f"__shared__ float held[{count}]; held[threadIdx.x] = 1; y[0] = held[threadIdx.x]; }}"
    )
    error = load(source=source, name="fill.cu").check("fill", 1, 1, (ARRAY,))
    if count == 12288:
        assert error is None
    else:
        assert "declares 49156 bytes of shared memory as 'held'" in str(error)
