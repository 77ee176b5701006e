/* Bitonic sort of 2^k keys with values.
 *
 * Strides of up to half a block are sorted in shared memory, larger ones in global memory, one
 * launch each. */
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <cuda_runtime.h>

typedef unsigned int uint;
#define SHARED_SIZE 512U          /* elements per block: two for each thread */

static __device__ __forceinline__ void comparator(uint &keyA, uint &valA, uint &keyB, uint &valB, uint ascending)
{
    if ((keyA > keyB) == ascending) {
        uint t;
        t = keyA; keyA = keyB; keyB = t;
        t = valA; valA = valB; valB = t;
    }
}

extern "C" __global__ void bitonicSortShared(uint *keys, uint *values)
{
    __shared__ uint s_key[SHARED_SIZE];
    __shared__ uint s_val[SHARED_SIZE];
    const uint base = blockIdx.x * SHARED_SIZE, t = threadIdx.x, half = SHARED_SIZE / 2;

    s_key[t] = keys[base + t];
    s_val[t] = values[base + t];
    s_key[t + half] = keys[base + t + half];
    s_val[t + half] = values[base + t + half];

    for (uint size = 2; size <= SHARED_SIZE; size <<= 1) {
        /* Neighbouring blocks are sorted in opposite directions. */
        uint direction = size < SHARED_SIZE ? (t & (size / 2)) == 0 : (blockIdx.x & 1) == 0;
        for (uint stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            uint pos = 2 * t - (t & (stride - 1));
            comparator(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], direction);
        }
    }
    __syncthreads();
    keys[base + t] = s_key[t];
    values[base + t] = s_val[t];
    keys[base + t + half] = s_key[t + half];
    values[base + t + half] = s_val[t + half];
}

extern "C" __global__ void bitonicMergeGlobal(uint *keys, uint *values, uint size, uint stride)
{
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    uint pos = 2 * i - (i & (stride - 1));
    uint ascending = (pos & size) == 0;
    comparator(keys[pos], values[pos], keys[pos + stride], values[pos + stride], ascending);
}

/* Merges the strides below SHARED_SIZE. */
extern "C" __global__ void bitonicMergeShared(uint *keys, uint *values, uint size)
{
    __shared__ uint s_key[SHARED_SIZE], s_val[SHARED_SIZE];
    const uint base = blockIdx.x * SHARED_SIZE, t = threadIdx.x;

    for (uint i = t; i < SHARED_SIZE; i += blockDim.x) {
        s_key[i] = keys[base + i];
        s_val[i] = values[base + i];
    }
    for (uint stride = SHARED_SIZE / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        uint pos = 2 * t - (t & (stride - 1));
        comparator(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], (base & size) == 0);
    }
    __syncthreads();
    for (uint i = t; i < SHARED_SIZE; i += blockDim.x) {
        keys[base + i] = s_key[i];
        values[base + i] = s_val[i];
    }
}

void bitonicSort(uint *d_keys, uint *d_values, uint n)
{
    uint blocks = n / SHARED_SIZE, threads = SHARED_SIZE / 2;

    bitonicSortShared<<<blocks, threads>>>(d_keys, d_values);
    for (uint size = 2 * SHARED_SIZE; size <= n; size <<= 1) {
        for (uint stride = size / 2; stride >= SHARED_SIZE; stride >>= 1)
            bitonicMergeGlobal<<<blocks, threads>>>(d_keys, d_values, size, stride);
        bitonicMergeShared<<<blocks, threads>>>(d_keys, d_values, size);
    }
}

int main(int argc, char **argv)
{
    const uint n = 1u << (argc > 1 ? atoi(argv[1]) : 16);
    if (n < SHARED_SIZE) {
        fprintf(stderr, "at least %u elements\n", SHARED_SIZE);
        return 2;
    }
    uint *keys, *values;
    cudaError_t e = cudaMallocManaged(&keys, n * sizeof(uint));
    if (e == cudaSuccess) e = cudaMallocManaged(&values, n * sizeof(uint));
    if (e != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(e));
        return 1;
    }
    uint *original = new uint[n];
    for (uint i = 0; i < n; i++) {
        original[i] = keys[i] = (uint)rand() % 10000;
        values[i] = i;
    }
    bitonicSort(keys, values, n);
    e = cudaDeviceSynchronize();
    bool good = e == cudaSuccess && std::is_sorted(keys, keys + n);
    for (uint i = 0; i < n && good; i++) good = original[values[i]] == keys[i];
    std::sort(values, values + n);
    for (uint i = 0; i < n && good; i++) good = values[i] == i;

    delete[] original;
    cudaFree(keys);
    cudaFree(values);
    printf("%s\n", good ? "OK" : "FAILED");
    return good ? 0 : 1;
}
