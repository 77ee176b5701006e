/* Accesses outside of shared arrays, also into the next array, and their correct twins. */

/* The halo needs 66 elements. */
__global__ void halo_too_small(const float *x, float *y)
{
    __shared__ float s[65];
    int t = threadIdx.x + 1;
    s[t] = x[t];
    if (threadIdx.x == 0) {
        s[0] = x[0];
        s[65] = x[65]; // BUG
    }
    __syncthreads();
    y[threadIdx.x] = s[t - 1] + s[t] + s[t + 1]; // BUG
}

__global__ void halo(const float *x, float *y)
{
    __shared__ float s[66];
    int t = threadIdx.x + 1;
    s[t] = x[t];
    if (threadIdx.x == 0) {
        s[0] = x[0];
        s[65] = x[65];
    }
    __syncthreads();
    y[threadIdx.x] = s[t - 1] + s[t] + s[t + 1];
}

/* The block has twice as many threads as the array has elements; behind it lies another one. */
__global__ void from_one_into_the_next(const int *x, int *y)
{
    __shared__ int first[64];
    __shared__ int second[64];
    first[threadIdx.x] = x[threadIdx.x]; // BUG
    __syncthreads();
    if (threadIdx.x < 64) {
        second[threadIdx.x] = 1;
        y[threadIdx.x] = first[threadIdx.x] + second[63 - threadIdx.x];
    }
}

__global__ void one_beside_the_next(const int *x, int *y)
{
    __shared__ int first[64];
    __shared__ int second[64];
    if (threadIdx.x < 64) {
        first[threadIdx.x] = x[threadIdx.x];
    } else {
        second[threadIdx.x - 64] = x[threadIdx.x];
    }
    __syncthreads();
    if (threadIdx.x < 64) {
        y[threadIdx.x] = first[threadIdx.x] + second[63 - threadIdx.x];
    }
}

/* The launch gives half of the memory that the kernel uses. */
__global__ void dynamic_too_small(const float *x, float *y)
{
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x]; // BUG
    __syncthreads();
    y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; // BUG
}

__global__ void dynamic(const float *x, float *y)
{
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

/* A tree that starts with the size of the block and not with half of it. */
__global__ void reduce_from_block_size(const float *x, float *sum)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int step = blockDim.x; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            float other = s[threadIdx.x + step]; // BUG
            s[threadIdx.x] += other;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *sum = s[0];
    }
}

/* The value, not its bin, is the index. */
__global__ void bins_by_value(const int *x, int *bins)
{
    __shared__ int local[32];
    if (threadIdx.x < 32) {
        local[threadIdx.x] = 0;
    }
    __syncthreads();
    atomicAdd(&local[x[threadIdx.x]], 1); // BUG
    __syncthreads();
    if (threadIdx.x < 32) {
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
    }
}

__global__ void bins_by_remainder(const int *x, int *bins)
{
    __shared__ int local[32];
    if (threadIdx.x < 32) {
        local[threadIdx.x] = 0;
    }
    __syncthreads();
    atomicAdd(&local[x[threadIdx.x] % 32], 1);
    __syncthreads();
    if (threadIdx.x < 32) {
        atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
    }
}

/* In the first column the neighbour on the left has a negative index. */
__global__ void left_of_the_tile(const float *in, float *out, int n)
{
    __shared__ float tile[256];
    int at = threadIdx.y * 16 + threadIdx.x;
    tile[at] = in[at];
    __syncthreads();
    out[at] = tile[at] - tile[at - 1]; // BUG
}

/* Rows and columns of a tile that is not square. */
__global__ void tile_indices_swapped(const float *in, float *out)
{
    __shared__ float tile[8][32];
    int t = threadIdx.y * 32 + threadIdx.x;
    if (threadIdx.y < 8) {
        tile[threadIdx.x][threadIdx.y] = in[t]; // BUG
    }
    __syncthreads();
    out[t] = tile[threadIdx.y][threadIdx.x]; // BUG
}

__global__ void tile_indices(const float *in, float *out)
{
    __shared__ float tile[8][33];
    int t = threadIdx.y * 32 + threadIdx.x;
    tile[threadIdx.y][threadIdx.x] = in[t];
    __syncthreads();
    out[t] = tile[7 - threadIdx.y][31 - threadIdx.x];
}
