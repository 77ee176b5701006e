"""Cooperative groups: ranks, partitions, shuffles, votes, reductions and scans, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from both_ways import both_ways
from loading import load

from gpumem import CompileError

SOURCE = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__global__ void block(unsigned *out)
{
    auto block = cg::this_thread_block();
    unsigned *mine = out + 10 * (blockIdx.x * block.size() + block.thread_rank());
    mine[0] = block.num_threads();
    mine[1] = block.thread_rank();
    mine[2] = block.group_index().x;
    mine[3] = block.thread_index().x;
    mine[4] = block.thread_index().y;
    mine[5] = block.dim_threads().x;
    mine[6] = block.group_dim().y;
    auto grid = cg::this_grid();
    mine[7] = grid.thread_rank();
    mine[8] = grid.size();
    mine[9] = grid.num_blocks() * 100 + grid.block_rank();
    cg::sync(block);
}

template <int size> __device__ void tile_ranks(unsigned *out)
{
    auto tile = cg::tiled_partition<size>(cg::this_thread_block());
    unsigned *mine = out + 6 * threadIdx.x;
    mine[0] = tile.thread_rank();
    mine[1] = tile.num_threads();
    mine[2] = tile.meta_group_rank();
    mine[3] = tile.meta_group_size();
    if constexpr (size > 1) {
        auto part = cg::tiled_partition<size / 2>(tile);
        mine[4] = part.thread_rank();
        mine[5] = part.meta_group_rank();
    }
    tile.sync();
}
__global__ void tiles_1(unsigned *out) { tile_ranks<1>(out); }
__global__ void tiles_4(unsigned *out) { tile_ranks<4>(out); }
__global__ void tiles_16(unsigned *out) { tile_ranks<16>(out); }
__global__ void tiles_32(unsigned *out) { tile_ranks<32>(out); }

__device__ unsigned long long of_any_group(const cg::thread_group &group)
{
    group.sync();
    return group.size() * 1000 + group.thread_rank();
}
__global__ void dynamic(unsigned *out, int size)
{
    auto block = cg::this_thread_block();
    out[threadIdx.x] = of_any_group(cg::tiled_partition(block, size));
    out[blockDim.x + threadIdx.x] = of_any_group(block);
    cg::thread_group warp = cg::tiled_partition<32>(block);
    out[2 * blockDim.x + threadIdx.x] = of_any_group(cg::tiled_partition(warp, 4));
}

struct three {
    double a;
    int b;
    double c;
};
__global__ void shuffles(float *out, const float *x)
{
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x;
    out[t] = tile.shfl(x[t], 3);
    out[32 + t] = tile.shfl_up(x[t], 2);
    out[64 + t] = tile.shfl_down(x[t], 2);
    out[96 + t] = tile.shfl_xor(x[t], 5);
    three value = {x[t], t, 2.0 * x[t]};
    value = tile.shfl(value, 7);
    out[128 + t] = value.a + value.b + value.c;
}
__global__ void votes(unsigned *out, const int *x)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x, same = 0;
    out[t] = tile.ballot(x[t]);
    out[32 + t] = tile.any(x[t]);
    out[64 + t] = tile.all(x[t]);
    out[96 + t] = tile.match_any(x[t]);
    out[128 + t] = tile.match_all(x[t] > 100, same);
    out[160 + t] = same;
}
__global__ void reductions(int *out, float *fout, const int *x, const float *f)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int t = threadIdx.x;
    out[t] = cg::reduce(tile, x[t], cg::plus<int>());
    out[32 + t] = cg::reduce(tile, x[t], cg::less<int>());
    out[64 + t] = cg::reduce(tile, x[t], cg::greater<int>());
    out[96 + t] = cg::reduce(tile, x[t], cg::bit_and<int>());
    out[128 + t] = cg::reduce(tile, x[t], cg::bit_or<int>());
    out[160 + t] = cg::reduce(tile, x[t], cg::bit_xor<int>());
    out[192 + t] = cg::inclusive_scan(tile, x[t]);
    out[224 + t] = cg::exclusive_scan(tile, x[t]);
    out[256 + t] = cg::inclusive_scan(tile, x[t], cg::greater<int>());
    out[288 + t] = cg::reduce(tile, x[t], [](int a, int b) { return a > b ? a : b; });
    fout[t] = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), f[t], cg::plus<float>());
}
__global__ void coalesced(int *out, const int *x)
{
    int t = threadIdx.x;
    if (x[t] > 0) {
        cg::coalesced_group group = cg::coalesced_threads();
        out[t] = group.thread_rank();
        out[32 + t] = group.size();
        out[64 + t] = group.shfl(t, group.size() - 1);
        out[96 + t] = cg::reduce(group, x[t], cg::plus<int>());
        out[128 + t] = cg::inclusive_scan(group, x[t]);
        out[160 + t] = group.ballot(x[t] > 1);
        out[192 + t] = group.shfl_down(t, 1);
        out[224 + t] = group.shfl_up(t, 1);
    }
}
__global__ void partitions(int *out, const int *x)
{
    int t = threadIdx.x;
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto halves = cg::binary_partition(warp, x[t] > 1);
    out[t] = halves.size();
    out[32 + t] = halves.thread_rank();
    out[64 + t] = cg::reduce(halves, t, cg::plus<int>());
    out[96 + t] = halves.meta_group_rank();
    auto labels = cg::labeled_partition(warp, x[t]);
    out[128 + t] = labels.size();
    out[160 + t] = cg::reduce(labels, t, cg::plus<int>());
    out[192 + t] = labels.meta_group_size();
    out[224 + t] = labels.meta_group_rank();
    auto fours = cg::tiled_partition(labels, 4);
    out[256 + t] = fours.thread_rank();
}
/* The compaction of the programming guide: one atomic operation for all lanes that are there. */
__global__ void compact(int *out, int *count, const int *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 0) {
        auto group = cg::coalesced_threads();
        int first = 0;
        if (group.thread_rank() == 0) {
            first = atomicAdd(count, (int)group.size());
        }
        out[group.shfl(first, 0) + group.thread_rank()] = x[i];
    }
}
__global__ void one_calls(int *out)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    cg::invoke_one(tile, [&](int by) { out[threadIdx.x] = by; }, 5);
    int rank = cg::invoke_one_broadcast(tile, [&] { return (int)threadIdx.x + 3; });
    out[32 + threadIdx.x] = rank;
}
__global__ void of_grid(int *out, int *flags)
{
    auto grid = cg::this_grid();
    flags[grid.thread_rank()] = grid.thread_rank();
    grid.sync();
    out[grid.thread_rank()] = flags[grid.size() - 1 - grid.thread_rank()];
}
__global__ void cluster(int *out)
{
    __shared__ int mine[32];
    auto cluster = cg::this_cluster();
    mine[threadIdx.x] = threadIdx.x;
    cluster.sync();
    int *there = cluster.map_shared_rank(mine, out[0]);
    cluster.sync();
    out[threadIdx.x] = there[31 - threadIdx.x] + cluster.num_blocks();
}
"""


module, run = both_ways(SOURCE, "groups.cu")


LANES = np.arange(32)


def test_block_and_grid(run):
    out = np.zeros((3, 40, 10), np.uint32)
    run("block", 3, (8, 5), (out,))
    for block in range(3):
        for t in range(40):
            want = [40, t, block, t % 8, t // 8, 8, 5, 40 * block + t, 120, 300 + block]
            assert out[block, t].tolist() == want


@pytest.mark.parametrize("size", [1, 4, 16, 32])
@pytest.mark.parametrize("threads", [32, 64, 80])
def test_tiles(run, size, threads):
    out = np.zeros((threads, 6), np.uint32)
    run(f"tiles_{size}", 1, threads, (out,))
    part = max(size // 2, 1)
    for t in range(threads):
        rank = t % size
        want = [rank, size, t // size, -(-threads // size), rank % part, rank // part]
        assert out[t].tolist() == want


@pytest.mark.parametrize("size", [1, 2, 8, 32])
def test_groups_of_a_size_known_at_run_time(run, size):
    out = np.zeros((3, 64), np.uint32)
    run("dynamic", 1, 64, (out, size))
    t = np.arange(64)
    assert np.array_equal(out[0], 1000 * size + t % size)
    assert np.array_equal(out[1], 64000 + t)
    assert np.array_equal(out[2], 4000 + t % 4)


def test_shuffles_of_a_tile(run, rng):
    x = rng.integers(0, 1000, 32).astype(np.float32)
    out = np.zeros((5, 32), np.float32)
    run("shuffles", 1, 32, (out, x))
    first, rank = LANES - LANES % 8, LANES % 8
    assert np.array_equal(out[0], x[first + 3])
    assert np.array_equal(out[1], x[np.where(rank >= 2, LANES - 2, LANES)])
    assert np.array_equal(out[2], x[np.where(rank < 6, LANES + 2, LANES)])
    assert np.array_equal(out[3], x[first + (rank ^ 5)])
    assert np.array_equal(out[4], 3 * x[first + 7] + first + 7)


def test_votes_of_a_tile(run, rng):
    x = rng.integers(0, 3, (4, 8)).astype(np.int32)
    x[1] = 2
    out = np.zeros((6, 4, 8), np.uint32)
    run("votes", 1, 32, (out, x))
    bits = 1 << np.arange(8)
    assert (out[0] == ((x != 0) * bits).sum(axis=1, keepdims=True)).all()
    assert (out[1] == x.any(axis=1, keepdims=True)).all()
    assert (out[2] == x.all(axis=1, keepdims=True)).all()
    assert np.array_equal(out[3], ((x[:, :, None] == x[:, None, :]) * bits).sum(axis=2))
    assert (out[4] == 0xFF).all() and out[5].all()


def test_reductions_and_scans(run, rng):
    x = rng.integers(0, 1000, (2, 16)).astype(np.int32)
    f = rng.standard_normal(32).astype(np.float32)
    out, fout = np.zeros((10, 2, 16), np.int32), np.zeros(32, np.float32)
    run("reductions", 1, 32, (out, fout, x, f))
    functions = (np.add, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    for row, function in zip(out, functions, strict=False):
        assert (row == function.reduce(x, axis=1, keepdims=True)).all()
    assert np.array_equal(out[6], x.cumsum(axis=1))
    assert np.array_equal(out[7], x.cumsum(axis=1) - x)
    assert np.array_equal(out[8], np.maximum.accumulate(x, axis=1))
    assert (out[9] == x.max(axis=1, keepdims=True)).all()
    for lanes in (16, 8, 4, 2, 1):  # the order of a device, and so its rounding
        f = f + f[LANES ^ lanes]
    assert np.array_equal(fout, f)


def test_coalesced_lanes(run, rng):
    x = rng.integers(0, 3, 32).astype(np.int32)
    x[3], x[9], x[10] = 1, 2, 0
    out = np.full((8, 32), -1, np.int32)
    run("coalesced", 1, 32, (out, x))
    there = np.flatnonzero(x)
    count = len(there)
    assert (np.delete(out, there, axis=1) == -1).all()
    out, x = out[:, there], x[there]
    assert np.array_equal(out[0], np.arange(count))
    assert (out[1] == count).all() and (out[2] == there[-1]).all() and (out[3] == x.sum()).all()
    assert np.array_equal(out[4], x.cumsum())
    assert (out[5] == ((x > 1) << np.arange(count)).sum()).all()
    assert np.array_equal(out[6], np.append(there[1:], there[-1]))
    assert np.array_equal(out[7], np.append(there[0], there[:-1]))


def test_partitions_by_value(run, rng):
    x = rng.integers(0, 4, 32).astype(np.int32)
    x[:4] = 0, 1, 2, 3
    out = np.zeros((9, 32), np.int32)
    run("partitions", 1, 32, (out, x))
    first = [int(np.flatnonzero(x == value)[0]) for value in x]
    order = sorted(set(first))
    for lane in range(32):
        half = np.flatnonzero((x > 1) == (x[lane] > 1))
        same = np.flatnonzero(x == x[lane])
        rank = int(np.flatnonzero(same == lane)[0])
        want = [len(half), int(np.flatnonzero(half == lane)[0]), half.sum(), x[lane] > 1]
        want += [len(same), same.sum(), 4, order.index(first[lane]), rank % 4]
        assert out[:, lane].tolist() == want


def test_compaction(run, rng):
    x = rng.integers(-5, 6, 8 * 64).astype(np.int32)
    out, count = np.zeros(512, np.int32), np.zeros(1, np.int32)
    run("compact", 8, 64, (out, count, x))
    kept = x[x > 0]
    assert count[0] == len(kept)
    assert np.array_equal(np.sort(out[: len(kept)]), np.sort(kept))


def test_one_thread_calls(run):
    out = np.zeros((2, 32), np.int32)
    run("one_calls", 1, 32, (out,))
    assert out[0].tolist() == [5, *15 * [0], 5, *15 * [0]]
    assert out[1].tolist() == 16 * [3] + 16 * [19]


def test_a_barrier_of_the_grid_needs_a_cooperative_launch():
    arguments = (np.zeros(64, np.int32), np.zeros(64, np.int32))
    finding = module().check("of_grid", 2, 32, arguments)
    assert "not cooperative" in str(finding)


def test_cluster_of_one_block(run):
    out = np.zeros(32, np.int32)
    run("cluster", 1, 32, (out,))
    assert np.array_equal(out, 32 - LANES)
    finding = module().check("cluster", 1, 32, (np.ones(32, np.int32),))
    assert "clusters of one block" in str(finding)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cg::tiled_partition<64>(cg::this_thread_block());", "no tiles of more than 32"),
        ("cg::tiled_partition<12>(cg::this_thread_block());", "power of two"),
        ("cg::this_multi_grid();", "several GPUs"),
    ],
)
def test_what_is_missing_is_refused_by_name(text, message):
    source = (
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
        f"__global__ void k()\n{{\n    auto group = {text}\n}}\n"
    )
    with pytest.raises(CompileError, match=message) as error:
        load(source=source, name="refused.cu").kernels()
    assert "refused.cu:5" in str(error.value)


def test_a_size_that_is_no_power_of_two_is_found():
    finding = module().check("dynamic", 1, 32, (np.zeros((3, 32), np.uint32), 12))
    assert "power of two" in str(finding)
