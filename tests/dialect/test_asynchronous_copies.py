"""cuda::pipeline, cuda::barrier and the copies of cooperative groups: results, and what is found
where a wait does not cover a copy."""

from __future__ import annotations

import re

import numpy as np
import pytest
from both_ways import both_ways
from loading import load

SOURCE = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

__global__ void pipeline_of_threads(float *out, const float *in, int missing)
{
    __shared__ float tile[2][64];
    auto pipe = cuda::make_pipeline();
    int t = threadIdx.x;
    float sum = 0;
    for (int s = 0; s < 2; s++) {
        pipe.producer_acquire();
        cuda::memcpy_async(&tile[s][t], &in[s * 64 + t], sizeof(float), pipe);
        pipe.producer_commit();
    }
    for (int s = 0; s < 4; s++) {
        if (s < 4 - missing) {
            pipe.consumer_wait();
        }
        sum += tile[s % 2][t];
        pipe.consumer_release();
        pipe.producer_acquire();
        if (s + 2 < 4) {
            cuda::memcpy_async(&tile[s % 2][t], &in[(s + 2) * 64 + t], sizeof(float), pipe);
        }
        pipe.producer_commit();
    }
    out[t] = sum;
    cuda::pipeline_consumer_wait_prior<0>(pipe);
}

__global__ void pipeline_of_block(float *out, const float *in, int acquires)
{
    __shared__ __align__(16) float tile[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int t = threadIdx.x;
    float sum = 0;
    for (int s = 0; s < 2; s++) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, tile[s], in + s * 64, cuda::aligned_size_t<16>(64 * 4), pipe);
        pipe.producer_commit();
    }
    for (int s = 0; s < 4; s++) {
        pipe.consumer_wait();
        sum += tile[s % 2][63 - t];
        pipe.consumer_release();
        if (s + 2 < 4) {
            if (acquires) {
                pipe.producer_acquire();
            }
            cuda::memcpy_async(block, tile[s % 2], in + (s + 2) * 64, sizeof(float) * 64, pipe);
            pipe.producer_commit();
        }
    }
    out[t] = sum;
}

__global__ void roles(float *out, const float *in)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ float tile[2][32];
    auto block = cg::this_thread_block();
    bool produces = block.thread_rank() < 32;
    auto pipe = cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer
                                                            : cuda::pipeline_role::consumer);
    float sum = 0;
    for (int s = 0; s < 6; s++) {
        if (produces) {
            pipe.producer_acquire();
            cuda::memcpy_async(&tile[s % 2][threadIdx.x], &in[s * 32 + threadIdx.x],
                               cuda::aligned_size_t<4>(4), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            sum += tile[s % 2][63 - threadIdx.x];
            pipe.consumer_release();
        }
    }
    out[threadIdx.x] = sum;
}

__global__ void barrier(float *out, const float *in, int waits)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ float tile[64];
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) {
        init(&bar, block.size());
    }
    block.sync();
    cuda::memcpy_async(block, tile, in, sizeof(float) * 64, bar);
    auto token = bar.arrive();
    if (waits) {
        bar.wait(std::move(token));
    }
    out[threadIdx.x] = tile[63 - threadIdx.x];
    bar.arrive_and_wait();
}

__global__ void dropped(float *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ float sum[4];
    int t = threadIdx.x;
    if (t == 0) {
        init(&bar, blockDim.x);
    }
    __syncthreads();
    for (int round = 0; round < 4; round++) {
        if (t % 4 == round) {
            bar.arrive_and_drop();
            return;
        }
        if (t == 63 || t == round + 1) {
            sum[round] = round;
        }
        bar.arrive_and_wait();
        out[t] = sum[round] + 1;
    }
}

__global__ void bulk(float *out, const float *in)
{
    __shared__ __align__(16) float tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
    }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(tile, in, cuda::aligned_size_t<16>(sizeof tile), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void ring_of_a_warp(float *out, const float *in, int how)
{
    __shared__ __align__(16) float tile[32];
    __shared__ cuda::barrier<cuda::thread_scope_block> full, empty;
    float sum = 0;
    if (threadIdx.x == 0) {
        init(&full, 1);
        init(&empty, 32);
    }
    __syncthreads();
    for (int s = 0; s < 4; s++) {
        if (threadIdx.x == 0) {
            cuda::device::memcpy_async_tx(tile, in + 32 * s, cuda::aligned_size_t<16>(sizeof tile),
                                          full);
            (void)cuda::device::barrier_arrive_tx(full, 1, sizeof tile);
        }
        full.wait_parity(s % 2);
        sum += tile[31 - threadIdx.x];
        if (how == 1) {
            cuda::device::experimental::fence_proxy_async_shared_cta();
        } else if (how == 2) {
            empty.arrive_and_wait();
        } else if (how == 3) {
            __syncthreads();
        }
        __syncwarp();
    }
    out[threadIdx.x] = sum;
}

__global__ void group(float *out, const float *in, int n, int waits)
{
    extern __shared__ float held[];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, held, in, sizeof(float) * n);
    if (waits) {
        cg::wait(block);
    }
    out[threadIdx.x] = held[(n - 1 - threadIdx.x) % n];
    if (!waits) {
        cg::wait(block);
    }
}

__global__ void initialised(float *out, int all)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    for (int round = 0; round < 2; round++) {
        if (all || threadIdx.x == 32 * round) {
            init(&bar, blockDim.x);
        }
        __syncthreads();
        bar.arrive_and_wait();
        __syncthreads();
    }
    out[threadIdx.x] = 1;
}

__global__ void bytes(unsigned char *out, const unsigned char *in)
{
    __shared__ unsigned char held[64];
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int first = 32 * tile.meta_group_rank();
    cg::memcpy_async(tile, held + first, 31, in + first + 1, 31);
    cg::wait(tile);
    if (tile.thread_rank() < 31) {
        out[threadIdx.x] = held[first + 30 - tile.thread_rank()];
    }
}
"""


module, run = both_ways(SOURCE, "copies.cu")


X = np.arange(256, dtype=np.float32)


def test_pipeline_of_threads(run):
    out = np.zeros(64, np.float32)
    run("pipeline_of_threads", 1, 64, (out, X, 0))
    assert np.array_equal(out, X.reshape(4, 64).sum(axis=0))


def test_pipeline_of_block(run):
    out = np.zeros(64, np.float32)
    run("pipeline_of_block", 1, 64, (out, X, 1))
    assert np.array_equal(out, X.reshape(4, 64).sum(axis=0)[::-1])


def test_pipeline_with_roles(run):
    out = np.zeros(64, np.float32)
    run("roles", 1, 64, (out, X))
    assert np.array_equal(out[32:], X[:192].reshape(6, 32).sum(axis=0)[::-1])


@pytest.mark.parametrize("kernel", ["barrier", "bulk"])
def test_copies_that_complete_at_a_barrier(run, kernel):
    out = np.zeros(64, np.float32)
    run(kernel, 1, 64, (out, X, 1) if kernel == "barrier" else (out, X))
    assert np.array_equal(out, X[63::-1])


@pytest.mark.parametrize(("n", "threads"), [(64, 64), (63, 32), (62, 32), (61, 32)])
def test_copy_of_a_block(run, n, threads):
    out = np.zeros(64, np.float32)
    run("group", 1, threads, (out, X, n, 1), shared_bytes=256)
    assert np.array_equal(out[:threads], X[(n - 1 - np.arange(threads)) % n])


def test_copy_of_bytes_by_tiles(run):
    x, out = np.arange(65, dtype=np.uint8), np.zeros(64, np.uint8)
    run("bytes", 1, 64, (out, x))
    assert np.array_equal(out[:31], x[31:0:-1])
    assert np.array_equal(out[32:63], x[63:32:-1])


@pytest.mark.parametrize(
    ("kernel", "arguments", "line"),
    [
        ("pipeline_of_threads", (1,), "sum += tile[s % 2][t]"),
        ("pipeline_of_block", (0,), "tile[s % 2]"),
        ("barrier", (0,), ""),
        ("group", (64, 0), "held[(n - 1"),
    ],
)
def test_a_missing_wait_is_found(kernel, arguments, line):
    out = np.zeros(64, np.float32)
    shared = {"shared_bytes": 256} if kernel == "group" else {}
    finding = module().check(kernel, 1, 64, (out, X, *arguments), **shared)
    assert finding is not None
    assert line in SOURCE.splitlines()[finding.line - 1]


@pytest.mark.parametrize("every", [False, True])
def test_one_thread_initialises_a_barrier(every):
    """Another one may do it again, after a barrier; all threads at once are a race."""
    out = np.zeros(64, np.float32)
    finding = module().check("initialised", 1, 64, (out, int(every)))
    if every:
        assert finding is not None and finding.rule == "mbarrier"
        assert "initialises an mbarrier that thread (0, 0, 0) initialised" in str(finding)
    else:
        assert finding is None and (out == 1).all()


@pytest.mark.parametrize("how", range(4))
def test_reads_end_before_the_engine_writes(how):
    """A barrier of the warp does not wait for loads, of which the copy engine knows nothing."""
    out = np.zeros(32, np.float32)
    finding = module().check("ring_of_a_warp", 1, 32, (out, X, how))
    if how == 0:
        assert finding is not None and finding.rule == "race-copy"
        read = int(re.search(r":(\d+), which may still be under way", str(finding))[1])
        assert "sum += tile[31" in SOURCE.splitlines()[read - 1]
    else:
        assert finding is None
        assert np.array_equal(out, X[:128].reshape(4, 32).sum(axis=0)[::-1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "__shared__ cuda::barrier<cuda::thread_scope_device> b; init(&b, 1);",
            "thread_scope_block",
        ),
        ("cuda::device::experimental::cp_async_bulk_wait_group_read<0>();", "cp_async_bulk_wait"),
    ],
)
def test_what_is_missing_is_refused_by_name(text, message):
    source = f"#include <cuda/barrier>\n__global__ void k()\n{{\n    {text}\n}}\n"
    with pytest.raises(ValueError, match=message):
        load(source=source, name="refused.cu").kernels()
