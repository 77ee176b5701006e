/* A kernel for each rule of gm.check, at the line marked with its name. */
#include <cassert>
#include <cuda/barrier>
#include <cuda_pipeline.h>

__global__ void race_blocks(int *x)
{
    x[0] = blockIdx.x; // race-blocks
}

__global__ void race_shared(int *x)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[63 - threadIdx.x]; // race-shared
}

__global__ void race_global(int *x)
{
    x[threadIdx.x / 2] = threadIdx.x; // race-global
}

__global__ void endless(volatile int *x)
{
    while (x[0] == 0) { // endless
    }
}

__global__ void mbarrier()
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
    }
    bar.arrive_and_wait(); // mbarrier
}

__global__ void race_copy(const int *x, int *y)
{
    __shared__ int s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[threadIdx.x] = s[63 - threadIdx.x]; // race-copy
}

__global__ void copy_not_awaited(const int *x)
{
    __shared__ int s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(int)); // copy-not-awaited
}

__global__ void misuse(const int *x)
{
    __shared__ int s[64];
    __pipeline_memcpy_async(&s[0], &x[0], 4, 8); // misuse
    __pipeline_commit();
    __pipeline_wait_prior(0);
}

__global__ void use_after_free(unsigned long long address)
{
    ((int *)address)[threadIdx.x] = 1; // use-after-free
}

__global__ void null_pointer(int *x)
{
    x[threadIdx.x] = 1; // null-pointer
}

__global__ void out_of_bounds(int *x)
{
    x[threadIdx.x + 1] = 1; // out-of-bounds
}

__global__ void misaligned(const int *x, int2 *y)
{
    y[threadIdx.x] = *(const int2 *)(x + 1); // misaligned
}

__global__ void uninitialised(int *y)
{
    __shared__ int s[64];
    y[threadIdx.x] = s[threadIdx.x]; // uninitialised
}

__constant__ int table[4];

__global__ void constant_store()
{
    ((volatile int *)table)[threadIdx.x] = 1; // constant-store
}

__global__ void divergent_barrier()
{
    if (threadIdx.x < 16) {
        __syncthreads(); // divergent-barrier
    }
}

__global__ void divergent_warp(int *x)
{
    if (threadIdx.x < 16) {
        x[threadIdx.x] = __shfl_down_sync(0xffffffff, 1, 1); // divergent-warp
    }
}

__device__ __noinline__ int deeper(const int *x, int n)
{ // stack-overflow
    volatile int local[64];
    local[n & 63] = x[0];                                   // stack-overflow
    return x[0] < 0 ? 0 : deeper(x, n + 1) + local[n & 63]; // stack-overflow
}

__global__ void stack_overflow(const int *x, int *y)
{
    y[threadIdx.x] = deeper(x, 0); // stack-overflow
}

typedef int (*operation)(int);
__device__ operation chosen;

__global__ void invalid_call(int *x)
{
    x[threadIdx.x] = chosen(1); // invalid-call
}

__global__ void division(int *x, int by)
{
    x[threadIdx.x] = x[threadIdx.x] / by; // division
}

__global__ void assertion(const int *x)
{
    assert(x[threadIdx.x] > 1); // assert
}

__global__ void trap()
{
    __trap(); // trap
}

__global__ void strided(float *x, int stride)
{
    x[threadIdx.x * stride] = 1; // sectors, efficiency
}

__global__ void conflicts(float *x)
{
    __shared__ float s[1024];
    s[threadIdx.x * 32] = x[threadIdx.x]; // bank-conflicts
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x * 32]; // bank-conflicts
}

template <int n> __global__ void sum_of_neighbours(const float *x, float *y)
{
    __shared__ float s[n + 2];
    s[threadIdx.x + 1] = x[threadIdx.x];
    if (threadIdx.x < 2) {
        s[threadIdx.x * (n + 1)] = 0;
    }
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 2];
}

__global__ void several(float *out, const float *in)
{
    __shared__ float s[64];
    float unset;
    s[threadIdx.x] = in[threadIdx.x];
    float own = s[threadIdx.x & ~1]; // a race too
    if (in[0] > 0) {
        own += unset; // uninitialised too
    }
    out[blockIdx.x * 64 + threadIdx.x] = own;
}
