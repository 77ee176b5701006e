// Atomic operations of a scope other than the device.
__global__ void scopes(const int *in, int *block_sums, int *total, unsigned *bits, long long *most)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd_block(&block_sums[blockIdx.x], in[i]);
    atomicAdd_system(total, in[i]);
    atomicOr_system(bits, 1u << (in[i] & 31));
    atomicMax_system(most, (long long)in[i]);
    atomicMin_block(&block_sums[gridDim.x + blockIdx.x], in[i]);
}

__global__ void shared_scopes(const unsigned *in, unsigned *out)
{
    __shared__ unsigned cell[3];
    if (threadIdx.x < 3) {
        cell[threadIdx.x] = 0;
    }
    __syncthreads();
    atomicAdd_block(&cell[0], in[threadIdx.x]);
    atomicXor_block(&cell[1], in[threadIdx.x]);
    unsigned seen = atomicCAS_block(&cell[2], 0u, threadIdx.x + 1);
    __syncthreads();
    if (threadIdx.x < 2) {
        out[threadIdx.x] = cell[threadIdx.x];
    }
    if (seen == 0) {
        out[2] = cell[2] == threadIdx.x + 1;
    }
}
