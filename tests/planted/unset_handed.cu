/* Values that are not set and that a lane hands to others, and correct uses of that. */

/* Only the first lane's value is taken. */
__global__ void broadcast_of_first(const int *x, int *y)
{
    int value;
    if (threadIdx.x == 0) {
        value = x[0];
    }
    y[threadIdx.x] = __shfl_sync(0xffffffffu, value, 0);
}

__global__ void broadcast_of_last(const int *x, int *y)
{
    int value; // BUG
    if (threadIdx.x == 0) {
        value = x[0];
    }
    y[threadIdx.x] = __shfl_sync(0xffffffffu, value, 31); // BUG
}

/* Lanes without an element have no value. */
__global__ void sum_of_some(const float *x, float *y, int n)
{
    float sum;
    if (threadIdx.x < n) {
        sum = x[threadIdx.x];
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, step); // BUG
    }
    if (threadIdx.x == 0) {
        y[0] = sum;
    }
}

__global__ void vote_of_unset(const int *x, int *y)
{
    bool found;
    if (x[threadIdx.x] > 50) {
        found = true;
    }
    y[threadIdx.x] = __any_sync(0xffffffffu, found); // BUG
}

/* The value decides about a branch, and then another is handed on. */
__global__ void unset_before_shuffle(const int *x, int *y)
{
    int limit, value = x[threadIdx.x];
    if (value > 200) {
        limit = 10;
    }
    if (limit > 5) { // BUG
        value = 7;
    }
    y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, value, 1);
}

/* Only the lanes below 16 hand on, and only they take. */
__global__ void lower_half(const int *x, int *y)
{
    int value;
    if (threadIdx.x < 16) {
        value = x[threadIdx.x];
    }
    int other = __shfl_sync(0xffffffffu, value, threadIdx.x % 16);
    y[threadIdx.x] = other;
}
