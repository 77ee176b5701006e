// half and half2: conversions, operators, intrinsics.
#include <cuda_fp16.h>

__global__ void convert(const float *in, __half *out, float *back)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half h = __float2half(in[i]);
    out[i] = h;
    back[i] = __half2float(h) * 2.0f;
}

__global__ void operators(const half *a, const half *b, half *out)
{
    int i = threadIdx.x;
    half x = a[i], y = b[i];
    out[4 * i] = x + y;
    out[4 * i + 1] = x - y;
    out[4 * i + 2] = x * y;
    out[4 * i + 3] = x > y ? -x : y;
}

__global__ void intrinsics(const half *a, const half *b, half *out)
{
    int i = threadIdx.x;
    half x = a[i], y = b[i];
    out[6 * i] = __hadd(x, y);
    out[6 * i + 1] = __hmul(x, y);
    out[6 * i + 2] = __hfma(x, y, x);
    out[6 * i + 3] = __hlt(x, y) ? __habs(x) : __hneg(y);
    out[6 * i + 4] = hsqrt(__habs(x));
    out[6 * i + 5] = __hmax(x, __hmin(y, __float2half(0.5f)));
}

__global__ void pairs(const half2 *a, const half2 *b, half2 *out)
{
    int i = threadIdx.x;
    half2 x = a[i], y = b[i];
    out[4 * i] = __hadd2(x, y);
    out[4 * i + 1] = __hfma2(x, y, __float2half2_rn(1.0f));
    out[4 * i + 2] = __halves2half2(__high2half(x), __low2half(y));
    out[4 * i + 3] = x * y - __floats2half2_rn(0.25f, -0.25f);
}

__global__ void dot(const half2 *a, const half2 *b, float *out)
{
    __shared__ half2 kept[32];
    kept[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    float2 x = __half22float2(kept[31 - threadIdx.x]), y = __half22float2(b[threadIdx.x]);
    float sum = x.x * y.x + x.y * y.y;
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    out[threadIdx.x] = sum;
}

__global__ void to_integers(const half *in, int *out)
{
    half x = in[threadIdx.x];
    out[2 * threadIdx.x] = __half2int_rn(x) + (int)__half_as_ushort(x);
    out[2 * threadIdx.x + 1] = __half2int_rz(x) - __half2int_rd(__int2half_rn((int)threadIdx.x));
}
