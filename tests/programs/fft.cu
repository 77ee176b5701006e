// Small FFTs: complex numbers, radix 2, decimation in time; a block transforms a row in shared
// memory. The inverse of the transform is checked to be the identity.
#include <cuComplex.h>
#include <cuda_runtime.h>
#include <math_constants.h>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define LOG_N 8
#define N (1 << LOG_N)

enum Direction { FORWARD = -1, INVERSE = +1 };

__device__ static cuFloatComplex twiddle(int k, int n, int direction)
{
    float s, c;
    sincospif(2.0f * k / n, &s, &c);
    return make_cuFloatComplex(c, direction * s);
}

__global__ void fft_rows(cuFloatComplex *data, Direction direction)
{
    __shared__ cuFloatComplex row[N];
    cuFloatComplex *mine = data + (size_t)blockIdx.x * N;
    const int t = threadIdx.x; /* N / 2 threads */

    row[__brev((unsigned)t) >> (32 - LOG_N)] = mine[t];
    row[__brev((unsigned)(t + N / 2)) >> (32 - LOG_N)] = mine[t + N / 2];
    for (int half = 1; half < N; half *= 2) {
        __syncthreads();
        int k = t % half, at = (t / half) * 2 * half + k;
        cuFloatComplex a = row[at], b = cuCmulf(row[at + half], twiddle(k, 2 * half, direction));
        row[at] = cuCaddf(a, b);
        row[at + half] = cuCsubf(a, b);
    }
    __syncthreads();
    float scale = direction == INVERSE ? 1.0f / N : 1.0f;
    for (int i = t; i < N; i += blockDim.x)
        mine[i] = make_cuFloatComplex(scale * cuCrealf(row[i]), scale * cuCimagf(row[i]));
}

// The power spectrum, in place of the real parts.
__global__ void power(const float2 *spectrum, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float2 c = __ldg(spectrum + i);
        out[i] = hypotf(c.x, c.y);
    }
}

typedef std::complex<float> complex;
static_assert(sizeof(complex) == sizeof(cuFloatComplex), "the same layout");

const complex I(0, 1);

static std::vector<std::complex<double>> dft(const complex *x)
{
    std::vector<std::complex<double>> y(N);
    for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++)
            y[k] += std::complex<double>(x[j]) * std::polar(1.0, -2 * M_PI * ((long)k * j % N) / N);
    return y;
}

static void must(cudaError_t status)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
    std::exit(1);
}

int main()
{
    const int rows = 40;
    std::vector<complex> x(rows * N), y(x.size()), z(x.size());
    std::vector<float> p(x.size());
    for (size_t i = 0; i < x.size(); i++)
        x[i] = std::cos(0.01f * i * i) + I * std::sin(0.3f * i);

    cuFloatComplex *data;
    float *spectrum;
    must(cudaMalloc((void **)&data, x.size() * sizeof(complex)));
    must(cudaMalloc((void **)&spectrum, p.size() * sizeof(float)));
    must(cudaMemcpy(data, x.data(), x.size() * sizeof(complex), cudaMemcpyHostToDevice));
    fft_rows<<<rows, N / 2>>>(data, FORWARD);
    must(cudaMemcpy(y.data(), data, y.size() * sizeof(complex), cudaMemcpyDeviceToHost));
    power<<<(rows * N + 255) / 256, 256>>>(data, spectrum, rows * N);
    must(cudaMemcpy(p.data(), spectrum, p.size() * sizeof(float), cudaMemcpyDeviceToHost));
    fft_rows<<<rows, N / 2>>>(data, INVERSE);
    must(cudaMemcpy(z.data(), data, z.size() * sizeof(complex), cudaMemcpyDeviceToHost));
    must(cudaFree(data));
    must(cudaFree(spectrum));

    double forward = 0, back = 0, absolute = 0;
    for (int r = 0; r < rows; r++) {
        auto expected = dft(&x[r * N]);
        for (int k = 0; k < N; k++) {
            forward = std::fmax(forward, std::abs(std::complex<double>(y[r * N + k]) - expected[k]));
            back = std::fmax(back, std::abs(z[r * N + k] - x[r * N + k]));
            absolute = std::fmax(absolute, std::abs(p[r * N + k] - std::abs(expected[k])));
        }
    }
    std::printf("errors: transform %.2e, back %.2e, spectrum %.2e\n", forward, back, absolute);
    bool good = forward < 1e-3 && back < 1e-5 && absolute < 1e-3;
    std::puts(good ? "OK" : "FAILED");
    return !good;
}
