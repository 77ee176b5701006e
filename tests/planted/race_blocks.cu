/* Races on global memory between blocks, and kernels in which blocks share memory correctly. */

__device__ float sum_of_block(const float *x, int n)
{
    __shared__ float partial[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            partial[threadIdx.x] += partial[threadIdx.x + step];
        }
        __syncthreads();
    }
    return partial[0];
}

/* Every block adds its sum without an atomic operation. */
__global__ void sum_plain(const float *x, float *sum, int n)
{
    float mine = sum_of_block(x, n);
    if (threadIdx.x == 0) {
        *sum += mine; // BUG
    }
}

__global__ void sum_atomic(const float *x, float *sum, int n)
{
    float mine = sum_of_block(x, n);
    if (threadIdx.x == 0) {
        atomicAdd(sum, mine);
    }
}

__global__ void sum_per_block(const float *x, float *sums, int n)
{
    float mine = sum_of_block(x, n);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = mine;
    }
}

/* Two blocks may both see the old maximum. */
__global__ void maximum_plain(const float *x, float *best, int n)
{
    float mine = sum_of_block(x, n);
    if (threadIdx.x == 0) {
        if (mine > *best) { // BUG
            *best = mine;   // BUG
        }
    }
}

__global__ void maximum_atomic(const int *x, int *best, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicMax(best, x[i]);
    }
}

/* A halo is read from elements that the neighbouring block overwrites. */
__global__ void smooth_in_place(float *x, int n)
{
    __shared__ float tile[66];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t = threadIdx.x + 1;
    tile[t] = i < n ? x[i] : 0.0f; // BUG
    if (threadIdx.x == 0) {
        tile[0] = i > 0 ? x[i - 1] : 0.0f; // BUG
    }
    if (threadIdx.x == blockDim.x - 1) {
        tile[t + 1] = i + 1 < n ? x[i + 1] : 0.0f; // BUG
    }
    __syncthreads();
    if (i < n) {
        x[i] = (tile[t - 1] + tile[t] + tile[t + 1]) / 3.0f; // BUG
    }
}

__global__ void smooth_out_of_place(const float *x, float *y, int n)
{
    __shared__ float tile[66];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t = threadIdx.x + 1;
    tile[t] = i < n ? x[i] : 0.0f;
    if (threadIdx.x == 0) {
        tile[0] = i > 0 ? x[i - 1] : 0.0f;
    }
    if (threadIdx.x == blockDim.x - 1) {
        tile[t + 1] = i + 1 < n ? x[i + 1] : 0.0f;
    }
    __syncthreads();
    if (i < n) {
        y[i] = (tile[t - 1] + tile[t] + tile[t + 1]) / 3.0f;
    }
}

/* Blocks (i, j) and (j, i) both swap the same pair of elements. */
__global__ void transpose_all_pairs(float *a, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && col < n && row != col) {
        float upper = a[row * n + col]; // BUG
        float lower = a[col * n + row]; // BUG
        a[row * n + col] = lower;       // BUG
        a[col * n + row] = upper;       // BUG
    }
}

__global__ void transpose_upper_pairs(float *a, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < col && col < n) {
        float upper = a[row * n + col];
        float lower = a[col * n + row];
        a[row * n + col] = lower;
        a[col * n + row] = upper;
    }
}

/* The last element of a chunk is the first of the next block's: "<=" instead of "<". */
__global__ void scale_chunks_inclusive(float *x, float factor, int chunk, int n)
{
    int begin = blockIdx.x * chunk;
    int end = min(begin + chunk, n - 1);
    for (int i = begin + threadIdx.x; i <= end; i += blockDim.x) {
        x[i] *= factor; // BUG
    }
}

__global__ void scale_chunks(float *x, float factor, int chunk, int n)
{
    int begin = blockIdx.x * chunk;
    int end = min(begin + chunk, n);
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {
        x[i] *= factor;
    }
}

/* The sum of the previous block may not be there yet. */
__global__ void offset_by_previous_block(const float *x, float *sums, float *y, int n)
{
    float mine = sum_of_block(x, n);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = mine; // BUG
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float before = blockIdx.x > 0 ? sums[blockIdx.x - 1] : 0.0f; // BUG
    if (i < n) {
        y[i] = x[i] + before;
    }
}

/* The second launch of two reads what the first wrote: nothing runs beside it. */
__global__ void offset_by_given_sums(const float *x, const float *sums, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float before = blockIdx.x > 0 ? sums[blockIdx.x - 1] : 0.0f;
    if (i < n) {
        y[i] = x[i] + before;
    }
}

/* All threads write the same value: a race all the same. */
__global__ void mark_neighbours(const int *edges, int *visited, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        visited[edges[i]] = 1; // BUG
    }
}

__global__ void mark_neighbours_atomic(const int *edges, int *visited, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicExch(&visited[edges[i]], 1);
    }
}

/* Check, then set: two vertices can both find a neighbour unvisited. */
__global__ void bfs_level(const int *edges, int *level, int depth, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && level[edges[i]] < 0) { // BUG
        level[edges[i]] = depth;        // BUG
    }
}

__global__ void bfs_level_cas(const int *edges, int *level, int depth, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicCAS(&level[edges[i]], -1, depth);
    }
}

/* The tail of a queue is read and then written. */
__global__ void push_plain(const int *x, int *queue, int *tail, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && threadIdx.x == 0) {
        int at = *tail; // BUG
        *tail = at + 1; // BUG
        queue[blockIdx.x] = x[i] + at;
    }
}

__global__ void push_atomic(const int *x, int *queue, int *tail, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 10) {
        queue[atomicAdd(tail, 1)] = x[i];
    }
}

/* Gauss-Seidel by accident: one array for the old and the new values. */
__global__ void jacobi_one_array(float *a, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row > 0 && row < n - 1 && col > 0 && col < n - 1) {
        float above = a[(row - 1) * n + col];                      // BUG
        float below = a[(row + 1) * n + col];                      // BUG
        float left = a[row * n + col - 1];                         // BUG
        float right = a[row * n + col + 1];                        // BUG
        a[row * n + col] = 0.25f * (above + below + left + right); // BUG
    }
}

__global__ void jacobi_two_arrays(const float *a, float *b, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row > 0 && row < n - 1 && col > 0 && col < n - 1) {
        b[row * n + col] = 0.25f * (a[(row - 1) * n + col] + a[(row + 1) * n + col] +
                                    a[row * n + col - 1] + a[row * n + col + 1]);
    }
}

/* The stride of the loop leaves out gridDim.x: all blocks run over the same elements. */
__global__ void halve_block_stride(float *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x) {
        x[i] *= 0.5f; // BUG
    }
}

__global__ void halve_grid_stride(float *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        x[i] *= 0.5f;
    }
}

/* Two blocks share each row of the matrix, and both add to the row's result. */
__global__ void matvec_split_rows(const float *a, const float *x, float *y, int cols)
{
    int row = blockIdx.x / 2;
    int begin = blockIdx.x % 2 * cols / 2;
    float sum = 0.0f;
    if (threadIdx.x == 0) {
        for (int col = begin; col < begin + cols / 2; col++) {
            sum += a[row * cols + col] * x[col];
        }
        y[row] += sum; // BUG
    }
}

__global__ void matvec_split_rows_atomic(const float *a, const float *x, float *y, int cols)
{
    int row = blockIdx.x / 2;
    int begin = blockIdx.x % 2 * cols / 2;
    float sum = 0.0f;
    if (threadIdx.x == 0) {
        for (int col = begin; col < begin + cols / 2; col++) {
            sum += a[row * cols + col] * x[col];
        }
        atomicAdd(&y[row], sum);
    }
}

/* Block 0 resets the counter that the other blocks already increment. */
__global__ void count_and_reset(const int *x, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) {
        *count = 0; // BUG
    }
    __syncthreads();
    if (i < n && x[i] % 2 == 0) {
        atomicAdd(count, 1); // BUG
    }
}

/* Elements 2i + 1 and 2i + 2 cross blocks; the next phase starts after a block's barrier only. */
__global__ void odd_even_phases(int *x, int n)
{
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int phase = 0; phase < 2; phase++) {
        int at = i + phase;
        if (at + 1 < n && x[at] > x[at + 1]) { // BUG
            int higher = x[at];                // BUG
            x[at] = x[at + 1];                 // BUG
            x[at + 1] = higher;                // BUG
        }
        __syncthreads();
    }
}

__global__ void odd_even_one_phase(int *x, int phase, int n)
{
    int at = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + phase;
    if (at + 1 < n && x[at] > x[at + 1]) {
        int higher = x[at];
        x[at] = x[at + 1];
        x[at + 1] = higher;
    }
}

/* More threads than slots: the index wraps around. */
__global__ void store_wrapped(const float *x, float *slots, int used)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    slots[i % used] = x[i]; // BUG
}

/* The index leaves out blockIdx.x, so every block writes the first elements. */
__global__ void copy_without_block_index(const float *x, float *y)
{
    int i = threadIdx.x;
    y[i] = x[i] + blockIdx.x; // BUG
}

/* All blocks read the same elements, which nobody writes. */
__global__ void multiply_by_shared_row(const float *row, const float *x, float *y, int cols)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] * row[i % cols] + row[0];
}
