// cuda::barrier: arrive and wait, and asynchronous copies that it counts.
#include <cuda/barrier>

#pragma nv_diag_suppress static_var_with_dynamic_init

using barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void phases(const int *in, int *out)
{
    __shared__ barrier bar;
    __shared__ int kept[64];
    int t = threadIdx.x;
    if (t == 0) {
        init(&bar, blockDim.x);
    }
    __syncthreads();
    kept[t] = in[t];
    bar.arrive_and_wait();
    int left = kept[(t + 63) % 64];
    barrier::arrival_token token = bar.arrive();
    int local = left * 2;
    bar.wait(std::move(token));
    kept[t] = local;
    bar.arrive_and_wait();
    out[t] = kept[63 - t];
}

__global__ void copies(const int *in, int *out)
{
    __shared__ barrier bar;
    __shared__ alignas(16) int kept[128];
    int t = threadIdx.x;
    if (t == 0) {
        init(&bar, blockDim.x);
    }
    __syncthreads();
    cuda::memcpy_async(kept + 4 * t, in + 4 * t, cuda::aligned_size_t<16>(16), bar);
    bar.arrive_and_wait();
    for (int i = t; i < 128; i += 32) {
        out[i] = kept[127 - i];
    }
}
