// Sums of an array, the four usual ways.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define BLOCK_SIZE 256

__global__ void reduceShared(const float *g_idata, float *g_odata, unsigned int n)
{
    extern __shared__ float sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;

    float mySum = (i < n) ? g_idata[i] : 0;
    if (i + blockDim.x < n) {
        mySum += g_idata[i + blockDim.x];
    }
    sdata[tid] = mySum;
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] = mySum = mySum + sdata[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        g_odata[blockIdx.x] = mySum;
    }
}

__inline__ __device__ float warpReduceSum(float val)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
        val += __shfl_down_sync(0xffffffff, val, offset);
    }
    return val;
}

__inline__ __device__ float blockReduceSum(float val)
{
    static __shared__ float shared[32];
    int lane = threadIdx.x % warpSize;
    int wid = threadIdx.x / warpSize;
    val = warpReduceSum(val);
    if (lane == 0) {
        shared[wid] = val;
    }
    __syncthreads();
    val = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0;
    if (wid == 0) {
        val = warpReduceSum(val);
    }
    return val;
}

__global__ void reduceShuffle(const float *in, float *out, int N)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) {
        sum += in[i];
    }
    sum = blockReduceSum(sum);
    if (threadIdx.x == 0) {
        out[blockIdx.x] = sum;
    }
}

__device__ unsigned int retirementCount = 0;

__global__ void reduceLastBlock(const float4 *in, volatile float *partial, float *out, int n4)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += blockDim.x * gridDim.x) {
        float4 v = in[i];
        sum += v.x + v.y + v.z + v.w;
    }
    sum = blockReduceSum(sum);

    __shared__ bool amLast;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        unsigned int ticket = atomicInc(&retirementCount, gridDim.x);
        amLast = (ticket == gridDim.x - 1);
    }
    __syncthreads();
    if (amLast) {
        sum = threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0.0f;
        sum = blockReduceSum(sum);
        if (threadIdx.x == 0) {
            *out = sum;
            retirementCount = 0;
        }
    }
}

__global__ void reduceCooperative(const float *in, float *partial, float *out, int n)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block cta = cg::this_thread_block();
    __shared__ float sdata[BLOCK_SIZE / 32];

    float sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) {
        sum += in[i];
    }
    cg::thread_block_tile<32> tile32 = cg::tiled_partition<32>(cta);
    for (int i = tile32.size() / 2; i > 0; i /= 2) {
        sum += tile32.shfl_down(sum, i);
    }
    if (tile32.thread_rank() == 0) {
        sdata[threadIdx.x / 32] = sum;
    }
    cg::sync(cta);
    if (cta.thread_rank() == 0) {
        float s = 0;
        for (int w = 0; w < BLOCK_SIZE / 32; w++) {
            s += sdata[w];
        }
        partial[blockIdx.x] = s;
    }
    cg::sync(grid);
    if (grid.thread_rank() == 0) {
        float s = 0;
        for (int b = 0; b < (int)gridDim.x; b++) {
            s += partial[b];
        }
        *out = s;
    }
}
