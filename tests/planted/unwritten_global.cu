/* Reads of global memory that nothing wrote, and their correct twins. */

/* The output of a sum is not set to zero by the host. */
__global__ void sum_into_unwritten(const float *x, float *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(sum, x[i]); // BUG
    }
}

__global__ void sum_into_zero(const float *x, float *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(sum, x[i]);
    }
}

/* C = A B + C, where C was never given. */
__global__ void matmul_adds_to_output(const float *a, const float *b, float *c, int n)
{
    int col = threadIdx.x, row = threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) {
        sum += a[row * n + k] * b[k * n + col];
    }
    c[row * n + col] += sum; // BUG
}

__global__ void matmul_sets_output(const float *a, const float *b, float *c, int n)
{
    int col = threadIdx.x, row = threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) {
        sum += a[row * n + k] * b[k * n + col];
    }
    c[row * n + col] = sum;
}

/* The padding of a scratch array is read, but only its inside was written. */
__global__ void scratch_border(const float *x, float *scratch, float *y, int n)
{
    int t = threadIdx.x;
    scratch[t + 1] = x[t];
    __syncthreads();
    y[t] = scratch[t] + scratch[t + 2]; // BUG
}

__global__ void scratch_border_cleared(const float *x, float *scratch, float *y, int n)
{
    int t = threadIdx.x;
    scratch[t + 1] = x[t];
    if (t == 0) {
        scratch[0] = 0.0f;
        scratch[n + 1] = 0.0f;
    }
    __syncthreads();
    y[t] = scratch[t] + scratch[t + 2];
}

/* Every second element is written, and all are read. */
__global__ void every_second(const int *x, int *scratch, int *y, int n)
{
    int t = threadIdx.x;
    if (t % 2 == 0) {
        scratch[t] = x[t];
    }
    __syncthreads();
    y[t] = scratch[n - 1 - t]; // BUG
}

/* A list is read up to its capacity and not up to its length. */
__global__ void list_to_capacity(const int *x, int *list, int *length, int *y, int n)
{
    int t = threadIdx.x;
    if (x[t] > 50) {
        list[atomicAdd(length, 1)] = x[t];
    }
    __syncthreads();
    y[t] = list[t]; // BUG
}

__global__ void list_to_length(const int *x, int *list, int *length, int *y, int n)
{
    int t = threadIdx.x;
    if (x[t] > 50) {
        list[atomicAdd(length, 1)] = x[t];
    }
    __syncthreads();
    y[t] = t < *length ? list[t] : 0;
}

/* The spin's flag was never set to zero, so its first value is anything. */
__global__ void flag_unwritten(const int *flag, int *y)
{
    if (*flag == 1) { // BUG
        y[threadIdx.x] = 1;
    }
}
