/* Reads of shared memory that nothing wrote, and their correct twins. */

__global__ void accumulate_from_nothing(const int *x, int *y)
{
    __shared__ int total;
    atomicAdd(&total, x[threadIdx.x]); // BUG
    __syncthreads();
    if (threadIdx.x == 0) {
        *y = total;
    }
}

__global__ void accumulate_from_zero(const int *x, int *y)
{
    __shared__ int total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    atomicAdd(&total, x[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        *y = total;
    }
}

/* Threads behind the end of the array store nothing, but all elements are added. */
__global__ void tail_not_filled(const float *x, float *sum, int n)
{
    __shared__ float s[64];
    if (threadIdx.x < n) {
        s[threadIdx.x] = x[threadIdx.x];
    }
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            s[threadIdx.x] += s[threadIdx.x + step]; // BUG
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *sum = s[0];
    }
}

__global__ void tail_filled(const float *x, float *sum, int n)
{
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0.0f;
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            s[threadIdx.x] += s[threadIdx.x + step];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *sum = s[0];
    }
}

/* The corners of a halo are forgotten. */
__global__ void corners_missing(const float *in, float *out)
{
    __shared__ float s[10][10];
    int col = threadIdx.x + 1, row = threadIdx.y + 1;
    s[row][col] = in[threadIdx.y * 8 + threadIdx.x];
    if (threadIdx.x == 0) {
        s[row][0] = 0.0f;
        s[row][9] = 0.0f;
    }
    if (threadIdx.y == 0) {
        s[0][col] = 0.0f;
        s[9][col] = 0.0f;
    }
    __syncthreads();
    out[threadIdx.y * 8 + threadIdx.x] = s[row - 1][col - 1] + s[row + 1][col + 1]; // BUG
}

__global__ void corners_not_needed(const float *in, float *out)
{
    __shared__ float s[10][10];
    int col = threadIdx.x + 1, row = threadIdx.y + 1;
    s[row][col] = in[threadIdx.y * 8 + threadIdx.x];
    if (threadIdx.x == 0) {
        s[row][0] = 0.0f;
        s[row][9] = 0.0f;
    }
    if (threadIdx.y == 0) {
        s[0][col] = 0.0f;
        s[9][col] = 0.0f;
    }
    __syncthreads();
    out[threadIdx.y * 8 + threadIdx.x] = s[row - 1][col] + s[row][col + 1];
}

/* "The previous block left it there": shared memory does not outlive a block. */
__global__ void left_by_previous_block(const int *x, int *y)
{
    __shared__ int carry[32];
    if (blockIdx.x == 0) {
        carry[threadIdx.x] = x[threadIdx.x];
    }
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = carry[threadIdx.x]; // BUG
}

__global__ void written_by_each_block(const int *x, int *y)
{
    __shared__ int carry[32];
    carry[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = carry[31 - threadIdx.x];
}

/* Dynamic shared memory is not zero at the start. */
__global__ void dynamic_counted(const int *x, int *y)
{
    extern __shared__ int bins[];
    bins[threadIdx.x] += x[threadIdx.x]; // BUG
    __syncthreads();
    y[threadIdx.x] = bins[blockDim.x - 1 - threadIdx.x];
}

__global__ void dynamic_cleared(const int *x, int *y)
{
    extern __shared__ int bins[];
    bins[threadIdx.x] = 0;
    bins[threadIdx.x] += x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = bins[blockDim.x - 1 - threadIdx.x];
}

/* Only three of the four floats of each vector are written. */
__global__ void vector_partly_written(const float *x, float *y)
{
    __shared__ float4 points[64];
    points[threadIdx.x].x = x[threadIdx.x];
    points[threadIdx.x].y = x[threadIdx.x] + 1.0f;
    points[threadIdx.x].z = x[threadIdx.x] + 2.0f;
    __syncthreads();
    float4 p = points[63 - threadIdx.x];    // BUG
    y[threadIdx.x] = p.x + p.y + p.z + p.w; // BUG
}

__global__ void vector_written(const float *x, float *y)
{
    __shared__ float4 points[64];
    points[threadIdx.x] = make_float4(x[threadIdx.x], 1.0f, 2.0f, 3.0f);
    __syncthreads();
    float4 p = points[63 - threadIdx.x];
    y[threadIdx.x] = p.x + p.y + p.z + p.w;
}

/* Two steps fill the even and the odd elements, and the second one is left out. */
__global__ void odd_elements_missing(const int *x, int *y)
{
    __shared__ int s[128];
    s[2 * threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x + 1]; // BUG
}

/* A flag is written only if something was found. */
__global__ void flag_only_if_found(const int *x, int *y, int key)
{
    __shared__ int found;
    if (threadIdx.x == 0 && x[0] == key) {
        found = 1;
    }
    __syncthreads();
    y[threadIdx.x] = found; // BUG
}

/* A structure of 16 bytes has padding, which nobody writes. */
struct weighted {
    double value;
    int key;
};

__global__ void padding_not_written(const int *x, int *y)
{
    __shared__ weighted items[64];
    items[threadIdx.x].value = 0.5 * x[threadIdx.x];
    items[threadIdx.x].key = x[threadIdx.x];
    __syncthreads();
    weighted mine = items[63 - threadIdx.x];
    y[threadIdx.x] = mine.key + (int)mine.value;
}

/* The second half of each vector is written too late. */
__global__ void pairs_half_written(const float *x, float *y)
{
    __shared__ double2 pairs[64];
    pairs[threadIdx.x].x = x[threadIdx.x];
    __syncthreads();
    double2 p = pairs[63 - threadIdx.x]; // BUG
    __syncthreads();
    pairs[threadIdx.x].y = p.x;
    y[threadIdx.x] = p.x + p.y;
}
