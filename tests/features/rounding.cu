// Arithmetic with a rounding mode. rn is to nearest even, rz to zero, ru up, rd down.
__global__ void sums(const float *a, const float *b, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = __fadd_rn(a[i], b[i]);
    out[n + i] = __fadd_rz(a[i], b[i]);
    out[2 * n + i] = __fadd_ru(a[i], b[i]);
    out[3 * n + i] = __fsub_rd(a[i], b[i]);
}

__global__ void products(const float *a, const float *b, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = __fmul_rn(a[i], b[i]);
    out[n + i] = __fmul_rz(a[i], b[i]);
    out[2 * n + i] = __fmul_ru(a[i], b[i]);
    out[3 * n + i] = __fmul_rd(a[i], b[i]);
}

__global__ void fused(const float *a, const float *b, const float *c, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = __fmaf_rn(a[i], b[i], c[i]);
    out[n + i] = __fmaf_rz(a[i], b[i], c[i]);
    out[2 * n + i] = __fmaf_ru(a[i], b[i], c[i]);
    out[3 * n + i] = __fmaf_rd(a[i], b[i], c[i]);
}

__global__ void quotients(const float *a, const float *b, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = __fdiv_rn(a[i], b[i]);
    out[n + i] = __fdiv_rz(a[i], b[i]);
    out[2 * n + i] = __frcp_ru(b[i]);
    out[3 * n + i] = __frcp_rd(b[i]);
}

__global__ void roots(const float *a, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = __fsqrt_rn(a[i]);
    out[n + i] = __fsqrt_rz(a[i]);
    out[2 * n + i] = __fsqrt_ru(a[i]);
    out[3 * n + i] = __fsqrt_rd(a[i]);
}

__global__ void in_double(const double *a, const double *b, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = __dadd_ru(a[i], b[i]);
    out[n + i] = __dmul_rd(a[i], b[i]);
    out[2 * n + i] = __ddiv_rz(a[i], b[i]);
    out[3 * n + i] = __dsqrt_ru(a[i]);
    out[4 * n + i] = __fma_rz(a[i], b[i], a[i]);
}
