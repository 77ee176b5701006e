// Atomic operations on shared memory.
__global__ void histogram(const unsigned char *in, unsigned *out, int n)
{
    __shared__ unsigned bins[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) {
        bins[b] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&bins[in[i]], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) {
        atomicAdd(&out[b], bins[b]);
    }
}

__global__ void many_kinds(const int *in, const double *values, double *out)
{
    __shared__ int least, most, bits, count;
    __shared__ unsigned long long total;
    __shared__ double sum;
    __shared__ float small;
    if (threadIdx.x == 0) {
        least = 1 << 30;
        most = -(1 << 30);
        bits = 0;
        count = 0;
        total = 0;
        sum = 0;
        small = 0;
    }
    __syncthreads();
    int v = in[threadIdx.x];
    atomicMin(&least, v);
    atomicMax(&most, v);
    atomicOr(&bits, 1 << (v & 15));
    atomicSub(&count, 2);
    atomicAdd(&total, (unsigned long long)(v + 1000));
    atomicAdd(&sum, values[threadIdx.x]);
    atomicAdd(&small, 0.5f);
    __syncthreads();
    if (threadIdx.x == 0) {
        out[0] = least;
        out[1] = most;
        out[2] = bits;
        out[3] = count;
        out[4] = (double)total;
        out[5] = sum;
        out[6] = small;
    }
}

__global__ void lock(int *out)
{
    __shared__ int taken, value;
    if (threadIdx.x == 0) {
        taken = 0;
        value = 0;
    }
    __syncthreads();
    for (bool done = false; !done;) {
        if (atomicCAS(&taken, 0, 1) == 0) {
            __threadfence_block();
            *(volatile int *)&value = *(volatile int *)&value + (int)threadIdx.x;
            __threadfence_block();
            atomicExch(&taken, 0);
            done = true;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        *out = value;
    }
}
