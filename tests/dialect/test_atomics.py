"""Atomic functions of every type and scope, from several blocks at once, on global and on shared
memory."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from loading import load

TYPES = {
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "float": np.float32,
    "double": np.float64,
}
INTEGERS = ("int", "unsigned", "long long", "unsigned long long")
# function: its types, and what it stores
FUNCTIONS = {
    "Add": (("int", "unsigned", "unsigned long long", "float", "double"), np.add),
    "Sub": (("int", "unsigned"), np.subtract),
    "Exch": (
        ("int", "unsigned", "unsigned long long", "float"),
        lambda old, x: np.broadcast_to(x, old.shape),
    ),
    "Min": (INTEGERS, np.minimum),
    "Max": (INTEGERS, np.maximum),
    "Inc": (("unsigned",), lambda old, x: np.where(old >= x, 0, old + 1)),
    "Dec": (("unsigned",), lambda old, x: np.where((old == 0) | (old > x), x, old - 1)),
    "And": (("int", "unsigned", "unsigned long long"), np.bitwise_and),
    "Or": (("int", "unsigned", "unsigned long long"), np.bitwise_or),
    "Xor": (("int", "unsigned", "unsigned long long"), np.bitwise_xor),
}
SCOPES = ("", "_block", "_system")
CASES = [(name, type_) for name, (types, _) in FUNCTIONS.items() for type_ in types]
BLOCKS, THREADS = 6, 96

KERNEL = """
__global__ void {kernel}({type} *cells, const {type} *x, {type} *old)
{{
    __shared__ {type} cell;
    int i = blockIdx.x * blockDim.x + threadIdx.x, count = gridDim.x * blockDim.x;
    if (threadIdx.x == 0) {{
        cell = cells[1];
    }}
    __syncthreads();
    old[i] = atomic{name}(&cells[0], x[i]);
    old[count + i] = atomic{name}_block(&cell, x[i]);
    old[2 * count + i] = atomic{name}_system(&cells[2], x[i]);
    __syncthreads();
    if (threadIdx.x == 0) {{
        cells[3 + blockIdx.x] = cell;
    }}
}}
"""


def kernel_name(name, type_):
    return f"{name}_{type_.replace(' ', '_')}"


@functools.cache
def atomics():
    text = "".join(
        KERNEL.format(kernel=kernel_name(name, type_), name=name, type=type_)
        for name, type_ in CASES
    )
    return load(source=text, name="atomics.cu")


@pytest.fixture(params=["plain", "traced"])
def run(request):
    def call(module, *arguments):
        if request.param == "plain":
            module.run(*arguments)
        else:
            assert module.check(*arguments) is None

    return call


def follow_each_other(old, new, first, last):
    """Whether operations that found `old` and left `new` can have happened one after another."""
    found = np.sort(np.append(old, last))
    left = np.sort(np.append(new, first))
    return np.array_equal(found, left)


@pytest.mark.parametrize(("name", "type_"), CASES)
def test_result_and_returned_value(run, rng, name, type_):
    count = BLOCKS * THREADS
    x = rng.integers(1, 1000, count).astype(TYPES[type_])
    initial = TYPES[type_](500)
    cells = np.full(3 + BLOCKS, initial, TYPES[type_])
    old = np.zeros((3, count), TYPES[type_])
    run(atomics(), kernel_name(name, type_), BLOCKS, THREADS, (cells, x, old))
    new = FUNCTIONS[name][1](old, x).astype(TYPES[type_])
    assert follow_each_other(old[0], new[0], initial, cells[0])
    assert follow_each_other(old[2], new[2], initial, cells[2])
    for block in range(BLOCKS):
        own = slice(block * THREADS, (block + 1) * THREADS)
        assert follow_each_other(old[1, own], new[1, own], initial, cells[3 + block])


SIXTEEN = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <typename type> __device__ void add(type *cells, const type *x, type *old)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    old[i] = atomicAdd(cells, x[i]);
    atomicAdd_block(cells + 1 + blockIdx.x, __shfl_xor_sync(0xffffffff, x[i], 1));
}
__global__ void add_half(__half *cells, const __half *x, __half *old)
{
    add(cells, x, old);
}
__global__ void add_half2(__half2 *cells, const __half2 *x, __half2 *old)
{
    add(cells, x, old);
}
__global__ void add_bfloat16(__nv_bfloat16 *cells, const __nv_bfloat16 *x, __nv_bfloat16 *old)
{
    add(cells, x, old);
}
__global__ void add_bfloat162(__nv_bfloat162 *cells, const __nv_bfloat162 *x, __nv_bfloat162 *old)
{
    add(cells, x, old);
}
"""


@functools.cache
def sixteen():
    return load(source=SIXTEEN, name="sixteen.cu")


def floats(bits, kind):
    """Values of float16, or of bfloat16, which are the upper halves of float32."""
    if kind == "half":
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("kind", ["half", "bfloat16"])
@pytest.mark.parametrize("lanes", [1, 2])
def test_sixteen_bits(run, rng, kind, lanes):
    x = rng.integers(0, 2, (4, 32, lanes)).astype(np.float32)
    bits = x.astype(np.float16).view(np.uint16) if kind == "half" else x.view(np.uint32) >> 16
    bits = bits.astype(np.uint16)
    cells, old = np.zeros((5, lanes), np.uint16), np.zeros((4 * 32, lanes), np.uint16)
    kernel = f"add_{kind}{'2' if lanes == 2 else ''}"
    run(sixteen(), kernel, 4, 32, (cells, bits, old))
    assert np.array_equal(floats(cells[0], kind), x.sum(axis=(0, 1)))
    assert np.array_equal(floats(cells[1:], kind), x.sum(axis=1))
    for lane in range(lanes):
        found = floats(old[:, lane], kind)
        new = found + x.reshape(-1, lanes)[:, lane]
        assert follow_each_other(found, new, np.float32(0), floats(cells[:1, lane], kind)[0])


CAS = """
__global__ void cas_{kernel}({type} *cells, {type} *old)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {type} expected = 0, found;
    while ((found = atomicCAS{scope}(cells, expected, ({type})(expected + 3))) != expected) {{
        expected = found;
    }}
    old[i] = found;
}}
"""
CAS_TYPES = {
    "int": np.int32,
    "unsigned": np.uint32,
    "unsigned long long": np.uint64,
    "unsigned short": np.uint16,
}


@functools.cache
def compare_and_swap():
    text = "".join(
        CAS.format(kernel=kernel_name("k", type_) + scope, type=type_, scope=scope)
        for type_ in CAS_TYPES
        for scope in SCOPES
        if type_ != "unsigned short" or not scope
    )
    return load(source=text, name="cas.cu")


@pytest.mark.parametrize(
    ("type_", "scope"),
    [(t, s) for t in CAS_TYPES for s in ("", "_system") if t != "unsigned short" or not s],
)
def test_compare_and_swap_loop(run, type_, scope):
    count = BLOCKS * THREADS
    cells, old = np.zeros(4, CAS_TYPES[type_]), np.zeros(count, CAS_TYPES[type_])
    name = "cas_" + kernel_name("k", type_) + scope
    run(compare_and_swap(), name, BLOCKS, THREADS, (cells, old))
    assert cells.tolist() == [3 * count, 0, 0, 0]
    assert np.array_equal(np.sort(old), np.arange(0, 3 * count, 3))


def test_compare_and_swap_within_a_block(run):
    cells, old = np.zeros(1, np.int32), np.zeros(64, np.int32)
    run(compare_and_swap(), "cas_k_int_block", 1, 64, (cells, old))
    assert cells[0] == 3 * 64


VECTORS = """
__global__ void pairs(float2 *sum, const float2 *x)
{
    atomicAdd(sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
__global__ void fours(float4 *sum, const float4 *x, float4 *old)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    old[i] = atomicAdd(sum, x[i]);
}
"""


@functools.cache
def vectors():
    return load(source=VECTORS, name="vectors.cu")


def test_vectors(run, rng):
    count = BLOCKS * THREADS
    x = rng.integers(0, 100, (count, 4)).astype(np.float32)
    total, old = np.zeros(4, np.float32), np.zeros((count, 4), np.float32)
    run(vectors(), "fours", BLOCKS, THREADS, (total, x, old))
    assert np.array_equal(total, x.sum(axis=0))
    for element in range(4):
        new = old[:, element] + x[:, element]
        assert follow_each_other(old[:, element], new, np.float32(0), total[element])
    pair = np.zeros(2, np.float32)
    run(vectors(), "pairs", BLOCKS, THREADS, (pair, x[:, :2].copy()))
    assert np.array_equal(pair, x[:, :2].sum(axis=0))


OBJECTS = """
#include <cuda/atomic>
__device__ cuda::atomic<int, cuda::thread_scope_device> counter{5};

__global__ void objects(int *out, float *sum, const float *x)
{
    __shared__ cuda::atomic<unsigned, cuda::thread_scope_block> arrived;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        arrived = 0;
    }
    __syncthreads();
    arrived++;
    arrived += 2;
    counter.fetch_add(2, cuda::memory_order_relaxed);
    counter--;
    cuda::atomic_ref<float, cuda::thread_scope_device> total(*sum);
    total.fetch_add(x[i], cuda::std::memory_order_relaxed);
    cuda::atomic_ref<int> most(out[0]);
    int seen = most.load();
    while (seen < i && !most.compare_exchange_weak(seen, i, cuda::memory_order_relaxed)) {
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        out[1 + blockIdx.x] = arrived.load();
    }
}

__global__ void builtins(int *cell, int *old)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    old[i] = __nv_atomic_fetch_add(cell, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_fetch_max(cell + 1, i, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM);
    __nv_atomic_add(cell + 2, i, __NV_ATOMIC_RELAXED);
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
}
__global__ void read_counter(int *out)
{
    out[0] = counter;
}
"""


@functools.cache
def objects():
    return load(source=OBJECTS, name="objects.cu")


def test_objects(run, rng):
    count = BLOCKS * THREADS
    x = rng.integers(0, 100, count).astype(np.float32)
    out, total = np.zeros(1 + BLOCKS, np.int32), np.zeros(1, np.float32)
    before, after = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run(objects(), "read_counter", 1, 1, (before,))
    run(objects(), "objects", BLOCKS, THREADS, (out, total, x))
    run(objects(), "read_counter", 1, 1, (after,))
    assert out.tolist() == [count - 1] + BLOCKS * [3 * THREADS]
    assert total[0] == x.sum()
    assert after[0] - before[0] == count


def test_builtins(run):
    count = BLOCKS * THREADS
    cells, old = np.zeros(3, np.int32), np.zeros(count, np.int32)
    run(objects(), "builtins", BLOCKS, THREADS, (cells, old))
    assert cells.tolist() == [count, count - 1, count * (count - 1) // 2]
    assert np.array_equal(np.sort(old), np.arange(count))


def test_traffic_and_lines():
    cells, old = np.zeros(3, np.int32), np.zeros(32, np.int32)
    sites = objects().traffic("builtins", 1, 32, (cells, old))["sites"]
    lines = OBJECTS.splitlines()
    for site in sites:
        assert site["file"] == "objects.cu"
        text = lines[site["line"] - 1]
        assert "__nv_atomic" in text or "old[i]" in text
    updates = [(s["kind"], s["requests"]) for s in sites if "fetch_max" in lines[s["line"] - 1]]
    assert updates == [("atomic", 1)]
