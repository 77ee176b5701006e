/* Memory of the kernel's own heap that is used after it was freed, and correct uses of it. */

__global__ void heap_used_after_free(int *y, int n)
{
    int *scratch = static_cast<int *>(malloc(n * sizeof(int)));
    for (int i = 0; i < n; i++) {
        scratch[i] = i;
    }
    free(scratch);
    y[threadIdx.x] = scratch[threadIdx.x % n]; // BUG
}

__global__ void heap_freed_at_the_end(int *y, int n)
{
    int *scratch = static_cast<int *>(malloc(n * sizeof(int)));
    for (int i = 0; i < n; i++) {
        scratch[i] = i;
    }
    y[threadIdx.x] = scratch[threadIdx.x % n];
    free(scratch);
}

/* One thread frees what the others still read. */
__global__ void heap_freed_by_first(int *y, int n)
{
    __shared__ int *scratch;
    if (threadIdx.x == 0) {
        scratch = static_cast<int *>(malloc(n * sizeof(int)));
        for (int i = 0; i < n; i++) {
            scratch[i] = i;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        free(scratch);
    }
    __syncthreads();
    y[threadIdx.x] = scratch[threadIdx.x % n]; // BUG
}

__global__ void heap_freed_after_barrier(int *y, int n)
{
    __shared__ int *scratch;
    if (threadIdx.x == 0) {
        scratch = static_cast<int *>(malloc(n * sizeof(int)));
        for (int i = 0; i < n; i++) {
            scratch[i] = i;
        }
    }
    __syncthreads();
    y[threadIdx.x] = scratch[threadIdx.x % n];
    __syncthreads();
    if (threadIdx.x == 0) {
        free(scratch);
    }
}
