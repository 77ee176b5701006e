/* 64 KiB of static shared memory, of which a block may have 48 KiB: ptxas refuses the file. */

__global__ void static_shared(const float *x, float *y)
{
    __shared__ float s[16384]; // BUG
    s[threadIdx.x * 64] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[(blockDim.x - 1 - threadIdx.x) * 64];
}
