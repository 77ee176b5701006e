/* Blocks, warps, locks and the heap: correct, or with a slip. */

__global__ void reduce_shared_past_wrong(const float *x, float *y)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        s[t] += s[t + d]; // BUG
        __syncthreads();
    }
    y[0] = s[0];
}

__global__ void return_in_loop_barrier_wrong(const int *x, int *y)
{
    __shared__ int s[64];
    for (int i = 0; i < 4; i++) {
        s[threadIdx.x] = x[threadIdx.x + i];
        __syncthreads();
        if (s[0] > 1000 || threadIdx.x == 7)
            return;
        __syncthreads(); // BUG
    }
    y[threadIdx.x] = s[0];
}

__global__ void shfl_width_three_wrong(const int *x, int *y)
{
    y[threadIdx.x] = __shfl_sync(~0u, x[threadIdx.x], 0, 3); // BUG
}

__global__ void match_diverged_wrong(const int *x, int *y)
{
    if (x[threadIdx.x] > 50)
        y[threadIdx.x] = __match_any_sync(~0u, x[threadIdx.x]); // BUG
}

__global__ void off_by_warp_wrong(const int *x, int *y)
{
    __shared__ int s[2];
    int w = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0)
        s[w + 1] = x[threadIdx.x]; // BUG
    __syncthreads();
    y[threadIdx.x] = s[w];
}

__global__ void queue_overflow_wrong(const int *x, int *q, int *n)
{
    int at = atomicAdd(n, 1);
    q[at * 8] = x[threadIdx.x]; // BUG
}

__global__ void double_free_shared_wrong(int *y)
{
    __shared__ int *p;
    if (threadIdx.x == 0) {
        p = new int[64];
    }
    __syncthreads();
    p[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = p[63 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        delete[] p; // BUG
}

__global__ void free_barrier_right(int *y)
{
    __shared__ int *p;
    if (threadIdx.x == 0) {
        p = new int[64];
    }
    __syncthreads();
    p[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = p[63 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0)
        delete[] p;
}

__global__ void cas_loop_plain_wrong(float *m, const float *x)
{
    float old = *m; // BUG
    while (x[threadIdx.x] > old) {
        *m = x[threadIdx.x]; // BUG
        old = *m;
    }
}

__global__ void cas_loop_right(int *m, const int *x)
{
    int old = atomicAdd(m, 0), v = x[threadIdx.x];
    while (v > old) {
        int seen = atomicCAS(m, old, v);
        if (seen == old)
            break;
        old = seen;
    }
}

__global__ void endless_cas_wrong(int *m)
{
    while (atomicCAS(m, 1, 2) != 1) { // BUG
    }
}

__global__ void bits_of_word_right(const int *x, unsigned *y)
{
    if (x[threadIdx.x] > 50)
        atomicOr(&y[threadIdx.x / 32], 1u << threadIdx.x % 32);
}

__global__ void bits_of_word_wrong(const int *x, unsigned *y)
{
    if (x[threadIdx.x] > 50)
        y[threadIdx.x / 32] |= 1u << threadIdx.x % 32; // BUG
}

__global__ void idle_lanes_right(const int *x, int *y, int n)
{
    int t = threadIdx.x;
    int v = t < n ? x[t] : 0;
    for (int d = 16; d; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    if (t % 32 == 0)
        y[t / 32] = v;
}
