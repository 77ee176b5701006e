/* Asynchronous copies that are waited for too late or not at all, and their correct twins. */
#include <cuda_pipeline.h>

/* The values are read before the copy has been waited for. */
__global__ void copy_not_awaited(const float *x, float *y)
{
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float)); // BUG
    __pipeline_commit();
    y[threadIdx.x] = s[threadIdx.x]; // BUG
}

__global__ void copy_awaited(const float *x, float *y)
{
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[threadIdx.x] = s[threadIdx.x];
}

/* Each thread waits for its own copies, and then reads those of another one. */
__global__ void copy_awaited_no_barrier(const float *x, float *y)
{
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float)); // BUG
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[threadIdx.x] = s[63 - threadIdx.x]; // BUG
}

__global__ void copy_awaited_with_barrier(const float *x, float *y)
{
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[threadIdx.x] = s[63 - threadIdx.x];
}

/* Two stages are in flight, and the wait leaves the one that is used next unfinished. */
__global__ void stages_wait_too_few(const float *x, float *y, int stages)
{
    __shared__ float s[2][64];
    int t = threadIdx.x;
    float sum = 0.0f;
    __pipeline_memcpy_async(&s[0][t], &x[t], sizeof(float)); // BUG
    __pipeline_commit();
    for (int stage = 0; stage < stages; stage++) {
        if (stage + 1 < stages) {
            __pipeline_memcpy_async(&s[(stage + 1) % 2][t], &x[(stage + 1) * 64 + t], 4); // BUG
        }
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        sum += s[stage % 2][63 - t]; // BUG
        __syncthreads();
    }
    y[t] = sum;
}

__global__ void stages_wait(const float *x, float *y, int stages)
{
    __shared__ float s[2][64];
    int t = threadIdx.x;
    float sum = 0.0f;
    __pipeline_memcpy_async(&s[0][t], &x[t], sizeof(float));
    __pipeline_commit();
    for (int stage = 0; stage < stages; stage++) {
        if (stage + 1 < stages) {
            __pipeline_memcpy_async(&s[(stage + 1) % 2][t], &x[(stage + 1) * 64 + t], 4);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[stage % 2][63 - t];
        __syncthreads();
    }
    y[t] = sum;
}

/* The commit is forgotten, so the wait has nothing to wait for. */
__global__ void copy_not_committed(const float *x, float *y)
{
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float)); // BUG
    __pipeline_wait_prior(0);
    __syncthreads();
    y[threadIdx.x] = s[63 - threadIdx.x]; // BUG
}

/* The source is overwritten while the copy may still read it. */
__global__ void source_overwritten(float *x, float *y)
{
    __shared__ float s[64];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float)); // BUG
    __pipeline_commit();
    x[threadIdx.x] = 0.0f; // BUG
    __pipeline_wait_prior(0);
    y[threadIdx.x] = s[threadIdx.x];
}

/* The buffer is filled again while other threads read it: the second barrier is missing. */
__global__ void refilled_while_read(const float *x, float *y, int stages)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int stage = 0; stage < stages; stage++) {
        __pipeline_memcpy_async(&s[t], &x[stage * 64 + t], sizeof(float)); // BUG
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        sum += s[63 - t]; // BUG
    }
    y[t] = sum;
}

__global__ void refilled_after_barrier(const float *x, float *y, int stages)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int stage = 0; stage < stages; stage++) {
        __pipeline_memcpy_async(&s[t], &x[stage * 64 + t], sizeof(float));
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();
        sum += s[63 - t];
        __syncthreads();
    }
    y[t] = sum;
}

/* The next tile is in flight, and other threads write what it comes from. */
__global__ void next_tile_overwritten(float *x, float *y, int tiles)
{
    __shared__ float s[2][64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &x[t], sizeof(float));
    __pipeline_commit();
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles) {
            __pipeline_memcpy_async(&s[(tile + 1) % 2][t], &x[(tile + 1) * 64 + t], 4); // BUG
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        x[tile * 64 + 63 - t] = s[tile % 2][t];
        if (tile + 1 < tiles) {
            x[(tile + 1) * 64 + 63 - t] = 0.0f; // BUG
        }
        __syncthreads();
    }
    y[t] = s[0][t];
}

/* Each tile is written back where it came from, once all have waited. */
__global__ void tile_written_back(float *x, float *y, int tiles)
{
    __shared__ float s[2][64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &x[t], sizeof(float));
    __pipeline_commit();
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles) {
            __pipeline_memcpy_async(&s[(tile + 1) % 2][t], &x[(tile + 1) * 64 + t], 4);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        x[tile * 64 + t] = 2.0f * s[tile % 2][63 - t];
        __syncthreads();
    }
    y[t] = s[0][t];
}
