/* Rows of a table of pointers, one of which the host has freed, and their correct twins. */

__global__ void sum_rows(float *const *rows, float *sums, int n)
{
    const float *row = rows[blockIdx.x];
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        sum += row[i]; // BUG
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
    }
}

__global__ void clear_rows(float *const *rows, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        rows[blockIdx.x][i] = 0.0f; // BUG
    }
}
