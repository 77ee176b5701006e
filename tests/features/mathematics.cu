// Functions of the mathematical library, those that C lacks among them.
#include <math.h>

__global__ void powers(const float *in, float *out)
{
    int i = threadIdx.x, n = blockDim.x;
    float x = in[i];
    out[i] = rsqrtf(x);
    out[n + i] = cbrtf(x) * rcbrtf(x);
    out[2 * n + i] = powf(x, 1.3f);
    out[3 * n + i] = exp2f(x) + exp10f(x * 0.5f) + expm1f(x);
    out[4 * n + i] = hypotf(x, 2.0f) * rhypotf(x, 2.0f);
    out[5 * n + i] = norm3df(x, 2.0f, 3.0f) + norm4df(1.0f, x, 2.0f, 3.0f);
}

__global__ void angles(const double *in, double *out)
{
    int i = threadIdx.x, n = blockDim.x;
    double x = in[i], s, c;
    sincos(x, &s, &c);
    out[i] = s + 2 * c;
    sincospi(x, &s, &c);
    out[n + i] = s + 2 * c;
    out[2 * n + i] = sinpi(x) + cospi(x);
    out[3 * n + i] = atan2(x, 0.7) + asinh(x) + tanh(x);
}

__global__ void distributions(const double *in, double *out)
{
    int i = threadIdx.x, n = blockDim.x;
    double x = in[i];
    out[i] = erf(x) + erfc(x);
    out[n + i] = normcdf(x);
    out[2 * n + i] = normcdfinv(normcdf(x));
    out[3 * n + i] = erfinv(erf(x));
    out[4 * n + i] = erfcx(x);
    out[5 * n + i] = lgamma(x + 4.0) + tgamma(x + 4.0);
}

__global__ void pieces(const float *in, float *out)
{
    int i = threadIdx.x, n = blockDim.x;
    float x = in[i] * 10.0f;
    int exponent;
    float whole;
    float fraction = modff(x, &whole);
    out[i] = whole + 0.5f * fraction;
    out[n + i] = frexpf(x, &exponent) + exponent;
    out[2 * n + i] = rintf(x) + floorf(x) - ceilf(x) + truncf(x) + roundf(x);
    out[3 * n + i] = fmodf(x, 1.7f) + copysignf(1.0f, x) + ldexpf(x, 2);
    out[4 * n + i] = fmaf(x, 2.0f, 1.0f) + fdimf(x, 1.0f) + fabsf(x);
    out[5 * n + i] = (float)(isnan(x) + isinf(x) + 2 * isfinite(x) + (signbit(x) != 0));
}
