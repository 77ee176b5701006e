/*
 * Reduction: the sum of an array, in the steps in which it is usually made faster.
 *
 *   reduce0   interleaved addressing, divergent
 *   reduce1   sequential addressing
 *   reduce2   first addition while loading
 *   reduce3   shuffles within warps, any number of elements per thread
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <numeric>
#include <cuda_runtime.h>

#ifndef MIN
#define MIN(x, y) ((x < y) ? x : y)
#endif

extern "C" bool isPow2(unsigned int x) { return ((x & (x - 1)) == 0); }

// Dynamic shared memory of a template: one name per type.
template <class T>
struct SharedMemory {
    __device__ inline operator T *()
    {
        extern __shared__ int __smem[];
        return (T *)__smem;
    }
    __device__ inline operator const T *() const
    {
        extern __shared__ int __smem[];
        return (T *)__smem;
    }
};

template <class T>
__global__ void reduce0(const T *g_idata, T *g_odata, unsigned int n)
{
    T *sdata = SharedMemory<T>();
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    sdata[tid] = (i < n) ? g_idata[i] : 0;
    __syncthreads();
    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        if ((tid % (2 * s)) == 0) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

template <class T>
__global__ void reduce1(const T *g_idata, T *g_odata, unsigned int n)
{
    T *sdata = SharedMemory<T>();
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    sdata[tid] = (i < n) ? g_idata[i] : 0;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

template <class T>
__global__ void reduce2(const T *g_idata, T *g_odata, unsigned int n)
{
    T *sdata = SharedMemory<T>();
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;

    T mySum = (i < n) ? g_idata[i] : 0;
    if (i + blockDim.x < n) mySum += g_idata[i + blockDim.x];
    sdata[tid] = mySum;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] = mySum = mySum + sdata[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = mySum;
}

template <class T>
__device__ __forceinline__ T warpReduceSum(unsigned int mask, T mySum)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
        mySum += __shfl_down_sync(mask, mySum, offset);
    }
    return mySum;
}

template <typename T, unsigned int blockSize>
__global__ void __launch_bounds__(blockSize) reduce3(const T *__restrict__ g_idata, T *__restrict__ g_odata, unsigned int n)
{
    static_assert(blockSize % 32 == 0, "whole warps");
    __shared__ T partial[blockSize / 32];
    const unsigned int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;

    T mySum = 0;
    for (unsigned int i = blockIdx.x * blockSize + tid; i < n; i += blockSize * gridDim.x) {
        mySum += g_idata[i];
    }
    mySum = warpReduceSum(0xffffffffu, mySum);
    if (lane == 0) partial[warp] = mySum;
    __syncthreads();
    if (warp == 0) {
        mySum = lane < blockSize / 32 ? partial[lane] : 0;
        mySum = warpReduceSum(0xffffffffu, mySum);
        if (lane == 0) g_odata[blockIdx.x] = mySum;
    }
}

template <typename T>
struct Variant {
    const char *name;
    void (*kernel)(const T *, T *, unsigned int);
    unsigned int per_block;
};

template <class T>
T run(const Variant<T> &variant, const T *d_in, T *d_out, unsigned int n, unsigned int threads)
{
    unsigned int blocks = MIN((n + variant.per_block - 1) / variant.per_block, 65535u);
    variant.kernel<<<blocks, threads, threads * sizeof(T)>>>(d_in, d_out, n);
    std::vector<T> h_out(blocks);
    if (cudaMemcpy(h_out.data(), d_out, blocks * sizeof(T), cudaMemcpyDeviceToHost) != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", variant.name, cudaGetErrorString(cudaGetLastError()));
        exit(EXIT_FAILURE);
    }
    return std::accumulate(h_out.begin(), h_out.end(), T(0));
}

int main(int argc, char **argv)
{
    unsigned int n = (argc > 1 && strncmp(argv[1], "--n=", 4) == 0) ? atoi(argv[1] + 4) : 1000003;
    const unsigned int threads = 256;
    printf("%u elements%s\n", n, isPow2(n) ? " (a power of two)" : "");
    std::vector<int> data(n);
    for (unsigned int i = 0; i < n; i++) {
        data[i] = (int)(rand() & 0xFF);
    }
    int *d_in, *d_out;
    cudaMalloc((void **)&d_in, n * sizeof(int));
    cudaMalloc((void **)&d_out, 65536 * sizeof(int));
    cudaMemcpy(d_in, data.data(), n * sizeof(int), cudaMemcpyHostToDevice);

    const int expected = std::accumulate(data.begin(), data.end(), 0);
    const Variant<int> variants[] = {
        {"interleaved", reduce0<int>, threads},
        {"sequential", reduce1<int>, threads},
        {"first add", reduce2<int>, 2 * threads},
        {"shuffle", reduce3<int, threads>, 8 * threads},
    };
    int failures = 0;
    for (const Variant<int> &variant : variants) {
        int sum = run(variant, d_in, d_out, n, threads);
        printf("%-12s %d%s\n", variant.name, sum, sum == expected ? "" : "  WRONG");
        failures += sum != expected;
    }
    cudaFree(d_in);
    cudaFree(d_out);
    if (!failures) printf("OK\n");
    return failures;
}
