// cuda::pipeline of a block and of a thread.
#include <cooperative_groups.h>
#include <cuda/pipeline>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;

__global__ void two_stages(const float *in, float *out, int batches)
{
    constexpr int stages = 2;
    __shared__ float kept[stages][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int fetched = 0;
    for (int batch = 0; batch < batches; batch++) {
        for (; fetched < batches && fetched < batch + stages; fetched++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, kept[fetched % stages], in + fetched * 64, sizeof(float) * 64,
                               pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[batch * 64 + threadIdx.x] = kept[batch % stages][63 - threadIdx.x] * 2.0f;
        pipe.consumer_release();
    }
}

__global__ void own_element(const float4 *in, float4 *out)
{
    __shared__ float4 kept[2][32];
    auto pipe = cuda::make_pipeline();
    for (int k = 0; k < 2; k++) {
        pipe.producer_acquire();
        cuda::memcpy_async(&kept[k][threadIdx.x], &in[32 * k + threadIdx.x],
                           cuda::aligned_size_t<16>(16), pipe);
        pipe.producer_commit();
    }
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    float4 a = kept[0][threadIdx.x];
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    float4 b = kept[1][threadIdx.x];
    out[threadIdx.x] = make_float4(a.x + b.w, a.y + b.z, a.z + b.y, a.w + b.x);
}
