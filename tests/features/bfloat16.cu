// bfloat16: conversions, operators, intrinsics. Arrays come in and go out as their 16 bits.
#include <cuda_bf16.h>

__global__ void convert(const float *in, __nv_bfloat16 *out, float *back)
{
    int i = threadIdx.x;
    __nv_bfloat16 x = __float2bfloat16(in[i]);
    out[i] = x;
    back[i] = __bfloat162float(x) + 1.0f;
}

__global__ void arithmetic(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *out)
{
    int i = threadIdx.x;
    __nv_bfloat16 x = a[i], y = b[i];
    out[4 * i] = x + y;
    out[4 * i + 1] = __hmul(x, y);
    out[4 * i + 2] = x < y ? x : y;
    out[4 * i + 3] = __hsub(x, y);
}

__global__ void pairs(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *out)
{
    int i = threadIdx.x;
    out[2 * i] = __hadd2(a[i], b[i]);
    out[2 * i + 1] = __halves2bfloat162(__high2bfloat16(a[i]), __low2bfloat16(b[i]));
}
