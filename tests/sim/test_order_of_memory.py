"""Atomic operations, fences and volatile accesses order threads as CUDA's memory model says.

Each case is a kernel that is right, and changes of its text that make a race of it.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from loading import load

GRID, BLOCK = 4, 64

LAST_BLOCK = """
__global__ void last_block(const float *in, float *partial, unsigned *count, float *out)
{
    __shared__ bool last;
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1;
        if (last) *count = 0;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) atomicAdd(out, partial[threadIdx.x]);
}
"""
ALL_FENCE = """
__global__ void all_fence(const float *in, float *partial, unsigned *count, float *out)
{
    __shared__ bool last;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[i] = 2 * in[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        float sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) sum += partial[b * blockDim.x + threadIdx.x];
        out[threadIdx.x] = sum;
    }
}
"""
BARRIER_THEN_FENCE = ALL_FENCE.replace("all_fence", "barrier_then_fence").replace(
    "__threadfence();\n    __syncthreads();\n",
    "__syncthreads();\n    if (threadIdx.x == 0) __threadfence();\n",
)
LOCK = """
__global__ void lock(const float *in, float *partial, unsigned *locked, float *out)
{
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(locked, 0, 1) != 0) { }
        out[0] = out[0] + 1;
        __threadfence();
        atomicExch(locked, 0);
    }
}
"""
TICKETS = """
__global__ void tickets(const float *in, float *partial, unsigned *next, float *out)
{
    if (threadIdx.x == 0) {
        unsigned mine = atomicAdd(&next[0], 1);
        while (atomicAdd(&next[1], 0) != mine) { }
        out[0] = out[0] + 1;
        __threadfence();
        atomicAdd(&next[1], 1);
    }
}
"""
FLAG = """
__global__ void flag(const float *in, float *partial, volatile unsigned *ready, float *out)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        partial[0] = in[0];
        __threadfence();
        *ready = 1;
    }
    if (threadIdx.x == 0 && blockIdx.x == 1) {
        while (*ready == 0) { }
        __threadfence();
        out[0] = partial[0];
    }
}
"""
# A thread hands on, to another block, what its warp has learnt at a barrier with another warp.
HANDED_ON = """
#include <cuda/barrier>
__global__ void handed_on(const float *in, float *partial, volatile unsigned *ready, float *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> met;
    if (threadIdx.x == 0) init(&met, 2);
    __syncthreads();
    if (threadIdx.x == 1 && blockIdx.x == 0) {
        partial[0] = in[0];
        met.arrive_and_wait();
    }
    if (threadIdx.x >= 32 && blockIdx.x == 0) {
        if (threadIdx.x == 35) met.arrive_and_wait();
        __syncwarp();
        if (threadIdx.x == 33) {
            __threadfence();
            *ready = 1;
        }
    }
    if (threadIdx.x == 0 && blockIdx.x == 1) {
        while (*ready == 0) { }
        __threadfence();
        out[0] = partial[0];
    }
}
"""
FLAG_IN_BLOCK = """
__global__ void flag_in_block(const float *in, float *partial, unsigned *unused, float *out)
{
    __shared__ volatile int ready;
    __shared__ float held;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        held = in[0];
        __threadfence_block();
        ready = 1;
    }
    if (threadIdx.x == 32) {
        while (ready == 0) { }
        __threadfence_block();
        out[blockIdx.x] = held;
    }
}
"""
HISTOGRAM = """
__global__ void histogram(const float *in, float *partial, unsigned *bins, float *out)
{
    __shared__ unsigned held[16];
    if (threadIdx.x < 16) held[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&held[(int)in[blockIdx.x * blockDim.x + threadIdx.x] % 16], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], held[threadIdx.x]);
}
"""
COUNTER = """
__device__ unsigned counter;
__global__ void count(const float *in, float *partial, unsigned *unused, float *out)
{
    unsigned mine = atomicAdd(&counter, 1);
    partial[mine % 256] = 1;
}
"""
SHIFT = """
__global__ void shift(const float *in, float *partial, unsigned *unused, float *out)
{
    float *row = partial + blockIdx.x * blockDim.x;
    row[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float next = row[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
    row[threadIdx.x] = next;
}
"""
WARP = """
__global__ void pairs(const float *in, float *partial, unsigned *unused, float *out)
{
    float *row = partial + blockIdx.x * blockDim.x;
    row[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    float other = row[threadIdx.x ^ 1];
    __syncwarp();
    row[threadIdx.x] = other;
}
"""
VIEWS = """
__global__ void views(const float *in, float *partial, unsigned *unused, float *out)
{
    unsigned char *bytes = (unsigned char *)partial;
    if (threadIdx.x == 0) partial[blockIdx.x] = 1;
    if (threadIdx.x == 1) bytes[64 + blockIdx.x] = 7;
}
"""
ADDITIONS = """
__global__ void additions(const float *in, float *partial, unsigned *unused, float *out)
{
    atomicAdd(&out[0], in[threadIdx.x]);
}
"""
BLOCK_SCOPED = """
__global__ void block_scoped(const float *in, float *partial, unsigned *counts, float *out)
{
    atomicAdd_block(&counts[blockIdx.x], 1);
}
"""
VOLATILE_TURNS = """
__global__ void turns(const float *in, float *partial, volatile unsigned *turn, float *out)
{
    if (threadIdx.x == 0) {
        while (*turn != blockIdx.x) { }
        __threadfence();
        out[0] = out[0] + 1;
        __threadfence();
        *turn = *turn + 1;
    }
}
"""
LOCKSTEP = """
__global__ void lockstep(const float *in, float *partial, unsigned *unused, float *out)
{
    __shared__ volatile float held[64];
    held[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int width = 32; width > 0; width /= 2) {
            float mine = held[threadIdx.x] + held[threadIdx.x + width];
            __syncwarp();
            if (threadIdx.x < width) held[threadIdx.x] = mine;
            __syncwarp();
        }
    }
    if (threadIdx.x == 0) out[blockIdx.x] = held[0];
}
"""

RIGHT = {
    "last_block": LAST_BLOCK,
    "all_fence": ALL_FENCE,
    "barrier_then_fence": BARRIER_THEN_FENCE,
    "lock": LOCK,
    "tickets": TICKETS,
    "flag": FLAG,
    "handed_on": HANDED_ON,
    "flag_in_block": FLAG_IN_BLOCK,
    "histogram": HISTOGRAM,
    "count": COUNTER,
    "shift": SHIFT,
    "pairs": WARP,
    "views": VIEWS,
    "additions": ADDITIONS,
    "block_scoped": BLOCK_SCOPED,
    "turns": VOLATILE_TURNS,
    "lockstep": LOCKSTEP,
}

TURN = "\n".join(VOLATILE_TURNS.splitlines()[4:8])
BIN = "held[(int)in[blockIdx.x * blockDim.x + threadIdx.x] % 16]"
# kernel, text, what takes its place, text on the line of the fault, and on that of the other side
WRONG = [
    ("last_block", "__threadfence();", "", "partial[threadIdx.x])", "= sum"),
    ("last_block", "__threadfence();", "__threadfence_block();", "partial[threadIdx.x])", "= sum"),
    ("last_block", "atomicAdd(&sum, ", "sum += (", "sum += (", "sum += ("),
    ("last_block", "atomicAdd(count", "atomicAdd_block(count", "_block(count", "_block(count"),
    ("all_fence", "__threadfence();", "", "sum += ", "= 2 * in"),
    ("barrier_then_fence", "__syncthreads();\n    if", "if", "sum += ", "= 2 * in"),
    ("lock", "__threadfence();", "", "= out[0] + 1", "= out[0] + 1"),
    ("lock", "__threadfence();", "__threadfence_block();", "= out[0] + 1", "= out[0] + 1"),
    ("tickets", "__threadfence();", "", "= out[0] + 1", "= out[0] + 1"),
    ("flag", "__threadfence();\n        *ready", "*ready", "= partial[0]", "= in[0]"),
    ("flag", "__threadfence();\n        out", "out", "= partial[0]", "= in[0]"),
    ("flag", "volatile unsigned", "unsigned", "while (*ready", "*ready = 1"),
    ("handed_on", "__syncwarp();", "", "= partial[0]", "= in[0]"),
    ("handed_on", "__threadfence();\n            *ready", "*ready", "= partial[0]", "= in[0]"),
    ("flag_in_block", "__threadfence_block();\n        ready", "ready", "= held", "held = in"),
    ("flag_in_block", "__threadfence_block();\n        out", "out", "= held", "held = in"),
    ("histogram", f"atomicAdd(&{BIN}, 1)", f"{BIN}++", "++;", "++;"),
    ("histogram", "__syncthreads();\n    if", "if", "&held", "held[threadIdx.x])"),
    ("count", "atomicAdd(&counter, 1)", "counter++", "++;", "++;"),
    ("shift", "__syncthreads();\n    float", "float", "= in[", "float next"),
    ("shift", "__syncthreads();\n    row", "row", "= next", "float next"),
    ("shift", "% blockDim.x];", "];", "= in[", "float next"),
    ("pairs", "__syncwarp();\n    float", "float", "= in[", "float other"),
    ("pairs", "__syncwarp();\n    row", "row", "float other", "= other"),
    ("views", "64 + blockIdx.x", "3", "bytes[3]", "= 1;"),
    ("additions", "atomicAdd(&out[0], in[threadIdx.x])", "out[0] = 1", "= 1", "= 1"),
    ("additions", ");", "); partial[threadIdx.x] = out[0];", "out[0]", "out[0]"),
    ("block_scoped", "[blockIdx.x]", "[0]", "_block(", "_block("),
    ("turns", "{ }\n        __threadfence();", "{ }", "= out[0] + 1", "= out[0] + 1"),
    ("turns", TURN, "", "= *turn + 1", "= *turn + 1"),
    ("lockstep", "__syncwarp();\n        }", "}", "= mine", "float mine"),
]


def arguments():
    threads = GRID * BLOCK
    return [
        np.arange(threads, dtype=np.float32),
        np.zeros(threads, np.float32),
        np.zeros(16, np.uint32),
        np.zeros(BLOCK, np.float32),
    ]


def renamed(source: str, kernel: str, number: int) -> str:
    """Give the kernel and its variables names of their own, to put it beside its likes."""
    names = rf"\b({kernel}|counter)(?=\(|;|,|\+)"
    return re.sub(names, rf"\1_{number}", source)


@pytest.fixture(scope="module")
def sources():
    found = list(enumerate(RIGHT.items()))
    texts = [renamed(source, kernel, number) for number, (kernel, source) in found]
    for number, (kernel, text, instead, *_) in enumerate(WRONG, len(texts)):
        assert text in RIGHT[kernel]
        texts.append(renamed(RIGHT[kernel].replace(text, instead, 1), kernel, number))
    return texts


@pytest.fixture(scope="module")
def module(sources):
    return load(source="".join(sources), name="order.cu")


def line_of(sources: list[str], number: int, text: str) -> int:
    """Return the line of the text in the kernel of this number."""
    before = "".join(sources[:number]).count("\n")
    lines = [i for i, line in enumerate(sources[number].splitlines(), 1) if text in line]
    assert len(lines) == 1, (text, lines)
    return before + lines[0]


@pytest.mark.parametrize("kernel", RIGHT)
def test_right(module, kernel):
    number = list(RIGHT).index(kernel)
    assert module.check(f"{kernel}_{number}", GRID, BLOCK, arguments()) is None


@pytest.mark.parametrize("case", range(len(WRONG)), ids=[f"{w[0]}-{w[2]}" for w in WRONG])
def test_wrong(module, sources, case):
    kernel, _, _, here, there = WRONG[case]
    number = len(RIGHT) + case
    error = module.check(f"{kernel}_{number}", GRID, BLOCK, arguments())
    assert error is not None, "no race found"
    message = str(error)
    assert "a race: " in message
    assert error.line == line_of(sources, number, here), error
    assert f"order.cu:{line_of(sources, number, there)}" in message.split("a race: ")[1], error


def test_an_atomic_update_is_one_request(module):
    kernel = f"additions_{list(RIGHT).index('additions')}"
    sites = module.traffic(kernel, GRID, BLOCK, arguments())["sites"]
    atomics = [site for site in sites if site["kind"] == "atomic"]
    assert [(site["space"], site["requests"], site["lanes"]) for site in atomics] == [
        ("global", GRID * BLOCK // 32, GRID * BLOCK)
    ]


BESIDE = """
__global__ void beside(float *out)
{
    if (blockIdx.x == 2 && blockIdx.y > 0 && threadIdx.x == 3) out[0] = blockIdx.y;
}
"""


def test_both_blocks_of_a_race_are_named():
    """In a grid of 3 x 5 x 2 blocks, where x, y and z cannot be taken for one another."""
    out = np.zeros(1, np.float32)
    error = load(source=BESIDE).check("beside", (3, 5, 2), 32, [out])
    assert error.block == (2, 2, 0) and error.thread == (3, 0, 0)
    assert "block (2, 1, 0)" in str(error)


MANY_FLAGS = """
__global__ void many_flags(const int *in, int *partial, unsigned *flags, int *out, int apart)
{
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) {
        if (blockIdx.x == 0) {
            partial[i] = in[i];
            __threadfence();
            atomicExch(&flags[apart * i], 1);
        } else if (atomicAdd(&flags[apart * i], 0) == 1) {
            __threadfence();
            out[i] = partial[i];
        }
    }
}
"""


@pytest.mark.parametrize("apart", [3, 5])
def test_many_flags(apart):
    """What each of them hands on is still known when the table of all of them has grown."""
    given = np.arange(4096, dtype="i4")
    partial, out, flags = np.zeros(4096, "i4"), np.zeros(4096, "i4"), np.zeros(4096 * 5, "u4")
    module = load(source=MANY_FLAGS)
    assert module.check("many_flags", 2, 256, [given, partial, flags, out, apart]) is None
    assert np.array_equal(out, given)
