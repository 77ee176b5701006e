/* Shuffles, votes and barriers of warps that not all named lanes reach, and correct twins. */
#include <cooperative_groups.h>

#define FULL 0xffffffffu

namespace cg = cooperative_groups;

/* The lower half adds what the upper half holds, but the upper half is not there. */
__global__ void shuffle_in_lower_half(const int *x, int *y)
{
    int value = x[threadIdx.x];
    if (threadIdx.x < 16) {
        value += __shfl_down_sync(FULL, value, 16); // BUG
    }
    y[threadIdx.x] = value;
}

__global__ void shuffle_before_branch(const int *x, int *y)
{
    int value = x[threadIdx.x];
    int other = __shfl_down_sync(FULL, value, 16);
    if (threadIdx.x < 16) {
        value += other;
    }
    y[threadIdx.x] = value;
}

/* The mask is right, but the source lane is not in it: its value is undefined. */
__global__ void shuffle_from_absent(const int *x, int *y)
{
    int value = x[threadIdx.x];
    if (threadIdx.x < 16) {
        value = __shfl_sync(0xffffu, value, threadIdx.x + 16); // BUG
    }
    y[threadIdx.x] = value;
}

__global__ void shuffle_within_half(const int *x, int *y)
{
    int value = x[threadIdx.x];
    if (threadIdx.x < 16) {
        value = __shfl_sync(0xffffu, value, 15 - threadIdx.x);
    }
    y[threadIdx.x] = value;
}

/* Lanes behind the end have returned before the reduction of the warp. */
__global__ void reduce_after_return(const int *x, int *y, int n)
{
    int i = threadIdx.x;
    if (i >= n) {
        return;
    }
    int sum = x[i];
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(FULL, sum, step); // BUG
    }
    if (i == 0) {
        *y = sum;
    }
}

__global__ void reduce_with_tail(const int *x, int *y, int n)
{
    int i = threadIdx.x;
    int sum = i < n ? x[i] : 0;
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(FULL, sum, step);
    }
    if (i == 0) {
        *y = sum;
    }
}

__global__ void reduce_by_ballot_mask(const int *x, int *y, int n)
{
    unsigned mask = __ballot_sync(FULL, threadIdx.x < n);
    if (threadIdx.x < n) {
        int sum = x[threadIdx.x];
        for (int step = 16; step > 0; step /= 2) {
            int other = __shfl_down_sync(mask, sum, step);
            if (threadIdx.x + step < n) {
                sum += other;
            }
        }
        if (threadIdx.x == 0) {
            *y = sum;
        }
    }
}

/* A warp barrier in a branch names lanes outside of it. */
__global__ void warp_barrier_in_branch(const int *x, int *y)
{
    __shared__ int s[32];
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x % 2 == 0) {
        __syncwarp(); // BUG
        y[threadIdx.x] = s[threadIdx.x];
    } else {
        y[threadIdx.x] = 0;
    }
}

__global__ void warp_barrier_with_mask(const int *x, int *y)
{
    __shared__ int s[32];
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x % 2 == 0) {
        __syncwarp(0x55555555u);
        y[threadIdx.x] = s[threadIdx.x];
    } else {
        y[threadIdx.x] = 0;
    }
}

/* The calling lane is not in the mask that it gives. */
__global__ void lane_not_in_mask(const int *x, int *y)
{
    int value = x[threadIdx.x];
    value += __shfl_xor_sync(0x0000ffffu, value, 1); // BUG
    y[threadIdx.x] = value;
}

__global__ void every_lane_in_its_mask(const int *x, int *y)
{
    int value = x[threadIdx.x];
    unsigned mask = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
    value += __shfl_xor_sync(mask, value, 1);
    y[threadIdx.x] = value;
}

/* A vote in a loop that lanes leave at different times. */
__global__ void vote_in_uneven_loop(const int *x, int *y)
{
    int rounds = 0;
    for (int i = 0; i < 1 + threadIdx.x % 4; i++) {
        if (__any_sync(FULL, x[threadIdx.x] > i)) { // BUG
            rounds++;
        }
    }
    y[threadIdx.x] = rounds;
}

__global__ void vote_in_even_loop(const int *x, int *y)
{
    int rounds = 0;
    for (int i = 0; i < 4; i++) {
        bool wanted = i < 1 + threadIdx.x % 4;
        if (__any_sync(FULL, wanted && x[threadIdx.x] > i) && wanted) {
            rounds++;
        }
    }
    y[threadIdx.x] = rounds;
}

/* The mask of another branch: even lanes name the odd ones. */
__global__ void ballot_with_wrong_mask(const int *x, unsigned *y)
{
    if (threadIdx.x % 2 == 0) {
        y[threadIdx.x] = __ballot_sync(0xaaaaaaaau, x[threadIdx.x] > 0); // BUG
    }
}

__global__ void ballot_with_right_mask(const int *x, unsigned *y)
{
    if (threadIdx.x % 2 == 0) {
        y[threadIdx.x] = __ballot_sync(0x55555555u, x[threadIdx.x] > 0);
    }
}

/* A block of 48 threads: the second warp has no upper lanes. */
__global__ void full_mask_in_half_warp(const int *x, int *y)
{
    int sum = x[threadIdx.x];
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(FULL, sum, step); // BUG
    }
    y[threadIdx.x] = sum;
}

/* Four lanes reduce together; a group knows its own mask. */
__global__ void reduce_in_tiles(const int *x, int *y)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<4> tile = cg::tiled_partition<4>(block);
    int sum = x[block.thread_rank()];
    for (int step = 2; step > 0; step /= 2) {
        sum += tile.shfl_down(sum, step);
    }
    if (tile.thread_rank() == 0) {
        y[block.thread_rank() / 4] = sum;
    }
}

/* A tile is synchronised by only a part of its threads. */
__global__ void tile_barrier_in_branch(const int *x, int *y)
{
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    int value = x[threadIdx.x];
    if (warp.thread_rank() < 8) {
        value += warp.shfl_xor(value, 16); // BUG
    }
    y[threadIdx.x] = value;
}

__global__ void coalesced_group_counts(const int *x, int *y, int *count)
{
    if (x[threadIdx.x] % 2 == 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0) {
            base = atomicAdd(count, (int)active.size());
        }
        base = active.shfl(base, 0);
        y[base + active.thread_rank()] = x[threadIdx.x];
    }
}

/* The lanes of one branch only are named by the mask of matching lanes. */
__global__ void leader_of_matching_lanes(const int *x, int *y)
{
    int key = x[threadIdx.x] % 4;
    unsigned same = __match_any_sync(FULL, key);
    int leader = __ffs(same) - 1;
    int value = __shfl_sync(same, threadIdx.x * 10, leader);
    y[threadIdx.x] = value;
}
