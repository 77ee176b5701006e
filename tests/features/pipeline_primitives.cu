// __pipeline_memcpy_async and its companions.
#include <cuda_pipeline.h>

__global__ void staged(const int4 *in, int4 *out, int batches)
{
    __shared__ int4 kept[2][32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&kept[0][t], &in[t], sizeof(int4));
    __pipeline_commit();
    for (int batch = 0; batch < batches; batch++) {
        if (batch + 1 < batches) {
            __pipeline_memcpy_async(&kept[(batch + 1) & 1][t], &in[32 * (batch + 1) + t], 16);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        int4 v = kept[batch & 1][31 - t];
        out[32 * batch + t] = make_int4(v.w, v.z, v.y, v.x);
        __syncthreads();
    }
}

__global__ void partly_zero(const float *in, float *out)
{
    __shared__ float kept[32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&kept[t], &in[t], 4, t < 20 ? 0 : 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = kept[t];
}
