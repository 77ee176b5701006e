/* Accesses outside of __constant__ and __device__ arrays, and their correct twins. */

__constant__ float filter[9];
__constant__ int offsets[4] = {-1, 0, 1, 2};
__device__ int lookup[32];
__device__ int lookup_next[32];
__device__ float state[8][8];

/* A filter of radius 4 has nine taps, but the loop counts ten. */
__global__ void convolve_ten_taps(const float *x, float *y, int radius)
{
    float sum = 0.0f;
    for (int tap = 0; tap <= 2 * radius + 1; tap++) {
        sum += x[threadIdx.x + tap] * filter[tap]; // BUG
    }
    y[threadIdx.x] = sum;
}

__global__ void convolve(const float *x, float *y, int radius)
{
    float sum = 0.0f;
    for (int tap = 0; tap < 2 * radius + 1; tap++) {
        sum += x[threadIdx.x + tap] * filter[tap];
    }
    y[threadIdx.x] = sum;
}

__global__ void offset_by_thread(int *y)
{
    y[threadIdx.x] = offsets[threadIdx.x]; // BUG
}

__global__ void offset_by_remainder(int *y)
{
    y[threadIdx.x] = offsets[threadIdx.x & 3];
}

/* The next variable lies right behind the table. */
__global__ void lookup_into_next(const int *x, int *y)
{
    y[threadIdx.x] = lookup[x[threadIdx.x]] + lookup_next[0]; // BUG
}

__global__ void lookup_clamped(const int *x, int *y)
{
    y[threadIdx.x] = lookup[min(x[threadIdx.x], 31)] + lookup_next[0];
}

/* Row -1 of a two-dimensional variable. */
__global__ void state_above(float *y)
{
    int row = threadIdx.x / 8, col = threadIdx.x % 8;
    y[threadIdx.x] = state[row][col] - state[row - 1][col]; // BUG
}

__global__ void state_written(float *y)
{
    int row = threadIdx.x / 8, col = threadIdx.x % 8;
    state[row][col] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = state[row][col] - (row > 0 ? state[row - 1][col] : 0.0f);
}

/* A store behind a variable. */
__global__ void lookup_stored_behind(const int *x)
{
    lookup[x[threadIdx.x] + threadIdx.x] = 1; // BUG
}
