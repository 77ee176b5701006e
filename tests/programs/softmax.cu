// Softmax of rows in half precision, a warp per row; sums in single precision.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <vector>

#if defined(__CUDACC__) && __CUDACC_VER_MAJOR__ < 9
#error "needs __shfl_xor_sync"
#endif

enum class Reduction { Max, Sum };

template <Reduction R>
static __device__ __forceinline__ float combine(float a, float b)
{
    if constexpr (R == Reduction::Max)
        return fmaxf(a, b);
    else
        return a + b;
}

template <Reduction R, int width = 32>
static __device__ float warp_reduce(float x)
{
#pragma unroll
    for (int mask = width / 2; mask > 0; mask /= 2)
        x = combine<R>(x, __shfl_xor_sync(0xffffffff, x, mask, width));
    return x;
}

/// Each lane holds per_lane pairs of a row in registers, so that the row is read once.
template <int per_lane>
__global__ void softmax_half2(const __half2 *__restrict__ x, __half2 *__restrict__ y, int rows, int pairs)
{
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;  // whole warps
    x += static_cast<int64_t>(row) * pairs;
    y += static_cast<int64_t>(row) * pairs;

    float2 values[per_lane];
    float largest = -FLT_MAX;
#pragma unroll
    for (int i = 0; i < per_lane; ++i) {
        const int at = i * 32 + threadIdx.x;
        values[i] = at < pairs ? __half22float2(x[at]) : make_float2(-INFINITY, -INFINITY);
        largest = fmaxf(largest, fmaxf(values[i].x, values[i].y));
    }
    largest = warp_reduce<Reduction::Max>(largest);
    float sum = 0;
#pragma unroll
    for (float2 &v : values) {
        v.x = __expf(v.x - largest);
        v.y = __expf(v.y - largest);
        sum += v.x + v.y;
    }
    sum = warp_reduce<Reduction::Sum>(sum);
    const float scale = __frcp_rn(sum);
#pragma unroll
    for (int i = 0; i < per_lane; ++i) {
        const int at = i * 32 + threadIdx.x;
        if (at < pairs) y[at] = __floats2half2_rn(values[i].x * scale, values[i].y * scale);
    }
}

/// A block per row, three passes, any width.
__global__ void softmax_block(const __half *x, __half *y, int width)
{
    __shared__ float s[32];
    const __half *row = x + static_cast<size_t>(blockIdx.x) * width;
    auto reduce = [&](auto value, auto op) {
        value = op(value, __shfl_xor_sync(~0u, value, 16));
        value = op(value, __shfl_xor_sync(~0u, value, 8));
        value = op(value, __shfl_xor_sync(~0u, value, 4));
        value = op(value, __shfl_xor_sync(~0u, value, 2));
        value = op(value, __shfl_xor_sync(~0u, value, 1));
        __syncthreads();
        if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = value;
        __syncthreads();
        value = s[0];
        for (unsigned w = 1; w < blockDim.x / 32; ++w) value = op(value, s[w]);
        return value;
    };
    float m = -INFINITY;
    for (int i = threadIdx.x; i < width; i += blockDim.x) m = fmaxf(m, __half2float(row[i]));
    m = reduce(m, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) sum += expf(__half2float(row[i]) - m);
    sum = reduce(sum, [](float a, float b) { return a + b; });
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        y[static_cast<size_t>(blockIdx.x) * width + i] = __float2half(expf(__half2float(row[i]) - m) / sum);
}

#define CHECK(expression)                                                                     \
    [&] {                                                                                     \
        const cudaError_t status = (expression);                                              \
        if (status != cudaSuccess) {                                                          \
            std::fprintf(stderr, "%s: %s\n", #expression, cudaGetErrorString(status));        \
            std::exit(EXIT_FAILURE);                                                          \
        }                                                                                     \
    }()

static float worst_error(const std::vector<__half> &in, const std::vector<__half> &out, int width)
{
    float worst = 0;
    for (size_t first = 0; first < in.size(); first += width) {
        double m = -INFINITY, sum = 0;
        for (int i = 0; i < width; ++i) m = std::fmax(m, __half2float(in[first + i]));
        for (int i = 0; i < width; ++i) sum += std::exp(__half2float(in[first + i]) - m);
        for (int i = 0; i < width; ++i) {
            float expected = std::exp(__half2float(in[first + i]) - m) / sum;
            worst = std::fmax(worst, std::fabs(expected - __half2float(out[first + i])));
        }
    }
    return worst;
}

int main()
{
    constexpr int rows = 500, width = 230;
    std::vector<__half> in(rows * width), out(in.size());
    for (size_t i = 0; i < in.size(); ++i) in[i] = __float2half(float(int(i * 7919 % 2001) - 1000) / 250);
    const size_t bytes = in.size() * sizeof(__half);
    __half *x, *y;
    CHECK(cudaMalloc(&x, bytes));
    CHECK(cudaMalloc(&y, bytes));
    CHECK(cudaMemcpy(x, in.data(), bytes, cudaMemcpyHostToDevice));

    softmax_half2<4><<<(rows + 3) / 4, dim3(32, 4)>>>(reinterpret_cast<__half2 *>(x),
                                                     reinterpret_cast<__half2 *>(y), rows, width / 2);
    CHECK(cudaMemcpy(out.data(), y, bytes, cudaMemcpyDeviceToHost));
    const float first = worst_error(in, out, width);

    CHECK(cudaMemset(y, 0, bytes));
    softmax_block<<<rows, 128>>>(x, y, width);
    CHECK(cudaMemcpy(out.data(), y, bytes, cudaMemcpyDeviceToHost));
    const float second = worst_error(in, out, width);

    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    std::printf("largest errors: %g, %g\n", first, second);
    if (!(first < 1e-4f && second < 1e-4f)) return EXIT_FAILURE;
    std::printf("OK\n");
    return EXIT_SUCCESS;
}
