// Pi by Monte Carlo: the share of random points of the unit square that lie in the circle.
// Each thread has a generator of its own (xorshift64*, seeded by splitmix64).
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

class Generator
{
  public:
    __host__ __device__ explicit Generator(std::uint64_t seed, std::uint64_t stream)
        : state(mix(seed + stream * 0x9e3779b97f4a7c15ull) | 1)
    {
    }

    // Uniform in [0, 1).
    __host__ __device__ float uniform() { return (next() >> 8) * (1.0f / 16777216.0f); }

    __host__ __device__ std::uint32_t next()
    {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return static_cast<std::uint32_t>((state * 0x2545f4914f6cdd1dull) >> 32);
    }

  private:
    __host__ __device__ static std::uint64_t mix(std::uint64_t z)
    {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }

    std::uint64_t state;
};

__host__ __device__ inline unsigned throw_darts(Generator &g, unsigned darts)
{
    unsigned hits = 0;
    while (darts--) {
        // Multiples of 2^-24: the squares are compared as integers, so hosts and GPUs agree.
        std::uint64_t x = g.next() >> 8, y = g.next() >> 8;
        hits += x * x + y * y < (std::uint64_t(1) << 48);
    }
    return hits;
}

__global__ void estimate(unsigned long long *total, std::uint64_t seed, unsigned darts)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    Generator g(seed, thread);
    unsigned hits = throw_darts(g, darts);

    for (int offset = 16; offset; offset >>= 1)
        hits += __shfl_xor_sync(~0u, hits, offset);
    if (threadIdx.x % warpSize == 0)
        atomicAdd(total, (unsigned long long)hits);
}

// The mean of a sequence, to look at the generator itself.
__global__ void sample(float *out, std::uint64_t seed, int per_thread)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    Generator g{seed, (std::uint64_t)thread};
    for (int i = 0; i < per_thread; ++i)
        out[i * threads + thread] = g.uniform();
}

template <class T>
static T *device_zeros(size_t n)
{
    T *p = nullptr;
    if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess || cudaMemset(p, 0, n * sizeof(T)) != cudaSuccess) {
        std::fputs("out of memory\n", stderr);
        std::exit(1);
    }
    return p;
}

int main(int argc, char **argv)
{
    const unsigned blocks = 64, threads = 256, darts = argc > 1 ? std::strtoul(argv[1], 0, 10) : 1000;
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], 0, 0) : 42;

    auto *total = device_zeros<unsigned long long>(1);
    estimate<<<blocks, threads>>>(total, seed, darts);
    unsigned long long hits = 0, expected = 0;
    if (cudaError_t e = cudaMemcpy(&hits, total, sizeof hits, cudaMemcpyDeviceToHost)) {
        std::fprintf(stderr, "%s\n", cudaGetErrorName(e));
        return 1;
    }
    for (unsigned t = 0; t < blocks * threads; ++t) {
        Generator g(seed, t);
        expected += throw_darts(g, darts);
    }
    double all = double(blocks) * threads * darts, pi = 4 * hits / all;
    std::printf("pi is about %.5f (%llu of %.0f)\n", pi, hits, all);

    const int n = 128 * 16;
    float *values = device_zeros<float>(n), host[n];
    sample<<<1, 128>>>(values, seed, 16);
    cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost);
    double mean = 0;
    for (float v : host) mean += v / n;
    std::printf("mean of %d numbers: %.4f\n", n, mean);

    cudaFree(values);
    cudaFree(total);
    bool good = hits == expected && std::abs(pi - M_PI) < 0.01 && std::abs(mean - 0.5) < 0.05;
    std::puts(good ? "OK" : "FAILED");
    return good ? 0 : 1;
}
