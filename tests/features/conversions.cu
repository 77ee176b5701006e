// Conversions with a rounding mode, and bits seen as another type.
__global__ void to_int(const float *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = __float2int_rn(in[i]);
    out[n + i] = __float2int_rz(in[i]);
    out[2 * n + i] = __float2int_ru(in[i]);
    out[3 * n + i] = __float2int_rd(in[i]);
    out[4 * n + i] = (int)__float2uint_rn(fabsf(in[i]));
}

__global__ void to_float(const int *in, const long long *wide, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = __int2float_rn(in[i]);
    out[n + i] = __int2float_rz(in[i]);
    out[2 * n + i] = __int2float_ru(in[i]);
    out[3 * n + i] = __int2float_rd(in[i]);
    out[4 * n + i] = __ll2float_rn(wide[i]);
}

__global__ void doubles(const double *in, long long *out, float *single)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = __double2ll_rn(in[i]);
    out[n + i] = __double2ll_rd(in[i]);
    out[2 * n + i] = __double2int_rz(in[i]);
    out[3 * n + i] = __double2uint_ru(fabs(in[i]));
    single[i] = __double2float_rn(in[i]);
    single[n + i] = __double2float_rz(in[i]);
}

__global__ void bits(const float *f, const double *d, unsigned *out)
{
    int i = threadIdx.x;
    out[8 * i] = __float_as_uint(f[i]);
    out[8 * i + 1] = (unsigned)__float_as_int(f[i]) ^ 0x80000000u;
    out[8 * i + 2] = (unsigned)__double2hiint(d[i]);
    out[8 * i + 3] = (unsigned)__double2loint(d[i]);
    long long whole = __double_as_longlong(d[i]);
    out[8 * i + 4] = (unsigned)(whole >> 32);
    out[8 * i + 5] = __float_as_uint(__uint_as_float(__float_as_uint(f[i]) + 1));
    out[8 * i + 6] = __double_as_longlong(__hiloint2double(7, 9)) == (7ll << 32 | 9);
    out[8 * i + 7] = __longlong_as_double(whole) == d[i] && __int_as_float(0x3f800000) == 1.0f;
}

__global__ void outside_the_range(const float *in, int *out)
{
    int i = threadIdx.x;
    out[2 * i] = __float2int_rz(in[i]);
    out[2 * i + 1] = (int)__float2uint_rz(in[i]);
}
