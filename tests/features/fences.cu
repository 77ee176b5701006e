// Fences: the last block adds up, a grid barrier by hand, a hand-over between warps.
__device__ unsigned finished;

__global__ void last_block_adds(const float *in, volatile float *partial, float *out)
{
    __shared__ float kept[64];
    __shared__ bool last;
    int t = threadIdx.x;
    kept[t] = in[blockIdx.x * 64 + t];
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) {
            kept[t] += kept[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = kept[0];
        __threadfence();
        unsigned before = atomicInc(&finished, gridDim.x - 1);
        last = before == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) {
            sum += partial[b];
        }
        *out = sum;
    }
}

__global__ void grid_barrier(int *data, unsigned *arrived, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    data[i] = i * 3;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {
        }
    }
    __syncthreads();
    __threadfence();
    out[i] = data[n - 1 - i];
}

__global__ void hand_over(const int *in, int *out)
{
    __shared__ int value[32];
    __shared__ volatile int ready;
    if (threadIdx.x == 0) {
        ready = 0;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        value[threadIdx.x] = in[threadIdx.x] + 1;
        __threadfence_block();
        __syncwarp();
        if (threadIdx.x == 0) {
            ready = 1;
        }
    } else {
        while (!ready) {
        }
        __threadfence_block();
        out[threadIdx.x - 32] = value[63 - threadIdx.x];
    }
}
