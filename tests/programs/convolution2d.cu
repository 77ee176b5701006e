// 2D convolution with a filter in constant memory; the tile with its halo goes through shared
// memory. Border pixels are clamped.
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace filter {

template <int radius>
struct Geometry {
    static constexpr int side = 2 * radius + 1;
    static constexpr int count = side * side;
};

constexpr int max_radius = 3;
__constant__ float coefficients[Geometry<max_radius>::count];

namespace detail {
__device__ inline int clamp(int v, int low, int high) { return min(max(v, low), high); }
} // namespace detail

template <int radius, int tile_x = 32, int tile_y = 8>
__global__ void convolve(const float *__restrict__ in, float *__restrict__ out, int width, int height)
{
    constexpr int w = tile_x + 2 * radius, h = tile_y + 2 * radius;
    __shared__ float tile[h][w];

    const int left = blockIdx.x * tile_x - radius, top = blockIdx.y * tile_y - radius;
    for (int i = threadIdx.y * tile_x + threadIdx.x; i < w * h; i += tile_x * tile_y) {
        const int x = detail::clamp(left + i % w, 0, width - 1);
        const int y = detail::clamp(top + i / w, 0, height - 1);
        tile[i / w][i % w] = in[y * width + x];
    }
    __syncthreads();

    const int x = blockIdx.x * tile_x + threadIdx.x, y = blockIdx.y * tile_y + threadIdx.y;
    if (x < width && y < height) {
        float sum = 0;
#pragma unroll
        for (int dy = 0; dy < Geometry<radius>::side; ++dy)
#pragma unroll
            for (int dx = 0; dx < Geometry<radius>::side; ++dx)
                sum += tile[threadIdx.y + dy][threadIdx.x + dx] *
                       coefficients[dy * Geometry<radius>::side + dx];
        out[y * width + x] = sum;
    }
}

} // namespace filter

namespace {

using Filter = std::vector<float>;

Filter gaussian(int radius)
{
    Filter f;
    float sum = 0;
    for (int y = -radius; y <= radius; ++y)
        for (int x = -radius; x <= radius; ++x) {
            f.push_back(std::exp(-0.5f * (x * x + y * y)));
            sum += f.back();
        }
    for (float &c : f) c /= sum;
    return f;
}

Filter sharpen() { return {0, -1, 0, -1, 5, -1, 0, -1, 0}; }

// Made when the program starts.
const std::map<std::string, std::function<Filter()>> filters = {
    {"gaussian", [] { return gaussian(2); }},
    {"sharpen", sharpen},
    {"wide gaussian", [] { return gaussian(3); }},
};

template <int radius>
void launch(const float *in, float *out, int width, int height)
{
    const dim3 block{32, 8};
    const dim3 grid{(width + block.x - 1) / block.x, (height + block.y - 1) / block.y};
    filter::convolve<radius><<<grid, block>>>(in, out, width, height);
}

class Image {
public:
    Image(int width, int height) : width_(width), height_(height), pixels_(width * height) {}
    float &operator()(int x, int y) { return pixels_[y * width_ + x]; }
    float clamped(int x, int y) const
    {
        x = std::min(std::max(x, 0), width_ - 1);
        y = std::min(std::max(y, 0), height_ - 1);
        return pixels_[y * width_ + x];
    }
    float *data() { return pixels_.data(); }
    size_t bytes() const { return pixels_.size() * sizeof(float); }

private:
    int width_, height_;
    std::vector<float> pixels_;
};

bool same(const Image &source, Image &result, const Filter &f, int width, int height)
{
    const int side = static_cast<int>(std::lround(std::sqrt(f.size()))), radius = side / 2;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            double sum = 0;
            for (int i = 0; i < side * side; ++i)
                sum += double(f[i]) * source.clamped(x + i % side - radius, y + i / side - radius);
            if (!(std::abs(sum - result(x, y)) < 1e-4)) return false;
        }
    return true;
}

} // namespace

int main()
{
    const int width = 401, height = 307;
    Image image(width, height), result(width, height);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) image(x, y) = std::sin(0.1f * x) * std::cos(0.07f * y * y);
    float *in = nullptr, *out = nullptr;
    if (cudaMalloc(&in, image.bytes()) || cudaMalloc(&out, image.bytes())) {
        std::puts("no memory");
        return 1;
    }
    cudaMemcpy(in, image.data(), image.bytes(), cudaMemcpyHostToDevice);

    bool good = true;
    for (const auto &[name, make] : filters) {
        const Filter f = make();
        cudaMemcpyToSymbol(filter::coefficients, f.data(), f.size() * sizeof(float));
        switch (f.size()) {
        case 9: launch<1>(in, out, width, height); break;
        case 25: launch<2>(in, out, width, height); break;
        default: launch<3>(in, out, width, height);
        }
        if (cudaError_t error = cudaMemcpy(result.data(), out, image.bytes(), cudaMemcpyDeviceToHost)) {
            std::printf("%s: %s\n", name.c_str(), cudaGetErrorString(error));
            return 1;
        }
        const bool right = same(image, result, f, width, height);
        std::printf("%-14s %s\n", name.c_str(), right ? "right" : "wrong");
        good &= right;
    }
    cudaFree(in);
    cudaFree(out);
    std::puts(good ? "OK" : "FAILED");
    return !good;
}
