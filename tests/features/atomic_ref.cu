// cuda::atomic_ref, cuda::atomic and their orders.
#include <cuda/atomic>

__global__ void counts(int *counter, unsigned *most, const unsigned *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> count(*counter);
    count.fetch_add(2, cuda::memory_order_relaxed);
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> top(*most);
    top.fetch_max(in[i], cuda::memory_order_relaxed);
}

__global__ void released(int *data, int *flag, int *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 1) {
        if (threadIdx.x == 0) {
            *data = 17;
            ready.store(1, cuda::memory_order_release);
        }
    } else {
        while (ready.load(cuda::memory_order_acquire) == 0) {
        }
        out[threadIdx.x] = *data + threadIdx.x;
    }
}

__global__ void compared(unsigned *cell)
{
    cuda::atomic_ref<unsigned, cuda::thread_scope_system> ref(*cell);
    unsigned seen = ref.load();
    while (!ref.compare_exchange_weak(seen, seen * 3 + 1)) {
    }
}

__global__ void in_shared_memory(const int *in, int *out)
{
    __shared__ cuda::atomic<int, cuda::thread_scope_block> sum;
    if (threadIdx.x == 0) {
        sum.store(0);
    }
    __syncthreads();
    sum.fetch_add(in[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] = sum.load() - in[threadIdx.x];
}
