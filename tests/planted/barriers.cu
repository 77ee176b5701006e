/* Barriers that not all threads of a block or grid reach, and their correct twins. */
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

/* The barrier is in a branch that half of the threads take. */
__global__ void barrier_in_branch(const int *x, int *y)
{
    __shared__ int s[128];
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 64) {
        __syncthreads(); // BUG
        y[threadIdx.x] = s[threadIdx.x + 32];
    }
}

__global__ void barrier_before_branch(const int *x, int *y)
{
    __shared__ int s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 64) {
        y[threadIdx.x] = s[threadIdx.x + 32];
    }
}

/* Threads behind the end return, and the last one that stays reads what its partner never wrote. */
__global__ void return_before_barrier(const int *x, int *y, int n)
{
    __shared__ int s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    s[threadIdx.x] = x[i];
    __syncthreads();           // BUG
    y[i] = s[threadIdx.x ^ 1]; // BUG
}

__global__ void return_after_barrier(const int *x, int *y, int n)
{
    __shared__ int s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i >= n) {
        return;
    }
    y[i] = s[threadIdx.x ^ 1];
}

__global__ void return_without_barrier(const int *x, int *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    y[i] = 2 * x[i];
}

/* A loop whose number of rounds differs between threads holds a barrier. */
__global__ void barrier_in_uneven_loop(const int *x, int *y, int n)
{
    __shared__ int s[128];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        s[threadIdx.x] = x[i];
        __syncthreads(); // BUG
        y[i] = s[threadIdx.x ^ 1];
        __syncthreads(); // BUG
    }
}

__global__ void barrier_in_even_loop(const int *x, int *y, int n)
{
    __shared__ int s[128];
    for (int begin = 0; begin < n; begin += blockDim.x) {
        int i = begin + threadIdx.x;
        s[threadIdx.x] = i < n ? x[i] : 0;
        __syncthreads();
        if (i < n) {
            y[i] = s[threadIdx.x ^ 1];
        }
        __syncthreads();
    }
}

/* Both branches have a barrier, but these are two different ones. */
__global__ void barrier_in_both_branches(const int *x, int *y)
{
    __shared__ int s[64];
    if (threadIdx.x % 2 == 0) {
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads(); // BUG
        y[threadIdx.x] = s[threadIdx.x + 1];
    } else {
        s[threadIdx.x] = -x[threadIdx.x];
        __syncthreads(); // BUG
        y[threadIdx.x] = s[threadIdx.x - 1] + 1;
    }
}

__global__ void barrier_after_both_branches(const int *x, int *y)
{
    __shared__ int s[64];
    if (threadIdx.x % 2 == 0) {
        s[threadIdx.x] = x[threadIdx.x];
    } else {
        s[threadIdx.x] = -x[threadIdx.x];
    }
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x ^ 1];
}

/* A barrier in a branch that depends on data. */
__device__ void flush(int *list, int *length, int *y)
{
    __syncthreads(); // BUG
    if (threadIdx.x == 0) {
        y[0] = list[0];
        *length = 0;
    }
    __syncthreads(); // BUG
}

__global__ void flush_if_large(const int *x, int *y)
{
    __shared__ int list[128];
    __shared__ int length;
    list[threadIdx.x] = x[threadIdx.x];
    if (x[threadIdx.x] > 50) {
        flush(list, &length, y);
    }
}

/* A branch that all threads of the block take, or none. */
__global__ void barrier_in_uniform_branch(const int *x, int *y, int smooth)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (smooth && blockIdx.x % 2 == 0) {
        __syncthreads();
        s[threadIdx.x % 64] += 1;
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
}

/* The first warp waits at a counting barrier that the others never reach. */
__global__ void count_in_first_warp(const int *x, int *y)
{
    if (threadIdx.x < 32) {
        int positive = __syncthreads_count(x[threadIdx.x] > 0); // BUG
        y[threadIdx.x] = positive;
    }
}

__global__ void count_in_all_warps(const int *x, int *y)
{
    int positive = __syncthreads_count(x[threadIdx.x] > 0);
    if (threadIdx.x < 32) {
        y[threadIdx.x] = positive;
    }
}

/* Warps specialise, and the producer forgets the second barrier. */
__global__ void producer_skips_barrier(const int *x, int *y, int rounds)
{
    __shared__ int s[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int round = 0; round < rounds; round++) {
            s[lane] = x[round * 32 + lane]; // BUG
            __syncthreads();                // BUG
        }
    } else {
        for (int round = 0; round < rounds; round++) {
            __syncthreads();                     // BUG
            y[round * 32 + lane] = s[31 - lane]; // BUG
            __syncthreads();                     // BUG
        }
    }
}

/* cg::sync() of the block in a branch. */
__global__ void group_barrier_in_branch(const int *x, int *y)
{
    __shared__ int s[64];
    cg::thread_block block = cg::this_thread_block();
    s[block.thread_rank()] = x[block.thread_rank()];
    if (block.thread_rank() < 32) {
        block.sync(); // BUG
    }
    y[block.thread_rank()] = s[block.thread_rank()];
}

__global__ void group_barrier(const int *x, int *y)
{
    __shared__ int s[64];
    cg::thread_block block = cg::this_thread_block();
    s[block.thread_rank()] = x[block.thread_rank()];
    block.sync();
    y[block.thread_rank()] = s[63 - block.thread_rank()];
}

__global__ void grid_barrier_of_groups(const int *x, int *y, int *z)
{
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    y[i] = 2 * x[i];
    grid.sync();
    z[i] = y[n - 1 - i];
}

/* Only the block waits where the whole grid has to. */
__global__ void block_barrier_for_grid(const int *x, int *y, int *z)
{
    cg::thread_block block = cg::this_thread_block();
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    y[i] = 2 * x[i]; // BUG
    block.sync();
    z[i] = y[n - 1 - i]; // BUG
}
