/* A histogram of bytes: each block counts in shared memory, and adds its counts to the total. */
#include <vector>

#include "must.h"

__global__ void histogram(const unsigned char *in, unsigned *counts, int n)
{
    __shared__ unsigned bins[256];

    bins[threadIdx.x] = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&bins[in[i]], 1); /* other threads may not have cleared this bin yet */
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

int main()
{
    const int n = 1 << 20;
    std::vector<unsigned char> in(n, 7);
    std::vector<unsigned> counts(256);
    unsigned char *device_in;
    unsigned *device_counts;
    MUST(cudaMalloc(&device_in, n));
    MUST(cudaMalloc(&device_counts, 256 * sizeof(unsigned)));
    MUST(cudaMemcpy(device_in, in.data(), n, cudaMemcpyHostToDevice));
    MUST(cudaMemset(device_counts, 0, 256 * sizeof(unsigned)));
    histogram<<<64, 256>>>(device_in, device_counts, n);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(counts.data(), device_counts, 256 * sizeof(unsigned), cudaMemcpyDeviceToHost));
    std::printf("counts[7] = %u, expected %d\n", counts[7], n);
    return counts[7] == n ? 0 : 1;
}
