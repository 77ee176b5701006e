// Stream compaction: keeps the elements for which a predicate holds, in their order.
// Flags -> exclusive prefix sum -> scatter; the counts of warps come from ballots.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <type_traits>
#include <vector>
#include <cuda_runtime.h>

namespace predicates
{
    struct positive
    {
        template <class T> __host__ __device__ bool operator()(T x) const { return x > T(0); }
    };

    // Of class type with a parameter of its own.
    template <int d>
    struct multiple_of
    {
        static_assert(d > 0, "a divisor");
        __host__ __device__ constexpr bool operator()(int x) const noexcept { return x % d == 0; }
    };
}

constexpr int kThreads = 256;
constexpr unsigned kFull = 0xffff'ffffu;

__device__ inline int lane_id() { return threadIdx.x & 31; }
__device__ inline unsigned lanes_below() { return (1u << lane_id()) - 1u; }

template <typename T, typename Predicate>
__global__ void count_kernel(const T *in, int n, int *counts, Predicate keep)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int count = __syncthreads_count(i < n && keep(in[i]));
    if (threadIdx.x == 0)
        counts[blockIdx.x] = count;
}

// One block: makes counts their exclusive prefix sum; total gets their sum.
__global__ void scan_counts(int *counts, int blocks, int *total)
{
    __shared__ int warps[32];
    __shared__ int carry;
    if (threadIdx.x == 0) carry = 0;
    __syncthreads();
    for (int first = 0; first < blocks; first += blockDim.x) {
        int i = first + threadIdx.x;
        int own = i < blocks ? counts[i] : 0, sum = own;
        for (int d = 1; d < 32; d *= 2) {
            int other = __shfl_up_sync(kFull, sum, d);
            if (lane_id() >= d) sum += other;
        }
        if (lane_id() == 31) warps[threadIdx.x / 32] = sum;
        __syncthreads();
        if (threadIdx.x < 32) {
            int s = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
            for (int d = 1; d < 32; d *= 2) {
                int other = __shfl_up_sync(kFull, s, d);
                if (lane_id() >= d) s += other;
            }
            warps[threadIdx.x] = s;
        }
        __syncthreads();
        int before = carry + (threadIdx.x >= 32 ? warps[threadIdx.x / 32 - 1] : 0);
        if (i < blocks) counts[i] = before + sum - own;
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1) carry = before + sum;
        __syncthreads();
    }
    if (threadIdx.x == 0) *total = carry;
}

template <typename T, typename Predicate>
__global__ void scatter_kernel(const T *in, int n, const int *offsets, T *out, Predicate keep)
{
    __shared__ int base[kThreads / 32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / 32;
    const bool kept = i < n && keep(in[i]);
    const unsigned ballot = __ballot_sync(kFull, kept);
    if (lane_id() == 0) base[warp] = __popc(ballot);
    __syncthreads();
    if (kept) {
        int at = offsets[blockIdx.x] + __popc(ballot & lanes_below());
        for (int w = 0; w < warp; ++w) at += base[w];
        out[at] = in[i];
    }
}

template <typename T, typename Predicate>
std::vector<T> compact(const std::vector<T> &host, Predicate keep)
{
    static_assert(std::is_trivially_copyable<T>::value, "copied as bytes");
    const int n = static_cast<int>(host.size()), blocks = (n + kThreads - 1) / kThreads;
    T *in, *out;
    int *counts, *total, size = 0;
    cudaMalloc(&in, n * sizeof(T));
    cudaMalloc(&out, n * sizeof(T));
    cudaMalloc(&counts, blocks * sizeof(int));
    cudaMalloc(&total, sizeof(int));
    cudaMemcpy(in, host.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    count_kernel<<<blocks, kThreads>>>(in, n, counts, keep);
    scan_counts<<<1, 256>>>(counts, blocks, total);
    scatter_kernel<T, Predicate><<<blocks, kThreads>>>(in, n, counts, out, keep);
    if (cudaMemcpy(&size, total, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) std::abort();
    std::vector<T> result(size);
    cudaMemcpy(result.data(), out, size * sizeof(T), cudaMemcpyDeviceToHost);
    for (void *p : {(void *)in, (void *)out, (void *)counts, (void *)total}) cudaFree(p);
    return result;
}

template <typename T, typename Predicate>
bool test(const char *what, const std::vector<T> &data, Predicate keep)
{
    std::vector<T> expected;
    std::copy_if(data.begin(), data.end(), std::back_inserter(expected), keep);
    const bool same = compact(data, keep) == expected;
    std::printf("%s: %zu of %zu kept, %s\n", what, expected.size(), data.size(), same ? "right" : "wrong");
    return same;
}

int main()
{
    std::mt19937_64 engine{7};
    std::vector<int> whole(300'001);
    std::vector<float> real(77'777);
    for (auto &x : whole) x = std::uniform_int_distribution<int>{-1000, 1000}(engine);
    for (auto &x : real) x = std::normal_distribution<float>{}(engine);
    const bool good = test("positive", whole, predicates::positive{}) &
                      test("multiples of 7", whole, predicates::multiple_of<7>{}) &
                      test("positive floats", real, predicates::positive{});
    std::puts(good ? "OK" : "FAILED");
    return good ? 0 : 1;
}
