// printf and assertions in kernels.
#include <assert.h>
#include <stdio.h>

__global__ void says(const int *in, int *out)
{
    if (threadIdx.x == 0) {
        printf("block %d of %u: %s %5.2f %c %%\n", blockIdx.x, gridDim.x, "first", in[0] * 0.5,
               'x');
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x] + 1;
}

__global__ void holds(const int *in, int *out)
{
    assert(in[threadIdx.x] >= 0 && "inputs are counts");
    assert(blockDim.x == 32);
    out[threadIdx.x] = in[threadIdx.x] * 2;
}
