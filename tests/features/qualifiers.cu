// Qualifiers of kernels, parameters and variables.
__global__ void __launch_bounds__(128)
    bounded(const float *__restrict__ in, float *__restrict__ out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __ldg(&in[i]) + 1.0f;
}

__global__ __launch_bounds__(64, 4) void twice_bounded(const int4 *in, int4 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int4 v = __ldcs(&in[i]);
    v.x += __ldcg(&in[i].y) + __ldca(&in[i].z);
    __stcs(&out[i], v);
}

__global__ void volatile_flags(volatile int *flags, int *out)
{
    flags[threadIdx.x] = threadIdx.x + 1;
    int seen = flags[threadIdx.x] + flags[threadIdx.x];
    out[threadIdx.x] = seen;
}

struct Settings {
    int values[8];
};

__global__ void grid_constant(const __grid_constant__ Settings settings, int *out)
{
    const int *values = settings.values;
    out[threadIdx.x] = values[threadIdx.x % 8] * 2;
}

__global__ void many_parameters(bool flag, char c, unsigned char uc, short s, unsigned short us,
                                int i, unsigned u, long long ll, unsigned long long ull, float f,
                                double d, size_t n, double *out)
{
    double sum = c + uc + s + us + i + u + (double)ll + (double)ull + f + d + (double)n;
    out[threadIdx.x] = flag ? sum : -sum;
}
