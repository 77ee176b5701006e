/* cuda::atomic_ref with an order or a scope that is too weak, and its correct twins. */
#include <cuda/atomic>

__global__ void atomic_ref_relaxed(int *data, int *flag, int *out)
{
    if (threadIdx.x == 0) {
        cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
        if (blockIdx.x == 0) {
            *data = 42; // BUG
            ready.store(1, cuda::memory_order_relaxed);
        } else {
            while (ready.load(cuda::memory_order_relaxed) == 0) {
            }
            out[blockIdx.x] = *data; // BUG
        }
    }
}

__global__ void atomic_ref_release(int *data, int *flag, int *out)
{
    if (threadIdx.x == 0) {
        cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
        if (blockIdx.x == 0) {
            *data = 42;
            ready.store(1, cuda::memory_order_release);
        } else {
            while (ready.load(cuda::memory_order_acquire) == 0) {
            }
            out[blockIdx.x] = *data;
        }
    }
}

/* The scope of the counter is the block, but all blocks count. */
__global__ void atomic_ref_block_scope(const int *x, int *count)
{
    cuda::atomic_ref<int, cuda::thread_scope_block> total(*count);
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > 10) {
        total.fetch_add(1, cuda::memory_order_relaxed); // BUG
    }
}

/* Increments without an order are no race, and the barrier publishes the sum. */
__global__ void atomic_ref_counter(const int *x, int *count, int *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_block> total(count[blockIdx.x]);
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > 10) {
        total.fetch_add(1, cuda::memory_order_relaxed);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        out[blockIdx.x] = count[blockIdx.x];
    }
}
