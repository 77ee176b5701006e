/* Kernels that overflow the stack, jump nowhere or trap, and their correct twins. */
#include <cassert>

typedef float (*operation)(float, float);

__device__ float add(float a, float b)
{
    return a + b;
}

__device__ float multiply(float a, float b)
{
    return a * b;
}

__device__ operation operations[4] = {add, multiply};

/* Depth of a recursion without end. */
__device__ __noinline__ int count_down(const int *x, int n)
{
    int local[64];
    for (int i = 0; i < 64; i++) {
        local[i] = x[(n + i) & 63] + n; // BUG
    }
    if (x[n & 63] < 0) { // BUG
        return local[n & 63];
    }
    return count_down(x, n + 1) + local[(n + 1) & 63]; // BUG
}

__global__ void recursion_without_end(const int *x, int *y)
{
    y[threadIdx.x] = count_down(x, threadIdx.x); // BUG
}

__device__ __noinline__ int sum_down(const int *x, int n)
{
    return n == 0 ? x[0] : x[n] + sum_down(x, n - 1);
}

__global__ void recursion_of_depth_20(const int *x, int *y)
{
    y[threadIdx.x] = sum_down(x, 20);
}

/* The last two operations of the table were never set. */
__global__ void null_function(const float *x, float *y, int which)
{
    y[threadIdx.x] = operations[which](x[threadIdx.x], 2.0f); // BUG
}

__global__ void function_from_table(const float *x, float *y, int which)
{
    y[threadIdx.x] = operations[which & 1](x[threadIdx.x], 2.0f);
}

/* A local pointer that is set in one case only. */
__global__ void null_function_local(const float *x, float *y, int kind)
{
    operation combine = nullptr;
    if (kind == 1) {
        combine = add;
    } else if (kind == 2) {
        combine = multiply;
    }
    y[threadIdx.x] = combine(x[threadIdx.x], 3.0f); // BUG
}

__global__ void divide_by_count(const int *x, const int *count, int *y)
{
    y[threadIdx.x] = x[threadIdx.x] / count[threadIdx.x]; // BUG
}

__global__ void divide_by_count_tested(const int *x, const int *count, int *y)
{
    int n = count[threadIdx.x];
    y[threadIdx.x] = n != 0 ? x[threadIdx.x] / n : 0;
}

__global__ void assertion_fails(const int *x, int *y, int limit)
{
    assert(x[threadIdx.x] < limit); // BUG
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void assertion_holds(const int *x, int *y, int limit)
{
    assert(x[threadIdx.x] < limit);
    y[threadIdx.x] = x[threadIdx.x];
}

__global__ void traps_on_negative(const int *x, int *y)
{
    if (x[threadIdx.x] > 30) {
        __trap(); // BUG
    }
    y[threadIdx.x] = x[threadIdx.x];
}

/* A pointer made of a number that is none. */
__global__ void wild_pointer(int *y)
{
    int *p = reinterpret_cast<int *>(0x123456789000ull + 4096ull * threadIdx.x);
    y[threadIdx.x] = *p; // BUG
}
