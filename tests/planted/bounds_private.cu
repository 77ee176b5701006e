/* Local variables of other threads, and copies of bytes. */

/* The address of a local variable is good for its own thread alone. */
__global__ void local_of_first(const int *x, int *y)
{
    __shared__ const int *where;
    int mine = x[threadIdx.x];
    if (threadIdx.x == 0) {
        where = &mine;
    }
    __syncthreads();
    y[threadIdx.x] = *where; // BUG
    __syncthreads();
}

__global__ void value_of_first(const int *x, int *y)
{
    __shared__ int first;
    int mine = x[threadIdx.x], *where = &mine;
    if (threadIdx.x == 0) {
        first = *where;
    }
    __syncthreads();
    y[threadIdx.x] = first;
}

/* Each thread has its result written into a local array by the one before. */
__global__ void local_written_by_neighbour(const int *x, int *y)
{
    __shared__ int *results[64];
    int mine[2] = {0, 0};
    results[threadIdx.x] = mine;
    __syncthreads();
    results[(threadIdx.x + 1) % 64][1] = x[threadIdx.x]; // BUG
    __syncthreads();
    y[threadIdx.x] = mine[0] + mine[1];
}

/* Threads use their own arrays through pointers that they keep in shared memory. */
__global__ void local_kept_in_shared(const int *x, int *y)
{
    __shared__ int *results[64];
    int mine[2] = {0, 0};
    results[threadIdx.x] = mine;
    __syncthreads();
    results[threadIdx.x][1] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = mine[0] + mine[1];
}

__global__ void shift_by_memcpy(int *x, int n)
{
    int *row = x + threadIdx.x * n;
    memcpy(row + 1, row, (n - 1) * sizeof(int)); // BUG
}

__global__ void shift_by_memmove(int *x, int n)
{
    int *row = x + threadIdx.x * n;
    memmove(row + 1, row, (n - 1) * sizeof(int));
}

__global__ void copy_bytes_too_many(const int *x, int *y, int n)
{
    memcpy(y + threadIdx.x * n, x + threadIdx.x * n, (n + 1) * sizeof(int)); // BUG
}

__global__ void copy_bytes(const int *x, int *y, int n)
{
    memcpy(y + threadIdx.x * n, x + threadIdx.x * n, n * sizeof(int));
    memcpy(y, x, 0);
}
