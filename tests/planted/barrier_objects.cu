/* cuda::barrier and cuda::pipeline that are not waited for, or never complete, and correct twins.
 */
#include <cuda/barrier>
#include <cuda/pipeline>

#pragma nv_diag_suppress static_var_with_dynamic_init

/* A copy into a barrier's phase that nobody waits for. */
__global__ void barrier_arrived_not_awaited(const float *x, float *y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ float s[64];
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
    }
    __syncthreads();
    cuda::memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float), bar); // BUG
    (void)bar.arrive();
    y[threadIdx.x] = s[63 - threadIdx.x]; // BUG
}

__global__ void barrier_awaited(const float *x, float *y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ float s[64];
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
    }
    __syncthreads();
    cuda::memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float), bar);
    bar.arrive_and_wait();
    y[threadIdx.x] = s[63 - threadIdx.x];
}

/* consumer_wait() is left out between commit and use. */
__global__ void pipeline_no_consumer_wait(const float *x, float *y)
{
    __shared__ float s[64];
    cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float), pipe); // BUG
    pipe.producer_commit();
    y[threadIdx.x] = s[threadIdx.x]; // BUG
    pipe.consumer_wait();
    pipe.consumer_release();
}

__global__ void pipeline_consumer_wait(const float *x, float *y)
{
    __shared__ float s[64];
    cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    y[threadIdx.x] = s[threadIdx.x];
    pipe.consumer_release();
}

/* A barrier for one thread more than the block has. */
__global__ void barrier_object_wrong_count(const int *x, int *y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[64];
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x + 1);
    }
    __syncthreads();
    s[threadIdx.x] = x[threadIdx.x];
    bar.arrive_and_wait(); // BUG
    y[threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void barrier_object(const int *x, int *y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[64];
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
    }
    __syncthreads();
    s[threadIdx.x] = x[threadIdx.x];
    bar.arrive_and_wait();
    y[threadIdx.x] = s[63 - threadIdx.x];
}

/* The source is cleared while the copy is in flight. */
__global__ void barrier_source_overwritten(float *x, float *y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ float s[64];
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
    }
    __syncthreads();
    cuda::memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float), bar); // BUG
    x[threadIdx.x] = 0.0f;                                                    // BUG
    bar.arrive_and_wait();
    y[threadIdx.x] = s[63 - threadIdx.x];
}

__global__ void barrier_source_overwritten_later(float *x, float *y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ float s[64];
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
    }
    __syncthreads();
    cuda::memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float), bar);
    bar.arrive_and_wait();
    x[63 - threadIdx.x] = 0.0f;
    y[threadIdx.x] = s[63 - threadIdx.x];
}
