/* The sum of each block's elements, by a tree in shared memory. */
#include <vector>

#include "must.h"

__global__ void block_sums(const float *in, float *sums, int n)
{
    extern __shared__ float part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    part[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            part[threadIdx.x] += part[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = part[0];
    }
}

int main()
{
    const int n = 1 << 20, threads = 256, blocks = n / threads;
    std::vector<float> in(n, 1.0f), sums(blocks);
    float *device_in, *device_sums;
    MUST(cudaMalloc(&device_in, n * sizeof(float)));
    MUST(cudaMalloc(&device_sums, blocks * sizeof(float)));
    MUST(cudaMemcpy(device_in, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    block_sums<<<blocks, threads, threads * sizeof(float)>>>(device_in, device_sums, n);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(sums.data(), device_sums, blocks * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("sums[0] = %g, expected %d\n", sums[0], threads);
    return sums[0] == threads ? 0 : 1;
}
