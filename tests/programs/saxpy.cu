// y <- a * x + y, in C++17: buffers that free themselves, errors as exceptions, a timer.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

namespace cuda_utils {

class Error : public std::runtime_error {
public:
    Error(cudaError_t code, std::string_view what)
        : std::runtime_error{std::string{what} + ": " + cudaGetErrorString(code)}, code_{code}
    {
    }
    [[nodiscard]] cudaError_t code() const noexcept { return code_; }

private:
    cudaError_t code_;
};

inline void check(cudaError_t code, std::string_view what)
{
    if (code != cudaSuccess) {
        throw Error(code, what);
    }
}

template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(std::size_t n) : size_{n}
    {
        T *raw = nullptr;
        check(cudaMalloc(&raw, n * sizeof(T)), "cudaMalloc");
        data_.reset(raw);
    }
    explicit DeviceBuffer(const std::vector<T> &from) : DeviceBuffer(from.size())
    {
        check(cudaMemcpy(get(), from.data(), bytes(), cudaMemcpyHostToDevice), "copy to device");
    }
    DeviceBuffer(const DeviceBuffer &) = delete;
    DeviceBuffer &operator=(const DeviceBuffer &) = delete;
    DeviceBuffer(DeviceBuffer &&) noexcept = default;

    T *get() { return data_.get(); }
    std::size_t bytes() const { return size_ * sizeof(T); }
    operator std::vector<T>() const
    {
        std::vector<T> host(size_);
        check(cudaMemcpy(host.data(), data_.get(), bytes(), cudaMemcpyDeviceToHost), "copy to host");
        return host;
    }

private:
    struct Deleter {
        void operator()(T *p) const noexcept { cudaFree(p); }
    };
    std::unique_ptr<T, Deleter> data_;
    std::size_t size_;
};

} // namespace cuda_utils

// Grid-stride loop: any grid covers any n.
__global__ void saxpy(std::size_t n, float a, const float *__restrict__ x, float *__restrict__ y)
{
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < n;
         i += stride) {
        y[i] = fmaf(a, x[i], y[i]);
    }
}

namespace {

constexpr std::size_t operator""_Ki(unsigned long long n) { return n * 1024; }

const auto program_start = std::chrono::steady_clock::now();

struct Options {
    std::size_t n = 1000_Ki;
    float a = 2.5f;
    int repeats = 20;
};

Options parse(int argc, char **argv)
{
    Options options;
    if (argc > 1) {
        options.n = std::stoull(argv[1]);
    }
    if (argc > 2) {
        options.a = std::stof(argv[2]);
    }
    return options;
}

template <typename F>
double milliseconds(F &&work)
{
    cudaEvent_t begin, end;
    cuda_utils::check(cudaEventCreate(&begin), "event");
    cuda_utils::check(cudaEventCreate(&end), "event");
    cudaEventRecord(begin);
    std::forward<F>(work)();
    cudaEventRecord(end);
    cuda_utils::check(cudaEventSynchronize(end), "synchronize");
    float ms = 0.0f;
    cudaEventElapsedTime(&ms, begin, end);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return ms;
}

} // namespace

int main(int argc, char **argv)
try {
    const auto [n, a, repeats] = parse(argc, argv);
    std::vector<float> x(n), y(n, 1.0f);
    std::iota(x.begin(), x.end(), -0.5f * static_cast<float>(n));

    cuda_utils::DeviceBuffer<float> dx{x}, dy{y}, scratch{y};
    saxpy<<<(n + 255) / 256, 256>>>(n, a, dx.get(), dy.get());
    cuda_utils::check(cudaGetLastError(), "saxpy");
    const std::vector<float> result = dy;

    auto launch = [&, repeats = repeats, n = n, a = a] {
        for (int i = 0; i < repeats; ++i) {
            saxpy<<<132, 256>>>(n, a, dx.get(), scratch.get());
        }
    };
    const double ms = milliseconds(launch) / repeats;
    std::cout << n << " elements, " << ms << " ms, " << 3e-6 * n * sizeof(float) / ms << " GB/s\n";

    const bool good = std::equal(
        x.begin(), x.end(), result.begin(),
        [a = a](float xi, float yi) { return std::abs(std::fma(a, xi, 1.0f) - yi) <= 1e-6f * std::abs(yi); });
    const std::chrono::duration<double> total = std::chrono::steady_clock::now() - program_start;
    std::cout << "total " << total.count() << " s\n" << (good ? "OK" : "FAILED") << '\n';
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
}
