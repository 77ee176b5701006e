// Macros, unrolling, and parts for one architecture.
#define IDX (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL(name, expression)                                                                   \
    __global__ void name(const float *in, float *out, int n)                                       \
    {                                                                                              \
        for (int i = IDX; i < n; i += gridDim.x * blockDim.x) {                                    \
            float x = in[i];                                                                       \
            out[i] = expression;                                                                   \
        }                                                                                          \
    }

KERNEL(squares, x *x)
KERNEL(halves, x * 0.5f)

#ifndef TAPS
#define TAPS 4
#endif

__global__ void unrolled(const float *in, float *out)
{
    float sum = 0;
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        sum += in[IDX + k];
    }
#pragma unroll 1
    for (int k = 0; k < TAPS; ++k) {
        sum -= 0.5f * in[IDX + k];
    }
    out[IDX] = sum;
}

__global__ void architecture(int *out)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    out[threadIdx.x] = 1;
#else
    out[threadIdx.x] = 0;
#endif
}
