/* Accesses outside of global arrays, and their correct twins. */

__global__ void scale_no_test(float *x, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= factor; // BUG
}

__global__ void scale_inclusive(float *x, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) {
        x[i] *= factor; // BUG
    }
}

__global__ void scale(float *x, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= factor;
    }
}

/* Thread 0 reads the element before the first. */
__global__ void difference_from_left(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] - x[i - 1]; // BUG
    }
}

__global__ void difference(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n) {
        y[i] = x[i] - x[i - 1];
    }
}

/* Of a matrix with rows of 40 numbers, the transposed index uses the wrong length of a row. */
__global__ void transpose_wrong_stride(const float *in, float *out, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) {
        out[col * cols + row] = in[row * cols + col]; // BUG
    }
}

__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) {
        out[col * rows + row] = in[row * cols + col];
    }
}

/* Rows and columns are mixed up in the test. */
__global__ void fill_test_swapped(float *a, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < cols && col < rows) {
        a[row * cols + col] = 1.0f; // BUG
    }
}

__global__ void fill(float *a, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) {
        a[row * cols + col] = 1.0f;
    }
}

/* 50000 * 50000 does not fit into an int. */
__global__ void index_overflows(float *x, int pitch, int n)
{
    int row = pitch - 1 - threadIdx.x;
    int index = row * pitch;
    x[index % n] = 1.0f; // BUG
}

__global__ void index_in_64_bits(float *x, int pitch, int n)
{
    int row = pitch - 1 - threadIdx.x;
    long long index = (long long)row * pitch;
    x[index % n] = 1.0f;
}

/* A negative value is used as a bin. */
__global__ void histogram_of_signed(const int *x, int *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[(x[i] - 50) % 16], 1); // BUG
    }
}

__global__ void histogram_of_masked(const int *x, int *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[(x[i] - 50) & 15], 1);
    }
}

/* The inputs were meant to be one array of 2 * n numbers. */
__global__ void index_into_next_array(const float *a, float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        b[i] = a[i + n]; // BUG
    }
}

/* The second half of 2^18 numbers begins at byte 2^19, which is not its index. */
__global__ void second_half_by_bytes(const float *a, float *b, int bytes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = a[bytes / 2 + i]; // BUG
}

__global__ void second_half_by_elements(const float *a, float *b, int bytes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = a[bytes / 2 / sizeof(float) + i];
}

/* Rows lie pitch bytes apart, but the pitch is counted in elements. */
__global__ void pitch_in_elements(float *a, int pitch, int width, int height)
{
    int col = threadIdx.x, row = blockIdx.x;
    if (col < width && row < height) {
        a[row * pitch + col] += 1.0f; // BUG
    }
}

__global__ void pitch_in_bytes(float *a, int pitch, int width, int height)
{
    int col = threadIdx.x, row = blockIdx.x;
    if (col < width && row < height) {
        float *line = reinterpret_cast<float *>(reinterpret_cast<char *>(a) + row * pitch);
        line[col] += 1.0f;
    }
}

/* The halo of the last row is read from behind the matrix. */
__global__ void blur_no_clamp(const float *in, float *out, int n)
{
    int col = threadIdx.x, row = threadIdx.y;
    out[row * n + col] = (in[row * n + col] + in[(row + 1) * n + col]) / 2.0f; // BUG
}

__global__ void blur_clamped(const float *in, float *out, int n)
{
    int col = threadIdx.x, row = threadIdx.y;
    out[row * n + col] = (in[row * n + col] + in[min(row + 1, n - 1) * n + col]) / 2.0f;
}

/* n is no multiple of 4: the last vector sticks out. */
__global__ void copy_vectors_rounded_up(const float4 *x, float4 *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (n + 3) / 4) {
        y[i] = x[i]; // BUG
    }
}

__global__ void copy_vectors_with_tail(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        reinterpret_cast<float4 *>(y)[i] = reinterpret_cast<const float4 *>(x)[i];
    }
    if (i < n % 4) {
        y[n / 4 * 4 + i] = x[n / 4 * 4 + i];
    }
}

/* n is the number of bytes. */
__global__ void zero_bytes_as_words(int *x, int bytes)
{
    for (int i = threadIdx.x; i < bytes; i += blockDim.x) {
        x[i] = 0; // BUG
    }
}

__global__ void zero_words(int *x, int bytes)
{
    for (int i = threadIdx.x; i < bytes / (int)sizeof(int); i += blockDim.x) {
        x[i] = 0;
    }
}

/* -1 marks "no neighbour", and one place forgets that. */
__global__ void gather_no_neighbour(const int *neighbour, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[neighbour[i] - 1]; // BUG
    }
}

__global__ void gather(const int *neighbour, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int from = neighbour[i] - 1;
        y[i] = from >= 0 ? x[from] : 0.0f;
    }
}

/* A loop with an unsigned counter runs past zero. */
__global__ void countdown_unsigned(float *x, int n)
{
    unsigned steps = 0;
    for (unsigned i = n - 1; steps <= n; i--, steps++) {
        x[i] = steps; // BUG
    }
}

__global__ void countdown(float *x, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        x[i] = i;
    }
}

/* A pointer that the host never set. */
__global__ void null_output(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i]; // BUG
    }
}

__global__ void null_output_optional(const float *x, float *y, float *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        z[i] = x[i];
        if (y != nullptr) {
            y[i] = x[i];
        }
    }
}

/* Column indices of a sparse matrix in which row_start has rows entries, not rows + 1. */
__global__ void spmv_row_end(const int *row_start, const int *col, const float *value,
                             const float *x, float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        int end = row_start[row + 1]; // BUG
        for (int at = row_start[row]; at < end; at++) {
            sum += value[at] * x[col[at]]; // BUG
        }
        y[row] = sum;
    }
}

/* An atomic operation far behind the array. */
__global__ void atomic_behind(unsigned *bins, const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[16 + x[i] / 10], 1u); // BUG
    }
}
