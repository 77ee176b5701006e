/* Races on __device__ and __managed__ variables, and through several views of one allocation. */

__device__ int counter;
__device__ float table[64];
__device__ int *shortcut;
__managed__ int progress;

struct packed {
    unsigned low : 12;
    unsigned high : 20;
};

struct halves {
    short low, high;
};

__global__ void variable_counted(const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] >= 0) {
        counter++; // BUG
    }
}

__global__ void variable_counted_atomic(const int *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] >= 0) {
        atomicAdd(&counter, 1);
    }
}

/* The first block fills a table that all blocks use. */
__global__ void table_filled_by_first(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x == 0) {
        table[threadIdx.x] = x[threadIdx.x]; // BUG
    }
    __syncthreads();
    y[i] = x[i] * table[63 - threadIdx.x]; // BUG
}

/* One block alone may use the table behind its own barrier. */
__global__ void table_of_one_block(const float *x, float *y)
{
    table[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x] * table[63 - threadIdx.x];
}

/* Both halves include the element in the middle. */
__global__ void views_overlap(float *x, int n)
{
    float *low = x;
    float *high = x + n / 2 - 1;
    if (blockIdx.x == 0) {
        low[threadIdx.x] = 1.0f; // BUG
    } else {
        high[threadIdx.x] = 2.0f; // BUG
    }
}

__global__ void views_disjoint(float *x, int n)
{
    float *low = x;
    float *high = x + n / 2;
    if (blockIdx.x == 0) {
        low[threadIdx.x] = 1.0f;
    } else {
        high[threadIdx.x] = 2.0f;
    }
}

/* The same memory as pairs and as single numbers. */
__global__ void views_of_two_types(int *x)
{
    int i = threadIdx.x;
    int2 *pairs = reinterpret_cast<int2 *>(x);
    if (i < 32) {
        pairs[i] = make_int2(i, -i); // BUG
    } else {
        x[i] = i; // BUG
    }
}

__global__ void views_of_two_types_apart(int *x)
{
    int i = threadIdx.x;
    int2 *pairs = reinterpret_cast<int2 *>(x);
    if (i < 32) {
        pairs[i] = make_int2(i, -i);
    } else {
        x[i + 32] = i;
    }
}

/* Called with one array as input and output. */
__global__ void shift_right(const float *in, float *out, int n)
{
    int i = threadIdx.x;
    if (i + 1 < n) {
        out[i + 1] = in[i]; // BUG
    }
}

/* Called with one array as input and output, which is fine for one element per thread. */
__global__ void square(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i] * in[i];
    }
}

__global__ void managed_progress(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= 2.0f;
    if (threadIdx.x == 0) {
        progress = blockIdx.x + 1; // BUG
    }
}

__global__ void managed_progress_of_last(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] *= 2.0f;
    if (i == n - 1) {
        progress = blockIdx.x + 1;
    }
}

/* A pointer in a variable is set by one thread and followed by the others. */
__global__ void pointer_set_late(int *x, int *y)
{
    if (threadIdx.x == 0) {
        shortcut = x + 4; // BUG
    }
    y[threadIdx.x] = shortcut == 0 ? 0 : 1; // BUG
}

__global__ void pointer_set_before_barrier(int *x, int *y)
{
    if (threadIdx.x == 0) {
        shortcut = x + 4;
    }
    __syncthreads();
    y[threadIdx.x] = shortcut[threadIdx.x];
}

/* Two bit-fields of one word: each store writes the whole word. */
__global__ void bit_fields(packed *p)
{
    if (threadIdx.x == 0) {
        p->low = 5; // BUG
    } else if (threadIdx.x == 32) {
        p->high = 7; // BUG
    }
}

__global__ void members_of_a_struct(halves *p)
{
    if (threadIdx.x == 0) {
        p->low = 5;
    } else if (threadIdx.x == 32) {
        p->high = 7;
    }
}
