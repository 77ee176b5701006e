// The fast, less accurate functions of single precision.
__global__ void exponentials(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    float x = in[i];
    out[i] = __expf(x);
    out[n + i] = __exp10f(x * 0.25f);
    out[2 * n + i] = __powf(x + 3.0f, 1.5f);
}

__global__ void logarithms(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    float x = in[i];
    out[i] = __logf(x);
    out[n + i] = __log2f(x);
    out[2 * n + i] = __log10f(x);
}

__global__ void angles(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    float x = in[i], s, c;
    out[i] = __sinf(x);
    out[n + i] = __cosf(x);
    out[2 * n + i] = __tanf(x * 0.4f);
    __sincosf(x, &s, &c);
    out[3 * n + i] = s * s + c * c;
}

__global__ void quotients(const float *a, const float *b, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    out[i] = __fdividef(a[i], b[i]);
    out[n + i] = fdividef(b[i], a[i]);
    out[2 * n + i] = __saturatef(a[i] - 1.0f);
    out[3 * n + i] = rsqrtf(b[i]);
    out[4 * n + i] = __frsqrt_rn(a[i]);
}
