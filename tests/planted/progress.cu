/* Kernels that wait for what never comes, and correct ones that wait. */

/* The lock is released in one of two branches only. */
__global__ void lock_not_released(int *lock, int *sum, const int *x)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) { // BUG
        }
        __threadfence();
        if (x[blockIdx.x] >= 0) {
            *sum += x[blockIdx.x];
        } else {
            __threadfence();
            atomicExch(lock, 0);
        }
    }
}

/* Two locks are taken in opposite order, and each holder waits until the other has one. */
__global__ void locks_in_opposite_order(int *locks, volatile int *taken, int *sum)
{
    if (threadIdx.x == 0) {
        int first = blockIdx.x, second = 1 - first;
        while (atomicCAS(&locks[first], 0, 1) != 0) {
        }
        taken[first] = 1;
        while (taken[second] == 0) {
        }
        while (atomicCAS(&locks[second], 0, 1) != 0) { // BUG
        }
        __threadfence();
        *sum += 1;
        __threadfence();
        atomicExch(&locks[second], 0);
        atomicExch(&locks[first], 0);
    }
}

__global__ void locks_in_one_order(int *locks, int *sum)
{
    if (threadIdx.x == 0) {
        while (atomicCAS(&locks[0], 0, 1) != 0) {
        }
        while (atomicCAS(&locks[1], 0, 1) != 0) {
        }
        __threadfence();
        *sum += 1;
        __threadfence();
        atomicExch(&locks[1], 0);
        atomicExch(&locks[0], 0);
    }
}

/* The flag is set by nobody. */
__global__ void flag_never_set(volatile int *flag, const int *x, int *y)
{
    if (threadIdx.x == 0) {
        while (*flag == 0) { // BUG
        }
        y[0] = x[0];
    }
}

/* The barrier of the grid counts one block too many. */
__global__ void grid_barrier_wrong_count(volatile int *arrived, int *y)
{
    if (threadIdx.x == 0) {
        atomicAdd((int *)arrived, 1);
        while (*arrived <= gridDim.x) { // BUG
        }
        y[blockIdx.x] = 1;
    }
}

/* More blocks than the device holds at once wait for one another. */
__global__ void grid_barrier_too_large(volatile int *arrived, int *y)
{
    if (threadIdx.x == 0) {
        atomicAdd((int *)arrived, 1);
        while (*arrived < gridDim.x) { // BUG
        }
        y[blockIdx.x] = 1;
    }
}

/* The loop's step can become zero. */
__global__ void step_of_zero(const int *x, int *y, int n)
{
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += x[i]) { // BUG
        sum += x[i];                              // BUG
    }
    y[threadIdx.x] = sum;
}

__global__ void step_of_at_least_one(const int *x, int *y, int n)
{
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += max(x[i], 1)) {
        sum += x[i];
    }
    y[threadIdx.x] = sum;
}

/* A warp waits for a later warp of its block. */
__global__ void wait_for_later_warp(const int *x, int *y)
{
    __shared__ int flag;
    if (threadIdx.x == 0) {
        flag = 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        while (atomicAdd(&flag, 0) == 0) {
        }
        y[0] = x[0];
    } else if (threadIdx.x == 96) {
        atomicExch(&flag, 1);
    }
}

/* Block 0 waits for the last block, which is resident beside it. */
__global__ void wait_for_later_block(volatile int *flag, const int *x, int *y)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            while (*flag == 0) {
            }
            y[0] = x[0];
        } else if (blockIdx.x == gridDim.x - 1) {
            *flag = 1;
        }
    }
}

/* Lanes of one warp take turns. */
__global__ void turns_of_lanes(volatile int *turn, int *y)
{
    while (*turn != threadIdx.x) {
    }
    __threadfence();
    y[0] = y[0] * 2 + threadIdx.x % 2;
    __threadfence();
    *turn = threadIdx.x + 1;
}

/* A spin with a pause between its tests. */
__global__ void wait_with_pause(int *arrived, int *y)
{
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {
            __nanosleep(100);
        }
        y[blockIdx.x] = 1;
    }
}

/* A search in halves that keeps the middle can stay where it is. */
__device__ __noinline__ int middle_of(const int *x, const int *bounds, int value)
{
    int at = (bounds[0] + bounds[1]) / 2; // BUG
    return x[at] <= value ? at : -at;     // BUG
}

__global__ void search_keeps_middle(const int *x, int *y, int n)
{
    int bounds[2] = {0, n}, value = (int)threadIdx.x;
    while (bounds[0] < bounds[1]) {
        int at = middle_of(x, bounds, value); // BUG
        bounds[at < 0] = at < 0 ? -at : at;   // BUG
    }
    y[threadIdx.x] = bounds[0];
}

/* A list that leads back into itself. */
__global__ void list_in_a_circle(const int *next, int *y)
{
    int at = threadIdx.x, last = at;
    while (at >= 0) {
        last = at;
        at = next[at]; // BUG
    }
    y[threadIdx.x] = last;
}

/* The thread stores the same value to shared memory again and again. */
__global__ void waits_for_itself(const int *x, int *y)
{
    __shared__ int seen[32];
    seen[threadIdx.x] = 0;
    while (seen[threadIdx.x] == 0) {        // BUG
        seen[threadIdx.x] = x[threadIdx.x]; // BUG
    }
    y[threadIdx.x] = seen[threadIdx.x];
}

/* Only memory says how far the loop is. */
__global__ void counts_in_memory(int *x, int *y, int n)
{
    while (x[threadIdx.x] < n) {
        x[threadIdx.x]++;
    }
    y[threadIdx.x] = x[threadIdx.x];
}

/* Only a register says how far the loop is. */
__global__ void reads_one_word_often(const int *x, int *y, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += *(volatile const int *)x;
    }
    y[threadIdx.x] = sum;
}
