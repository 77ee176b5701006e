/* Races on global memory between the warps of one block, and their correct twins. */

/* A reversal in place: element n - 1 - i may be overwritten before it is read. */
__global__ void reverse_in_place(float *x, int n)
{
    int i = threadIdx.x;
    float other = x[n - 1 - i]; // BUG
    x[i] = other;               // BUG
}

__global__ void reverse_in_place_barrier(float *x, int n)
{
    int i = threadIdx.x;
    float other = x[n - 1 - i];
    __syncthreads();
    x[i] = other;
}

__global__ void reverse_by_swaps(float *x, int n)
{
    int i = threadIdx.x;
    if (i < n / 2) {
        float low = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = low;
    }
}

/* A shift by one in place. */
__global__ void shift_left(int *x, int n)
{
    int i = threadIdx.x;
    if (i < n - 1) {
        x[i] = x[i + 1]; // BUG
    }
}

__global__ void shift_left_barrier(int *x, int n)
{
    int i = threadIdx.x;
    int next = i < n - 1 ? x[i + 1] : 0;
    __syncthreads();
    if (i < n - 1) {
        x[i] = next;
    }
}

/* Hillis and Steele's scan in global memory without a barrier between its steps. */
__global__ void scan_without_barriers(int *x, int n)
{
    int i = threadIdx.x;
    for (int step = 1; step < n; step *= 2) {
        int left = i >= step ? x[i - step] : 0; // BUG
        x[i] += left;                           // BUG
    }
}

/* One barrier per step is missing: reads may see values of this step. */
__global__ void scan_with_half_the_barriers(int *x, int n)
{
    int i = threadIdx.x;
    for (int step = 1; step < n; step *= 2) {
        int left = i >= step ? x[i - step] : 0; // BUG
        x[i] += left;                           // BUG
        __syncthreads();
    }
}

__global__ void scan_with_barriers(int *x, int n)
{
    int i = threadIdx.x;
    for (int step = 1; step < n; step *= 2) {
        int left = i >= step ? x[i - step] : 0;
        __syncthreads();
        x[i] += left;
        __syncthreads();
    }
}

/* A tree reduction in global memory whose barrier is only behind the loop. */
__global__ void reduce_without_barrier(float *x, int n)
{
    for (int step = n / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            x[threadIdx.x] += x[threadIdx.x + step]; // BUG
        }
    }
    __syncthreads();
}

__global__ void reduce_with_barrier(float *x, int n)
{
    for (int step = n / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            x[threadIdx.x] += x[threadIdx.x + step];
        }
        __syncthreads();
    }
}

/* Bins in global memory, counted without atomic operations. */
__global__ void histogram_plain(const int *x, int *bins, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        bins[x[i] & 15]++; // BUG
    }
}

__global__ void histogram_atomic(const int *x, int *bins, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        atomicAdd(&bins[x[i] & 15], 1);
    }
}

/* One thread writes the number that all read, with no barrier between. */
__global__ void broadcast_without_barrier(const float *x, float *mean, float *y, int n)
{
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++) {
            sum += x[i];
        }
        *mean = sum / n; // BUG
    }
    y[threadIdx.x] = x[threadIdx.x] - *mean; // BUG
}

__global__ void broadcast_with_barrier(const float *x, float *mean, float *y, int n)
{
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++) {
            sum += x[i];
        }
        *mean = sum / n;
    }
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x] - *mean;
}

/* A fence is no barrier: nobody waits for the write. */
__global__ void broadcast_with_fence(const float *x, float *first, float *y)
{
    if (threadIdx.x == 0) {
        *first = x[0]; // BUG
    }
    __threadfence_block();
    y[threadIdx.x] = x[threadIdx.x] - *first; // BUG
}

/* Every thread stores the same constant to one place. */
__global__ void any_negative(const float *x, int *found, int n)
{
    int i = threadIdx.x;
    if (i < n && x[i] < 2.0f) {
        *found = 1; // BUG
    }
}

__global__ void any_negative_reduced(const float *x, int *found, int n)
{
    int i = threadIdx.x;
    int any = __syncthreads_or(i < n && x[i] < 2.0f);
    if (i == 0) {
        *found = any;
    }
}

/* The index divides threadIdx.x, so neighbours in different warps write one element. */
__global__ void pairs_to_one_element(const float *x, float *y)
{
    y[threadIdx.x % 32] = x[threadIdx.x]; // BUG
}

/* A row of a matrix is normalised in place while another warp still adds it up. */
__global__ void normalise_rows(float *a, int cols)
{
    float sum = 0.0f;
    for (int col = 0; col < cols; col++) {
        sum += a[col]; // BUG
    }
    a[threadIdx.x] /= sum; // BUG
}

__global__ void normalise_rows_barrier(float *a, int cols)
{
    float sum = 0.0f;
    for (int col = 0; col < cols; col++) {
        sum += a[col];
    }
    __syncthreads();
    a[threadIdx.x] /= sum;
}

/* Ping-pong between two buffers, but the swap is not separated from the next step. */
__global__ void heat_ping_pong(float *a, float *b, int n, int steps)
{
    int i = threadIdx.x;
    for (int step = 0; step < steps; step++) {
        float left = a[i > 0 ? i - 1 : 0];          // BUG
        float right = a[i < n - 1 ? i + 1 : n - 1]; // BUG
        b[i] = 0.5f * (left + right);               // BUG
        float *swap = a;
        a = b;
        b = swap;
    }
}

__global__ void heat_ping_pong_barrier(float *a, float *b, int n, int steps)
{
    int i = threadIdx.x;
    for (int step = 0; step < steps; step++) {
        float left = a[i > 0 ? i - 1 : 0];
        float right = a[i < n - 1 ? i + 1 : n - 1];
        b[i] = 0.5f * (left + right);
        float *swap = a;
        a = b;
        b = swap;
        __syncthreads();
    }
}

/* The warp barrier reaches only 32 of the 128 threads. */
__global__ void rotate_with_warp_barrier(float *x, int n)
{
    float next = x[(threadIdx.x + 1) % n]; // BUG
    __syncwarp();
    x[threadIdx.x] = next; // BUG
}

/* A plain read of a counter that other warps increment atomically. */
__global__ void read_counter(const int *x, int *count, int *seen)
{
    if (x[threadIdx.x] > 10) {
        atomicAdd(count, 1); // BUG
    }
    seen[threadIdx.x] = *count; // BUG
}

__global__ void read_counter_after_barrier(const int *x, int *count, int *seen)
{
    if (x[threadIdx.x] > 10) {
        atomicAdd(count, 1);
    }
    __syncthreads();
    seen[threadIdx.x] = *count;
}

/* Bytes of one word by many threads: the read-modify-write of the word loses bits. */
__global__ void set_bits(const int *x, unsigned *mask)
{
    int i = threadIdx.x;
    if (x[i] & 1) {
        mask[i / 64] |= 1u << (i % 32); // BUG
    }
}

__global__ void set_bits_atomic(const int *x, unsigned *mask)
{
    int i = threadIdx.x;
    if (x[i] & 1) {
        atomicOr(&mask[i / 32], 1u << (i % 32));
    }
}

/* Different bytes are different places, also within one word. */
__global__ void set_bytes(const int *x, unsigned char *flags)
{
    flags[threadIdx.x] = x[threadIdx.x] & 1;
}

/* A vector store covers elements that other threads write one by one. */
__global__ void vector_over_scalars(float *x, int n)
{
    int i = threadIdx.x;
    if (i < 32) {
        reinterpret_cast<float4 *>(x)[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f); // BUG
    } else if (i < n) {
        x[i] = 1.0f; // BUG
    }
}

/* The last round leaves out both barriers; only the second is not needed there. */
__global__ void shift_rounds(int *x, int n, int rounds)
{
    int i = threadIdx.x;
    for (int round = 0; round < rounds; round++) {
        int next = x[(i + 1) % n]; // BUG
        if (round < rounds - 1) {
            __syncthreads();
        }
        x[i] = next; // BUG
        if (round < rounds - 1) {
            __syncthreads();
        }
    }
}

/* Column sums: each thread owns a row, but all add into the same columns. */
__global__ void column_sums(const float *a, float *sums, int cols)
{
    int row = threadIdx.x;
    for (int col = 0; col < cols; col++) {
        sums[col] += a[row * cols + col]; // BUG
    }
}

__global__ void column_sums_owned(const float *a, float *sums, int rows, int cols)
{
    int col = threadIdx.x;
    if (col < cols) {
        for (int row = 0; row < rows; row++) {
            sums[col] += a[row * cols + col];
        }
    }
}

/* A structure of which one thread writes a member and another copies the whole. */
struct particle {
    float position, velocity;
    int cell;
};

__global__ void particles_mixed(particle *p, float *energy, int n)
{
    int i = threadIdx.x;
    p[i].velocity += 1.0f;           // BUG
    particle next = p[(i + 32) % n]; // BUG
    energy[i] = next.velocity * next.velocity + next.position;
}

__global__ void particles_members(particle *p, float *energy, int n)
{
    int i = threadIdx.x;
    p[i].velocity += 1.0f;
    energy[i] = p[(i + 32) % n].position;
}

/* The indices are no permutation: two threads write to one place. */
__global__ void scatter(const int *index, const float *x, float *y)
{
    y[index[threadIdx.x]] = x[threadIdx.x]; // BUG
}

__global__ void scatter_permutation(const int *index, const float *x, float *y)
{
    y[index[threadIdx.x]] = x[threadIdx.x];
}
