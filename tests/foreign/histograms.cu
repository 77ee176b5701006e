// Histograms of bytes: straight into global memory, and a private one per block.
typedef unsigned int uint;

__global__ void histogram_gmem_atomics(const unsigned char *in, uint *hist, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = blockDim.x * gridDim.x;
    while (i < n) {
        atomicAdd(&hist[in[i]], 1);
        i += stride;
    }
}

template <int NUM_BINS, int NUM_WARPS>
__global__ void histogram_smem_atomics(const uint *data, uint *hist, int words)
{
    __shared__ uint s_hist[NUM_WARPS][NUM_BINS];
    uint *mine = s_hist[threadIdx.x >> 5];

    for (int i = threadIdx.x; i < NUM_BINS * NUM_WARPS; i += blockDim.x) {
        (&s_hist[0][0])[i] = 0;
    }
    __syncthreads();

    for (int pos = blockIdx.x * blockDim.x + threadIdx.x; pos < words;
         pos += blockDim.x * gridDim.x) {
        uint w = data[pos];
        atomicAdd(mine + ((w >> 0) & 0xFFU), 1U);
        atomicAdd(mine + ((w >> 8) & 0xFFU), 1U);
        atomicAdd(mine + ((w >> 16) & 0xFFU), 1U);
        atomicAdd(mine + ((w >> 24) & 0xFFU), 1U);
    }
    __syncthreads();

    for (int bin = threadIdx.x; bin < NUM_BINS; bin += blockDim.x) {
        uint sum = 0;
#pragma unroll
        for (int w = 0; w < NUM_WARPS; w++) {
            sum += s_hist[w][bin];
        }
        atomicAdd(&hist[bin], sum);
    }
}

template __global__ void histogram_smem_atomics<256, 4>(const uint *, uint *, int);
