// Evaluating polynomials after Horner, and applying function objects: templates with values, types
// and packs, constants of the host that the device uses too.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <type_traits>
#include <vector>
#include <cuda_runtime.h>

namespace math {
inline namespace v1 {

constexpr int kDegree = 6;
__device__ __constant__ double kTaylor[kDegree + 1] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720};

// c[0] + c[1] x + ... + c[degree] x^degree, unrolled by recursion.
template <int degree>
struct Horner {
    template <typename T>
    static __host__ __device__ __forceinline__ T at(const T *c, T x)
    {
        return c[0] + x * Horner<degree - 1>::at(c + 1, x);
    }
};
template <>
struct Horner<0> {
    template <typename T>
    static __host__ __device__ __forceinline__ T at(const T *c, T) { return c[0]; }
};

template <typename T, T... coefficients>
struct Polynomial {
    __host__ __device__ T operator()(T x) const
    {
        constexpr T c[] = {coefficients...};
        T sum = 0;
        for (int i = sizeof...(coefficients) - 1; i >= 0; --i)
            sum = sum * x + c[i];
        return sum;
    }
    bool operator<(const Polynomial &) const { return false; }
    bool operator>(const Polynomial &) const { return false; }
};

struct Clamp {
    int low, high;
    __host__ __device__ int operator()(int x) const { return x < low ? low : x > high ? high : x; }
};

template <typename... Fs>
struct Chain;
template <typename F>
struct Chain<F> {
    F f;
    template <typename T> __host__ __device__ auto operator()(T x) const { return f(x); }
};
template <typename F, typename... Rest>
struct Chain<F, Rest...> {
    F f;
    Chain<Rest...> rest;
    template <typename T> __host__ __device__ auto operator()(T x) const { return rest(f(x)); }
};

} // namespace v1
} // namespace math

__global__ void exponential(const double *x, double *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = math::Horner<math::kDegree>::at(math::kTaylor, x[i]);
}

template <typename F, typename In, typename Out>
__global__ void transform(const In *in, Out *out, int n, F f)
{
    static_assert(std::is_convertible_v<decltype(f(in[0])), Out>);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = f(in[i]);
}

using Cubic = math::Polynomial<int, 1, -2, 0, 3>;
using Clamped = math::Chain<Cubic, math::Clamp>;

template <typename F>
void check_transform(const char *name, F f, const std::vector<int> &x, bool &good)
{
    int *in, *out;
    const size_t bytes = x.size() * sizeof(int);
    std::vector<int> y(x.size());
    cudaMalloc(&in, bytes), cudaMalloc(&out, bytes);
    cudaMemcpy(in, x.data(), bytes, cudaMemcpyHostToDevice);
    transform<<<8, 128>>>(in, out, (int)x.size(), f);
    cudaError_t status = cudaMemcpy(y.data(), out, bytes, cudaMemcpyDeviceToHost);
    bool right = status == cudaSuccess;
    for (size_t i = 0; i < x.size(); ++i) right = right && y[i] == f(x[i]);
    std::printf("%-10s %s\n", name, right ? "right" : cudaGetErrorString(status));
    good = good && right;
    cudaFree(in), cudaFree(out);
}

// A table of what there is to do, with functions of the host in it.
static bool run_exponential();
static bool run_transforms();
struct Task {
    const char *name;
    bool (*run)();
};
static const Task tasks[] = {{"exponential", run_exponential}, {"transforms", run_transforms}};

static bool run_exponential()
{
    const int n = 1000;
    double *x, *y;
    cudaMallocManaged(&x, n * sizeof(double));
    cudaMallocManaged(&y, n * sizeof(double));
    for (int i = 0; i < n; ++i) x[i] = -0.1 + 0.0002 * i;
    exponential<<<(n + 127) / 128, 128>>>(x, y, n);
    bool good = cudaDeviceSynchronize() == cudaSuccess;
    for (int i = 0; i < n; ++i) good = good && std::fabs(y[i] - std::exp(x[i])) < 1e-9;
    cudaFree(x);
    cudaFree(y);
    return good;
}

static bool run_transforms()
{
    std::vector<int> x(5000);
    for (size_t i = 0; i < x.size(); ++i) x[i] = int(i % 401) - 200;
    bool good = true;
    check_transform("cubic", Cubic{}, x, good);
    check_transform("clamped", Clamped{{}, {math::Clamp{-1000, 1000}}}, x, good);
    return good;
}

int main()
{
    int failures = 0;
    for (const Task &task : tasks) {
        const bool good = task.run();
        std::printf("%s: %s\n", task.name, good ? "passed" : "failed");
        failures += !good;
    }
    if (failures == 0) std::printf("OK\n");
    return failures;
}
