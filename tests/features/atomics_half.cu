// Atomic additions of half precision and of vectors.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void add_half(const half *in, half *cell)
{
    atomicAdd(&cell[threadIdx.x % 3], in[threadIdx.x]);
}

__global__ void add_half2(const half2 *in, half2 *cell)
{
    atomicAdd(&cell[threadIdx.x % 3], in[threadIdx.x]);
}

__global__ void add_bfloat16(const float *in, __nv_bfloat16 *cell)
{
    atomicAdd(&cell[threadIdx.x % 3], __float2bfloat16(in[threadIdx.x]));
}

__global__ void add_float4(const float4 *in, float4 *cell)
{
    atomicAdd(&cell[threadIdx.x % 3], in[threadIdx.x]);
}
