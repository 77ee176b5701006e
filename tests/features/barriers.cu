// Barriers of a block that also count, and barriers of a warp.
__global__ void counting(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int count = __syncthreads_count(in[i] > 0);
    int all = __syncthreads_and(in[i] > -100);
    int any = __syncthreads_or(in[i] > 98);
    out[i] = count * 4 + (all != 0) * 2 + (any != 0);
}

__global__ void warp_steps(const int *in, int *out)
{
    __shared__ int kept[2][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    kept[warp][lane] = in[threadIdx.x];
    __syncwarp();
    for (int step = 1; step < 32; step *= 2) {
        int other = lane >= step ? kept[warp][lane - step] : 0;
        __syncwarp();
        kept[warp][lane] += other;
        __syncwarp();
    }
    out[threadIdx.x] = kept[warp][lane];
}

__global__ void part_of_a_warp(int *out)
{
    __shared__ int kept[32];
    int lane = threadIdx.x;
    kept[lane] = lane;
    if (lane < 12) {
        __syncwarp(0x00000fff);
        out[lane] = kept[11 - lane];
    } else {
        __syncwarp(0xfffff000);
        out[lane] = kept[43 - lane];
    }
}
