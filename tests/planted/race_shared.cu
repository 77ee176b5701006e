/* Races on shared memory between the warps of a block, and their correct twins. */

#define TILE 16

__global__ void reverse_no_barrier(const int *x, int *y)
{
    __shared__ int s[128];
    s[threadIdx.x] = x[threadIdx.x];       // BUG
    y[threadIdx.x] = s[127 - threadIdx.x]; // BUG
}

__global__ void reverse(const int *x, int *y)
{
    __shared__ int s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[127 - threadIdx.x];
}

/* The next tile is loaded while slow warps still multiply the last one. */
__global__ void matmul_one_barrier(const float *a, const float *b, float *c, int n)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];    // BUG
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col]; // BUG
        __syncthreads();
        for (int i = 0; i < TILE; i++) {
            sum += left[threadIdx.y][i] * right[i][threadIdx.x]; // BUG
        }
    }
    c[row * n + col] = sum;
}

__global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < TILE; i++) {
            sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        }
        __syncthreads();
    }
    c[row * n + col] = sum;
}

__global__ void reduce_no_barrier(const float *x, float *sum)
{
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            s[threadIdx.x] += s[threadIdx.x + step]; // BUG
        }
    }
    if (threadIdx.x == 0) {
        *sum = s[0];
    }
}

/* __syncwarp orders 32 threads, and the first steps of the tree join several warps. */
__global__ void reduce_warp_barrier(const float *x, float *sum)
{
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            s[threadIdx.x] += s[threadIdx.x + step]; // BUG
        }
        __syncwarp();
    }
    if (threadIdx.x == 0) {
        *sum = s[0];
    }
}

__global__ void reduce(const float *x, float *sum)
{
    __shared__ float s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            s[threadIdx.x] += s[threadIdx.x + step];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *sum = s[0];
    }
}

__global__ void transpose_no_barrier(const float *in, float *out, int n)
{
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[row * n + col]; // BUG
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    out[row * n + col] = tile[threadIdx.x][threadIdx.y]; // BUG
}

__global__ void transpose(const float *in, float *out, int n)
{
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[row * n + col];
    __syncthreads();
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    out[row * n + col] = tile[threadIdx.x][threadIdx.y];
}

__global__ void histogram_no_atomic(const int *x, int *bins, int n)
{
    __shared__ int local[32];
    if (threadIdx.x < 32) {
        local[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        local[x[i] % 32]++; // BUG
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
    }
}

/* Other warps count before the first one has set the bins to zero. */
__global__ void histogram_no_barrier_after_zero(const int *x, int *bins, int n)
{
    __shared__ int local[32];
    if (threadIdx.x < 32) {
        local[threadIdx.x] = 0; // BUG
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        atomicAdd(&local[x[i] % 32], 1); // BUG
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
    }
}

/* The first warp hands in its bins while the others count. */
__global__ void histogram_no_barrier_before_output(const int *x, int *bins, int n)
{
    __shared__ int local[32];
    if (threadIdx.x < 32) {
        local[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        atomicAdd(&local[x[i] % 32], 1); // BUG
    }
    if (threadIdx.x < 32) {
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]); // BUG
    }
}

__global__ void histogram_privatised(const int *x, int *bins, int n)
{
    __shared__ int local[32];
    if (threadIdx.x < 32) {
        local[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        atomicAdd(&local[x[i] % 32], 1);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
    }
}

__global__ void pivot_no_barrier(float *a, int n)
{
    __shared__ float pivot;
    if (threadIdx.x == 0) {
        pivot = a[0]; // BUG
    }
    a[n + threadIdx.x] /= pivot; // BUG
}

__global__ void pivot_with_barrier(float *a, int n)
{
    __shared__ float pivot;
    if (threadIdx.x == 0) {
        pivot = a[0];
    }
    __syncthreads();
    a[n + threadIdx.x] /= pivot;
}

/* Two buffers, but both stages use the same one: the index is never flipped. */
__global__ void two_buffers_one_used(const float *x, float *y, int rounds)
{
    __shared__ float buffer[2][128];
    int current = 0;
    float sum = 0.0f;
    for (int round = 0; round < rounds; round++) {
        buffer[current][threadIdx.x] = x[round * 128 + threadIdx.x]; // BUG
        __syncthreads();
        sum += buffer[current][127 - threadIdx.x]; // BUG
    }
    y[threadIdx.x] = sum;
}

__global__ void two_buffers(const float *x, float *y, int rounds)
{
    __shared__ float buffer[2][128];
    int current = 0;
    float sum = 0.0f;
    for (int round = 0; round < rounds; round++) {
        buffer[current][threadIdx.x] = x[round * 128 + threadIdx.x];
        __syncthreads();
        sum += buffer[current][127 - threadIdx.x];
        current ^= 1;
    }
    y[threadIdx.x] = sum;
}

/* The scan adds to the array from which other warps read in the same step. */
__global__ void scan_one_buffer(const int *x, int *y)
{
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        if (t >= step) {
            s[t] += s[t - step]; // BUG
        }
        __syncthreads();
    }
    y[t] = s[t];
}

__global__ void scan_two_buffers(const int *x, int *y)
{
    __shared__ int s[2][128];
    int t = threadIdx.x, now = 0;
    s[now][t] = x[t];
    __syncthreads();
    for (int step = 1; step < 128; step *= 2) {
        s[1 - now][t] = s[now][t] + (t >= step ? s[now][t - step] : 0);
        now = 1 - now;
        __syncthreads();
    }
    y[t] = s[now][t];
}

__global__ void found_by_all(const int *x, int *y, int key)
{
    __shared__ int found;
    found = 0; // BUG
    __syncthreads();
    if (x[threadIdx.x] >= key) {
        found = 1; // BUG
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        *y = found;
    }
}

__global__ void found_by_atomic(const int *x, int *y, int key)
{
    __shared__ int found;
    if (threadIdx.x == 0) {
        found = 0;
    }
    __syncthreads();
    if (x[threadIdx.x] >= key) {
        atomicOr(&found, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        *y = found;
    }
}

__device__ float sum_warp(float value)
{
    for (int step = 16; step > 0; step /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, step);
    }
    return value;
}

/* The sums of the second row overwrite those of the first, which slow warps still read. */
__global__ void two_sums_one_scratch(const float *x, float *y)
{
    __shared__ float sums[4];
    float result = 0.0f;
    for (int row = 0; row < 2; row++) {
        float mine = sum_warp(x[row * 128 + threadIdx.x]);
        if (threadIdx.x % 32 == 0) {
            sums[threadIdx.x / 32] = mine; // BUG
        }
        __syncthreads();
        result += sums[0] + sums[1] + sums[2] + sums[3]; // BUG
    }
    y[threadIdx.x] = result;
}

__global__ void two_sums_barriers(const float *x, float *y)
{
    __shared__ float sums[4];
    float result = 0.0f;
    for (int row = 0; row < 2; row++) {
        float mine = sum_warp(x[row * 128 + threadIdx.x]);
        if (threadIdx.x % 32 == 0) {
            sums[threadIdx.x / 32] = mine;
        }
        __syncthreads();
        result += sums[0] + sums[1] + sums[2] + sums[3];
        __syncthreads();
    }
    y[threadIdx.x] = result;
}

/* The halo is loaded by two threads of other warps, after the barrier. */
__global__ void stencil_late_halo(const float *x, float *y, int n)
{
    __shared__ float s[130];
    int t = threadIdx.x + 1;
    s[t] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 64) {
        s[0] = 0.0f;   // BUG
        s[129] = 0.0f; // BUG
    }
    y[threadIdx.x] = s[t - 1] - 2.0f * s[t] + s[t + 1]; // BUG
}

__global__ void stencil_halo(const float *x, float *y, int n)
{
    __shared__ float s[130];
    int t = threadIdx.x + 1;
    s[t] = x[threadIdx.x];
    if (threadIdx.x == 64) {
        s[0] = 0.0f;
        s[129] = 0.0f;
    }
    __syncthreads();
    y[threadIdx.x] = s[t - 1] - 2.0f * s[t] + s[t + 1];
}

/* "One warp needs no barrier", but the block has two. */
__global__ void barrier_for_large_blocks(const int *x, int *y)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x]; // BUG
    if (blockDim.x > 64) {
        __syncthreads();
    }
    y[threadIdx.x] = s[63 - threadIdx.x]; // BUG
}

/* The second array begins after 64 bytes, not after 64 numbers. */
__global__ void carved_by_bytes(const float *x, float *y)
{
    extern __shared__ unsigned char pool[];
    float *first = reinterpret_cast<float *>(pool);
    float *second = reinterpret_cast<float *>(pool + 64);
    if (threadIdx.x < 64) {
        first[threadIdx.x] = x[threadIdx.x]; // BUG
    } else {
        second[threadIdx.x - 64] = x[threadIdx.x]; // BUG
    }
    __syncthreads();
    if (threadIdx.x < 64) {
        y[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
    }
}

__global__ void carved_by_elements(const float *x, float *y)
{
    extern __shared__ unsigned char pool[];
    float *first = reinterpret_cast<float *>(pool);
    float *second = reinterpret_cast<float *>(pool + 64 * sizeof(float));
    if (threadIdx.x < 64) {
        first[threadIdx.x] = x[threadIdx.x];
    } else {
        second[threadIdx.x - 64] = x[threadIdx.x];
    }
    __syncthreads();
    if (threadIdx.x < 64) {
        y[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
    }
}

/* Thread 0 resets the total for the next round while others read it. */
__global__ void total_reset_early(const int *x, int *y, int rounds)
{
    __shared__ int total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    for (int round = 0; round < rounds; round++) {
        atomicAdd(&total, x[round * 128 + threadIdx.x]);
        __syncthreads();
        y[round * 128 + threadIdx.x] = total; // BUG
        if (threadIdx.x == 0) {
            total = 0; // BUG
        }
        __syncthreads();
    }
}

/* Each warp has a row of its own, and lanes that have nothing to do leave early. */
__global__ void rows_of_warps(const int *x, int *y, int n)
{
    __shared__ int rows[4][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    rows[warp][lane] = x[threadIdx.x];
    __syncwarp();
    if (threadIdx.x >= n) {
        return;
    }
    y[threadIdx.x] = rows[warp][31 - lane];
}
