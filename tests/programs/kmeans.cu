// One step of k-means in the plane: assign each point to its nearest centre, then move the centres
// to the means of their points. The sums of a block are collected in shared memory.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <cuda_runtime.h>

namespace kmeans {

constexpr int K = 8;

struct Centre {
  float2 position;
  int members;
};

struct alignas(16) Sum {
  double x = 0, y = 0;
  int count = 0;
};

static_assert(sizeof(Sum) == 32 && alignof(Sum) == 16, "as on the device");

__constant__ Centre centres[K];

__host__ __device__ inline float squared_distance(float2 a, float2 b)
{
  const float dx = a.x - b.x, dy = a.y - b.y;
  return dx * dx + dy * dy;
}

__global__ void assign(const float2 *points, std::uint8_t *labels, int n)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float2 p = points[i];
    auto best = 0;
    auto distance = FLT_MAX;
    for (int k = 0; k < K; ++k)
      if (const float d = squared_distance(p, centres[k].position); d < distance) {
        distance = d;
        best = k;
      }
    labels[i] = static_cast<std::uint8_t>(best);
  }
}

__global__ void accumulate(const float2 *points, const std::uint8_t *labels, Sum *sums, int n)
{
  __shared__ float x[K], y[K];
  __shared__ int count[K];
  if (threadIdx.x < K) {
    x[threadIdx.x] = y[threadIdx.x] = 0;
    count[threadIdx.x] = 0;
  }
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const int k = labels[i];
    atomicAdd(&x[k], points[i].x);
    atomicAdd(&y[k], points[i].y);
    atomicAdd(&count[k], 1);
  }
  __syncthreads();
  if (const int k = threadIdx.x; k < K) {
    atomicAdd(&sums[k].x, static_cast<double>(x[k]));
    atomicAdd(&sums[k].y, static_cast<double>(y[k]));
    atomicAdd(&sums[k].count, count[k]);
  }
}

class Solver {
 public:
  explicit Solver(std::vector<float2> points) : points_(std::move(points)), centres_(K)
  {
    for (int k = 0; k < K; ++k) centres_[k] = {points_[k * points_.size() / K], 0};
    allocate();
  }
  ~Solver() { release(); }
  Solver(const Solver &) = delete;

  std::optional<std::string> step();
  const std::vector<Centre> &centres() const { return centres_; }

 private:
  void allocate()
  {
    cudaMalloc(&d_points_, points_.size() * sizeof(float2));
    cudaMalloc(&d_labels_, points_.size());
    cudaMalloc(&d_sums_, K * sizeof(Sum));
    cudaMemcpy(d_points_, points_.data(), points_.size() * sizeof(float2), cudaMemcpyHostToDevice);
  }
  void release() noexcept
  {
    for (void *p : std::initializer_list<void *>{d_points_, d_labels_, d_sums_}) cudaFree(p);
  }

  std::vector<float2> points_;
  std::vector<Centre> centres_;
  float2 *d_points_ = nullptr;
  std::uint8_t *d_labels_ = nullptr;
  Sum *d_sums_ = nullptr;
};

std::optional<std::string> Solver::step()
{
  const int n = static_cast<int>(points_.size());
  cudaMemcpyToSymbol(kmeans::centres, centres_.data(), K * sizeof(Centre));
  cudaMemset(d_sums_, 0, K * sizeof(Sum));
  assign<<<64, 256>>>(d_points_, d_labels_, n);
  accumulate<<<64, 256>>>(d_points_, d_labels_, d_sums_, n);
  std::vector<Sum> sums(K);
  if (auto e = cudaMemcpy(sums.data(), d_sums_, K * sizeof(Sum), cudaMemcpyDeviceToHost); e != cudaSuccess)
    return cudaGetErrorString(e);
  for (int k = 0; k < K; ++k)
    if (const auto &[x, y, count] = sums[k]; count)
      centres_[k] = {{static_cast<float>(x / count), static_cast<float>(y / count)}, count};
  return std::nullopt;
}

} // namespace kmeans

auto reference_step(const std::vector<float2> &points, std::vector<kmeans::Centre> centres)
    -> std::vector<kmeans::Centre>
{
  std::vector<kmeans::Sum> sums(kmeans::K);
  for (const auto &p : points) {
    const auto nearest = std::min_element(centres.begin(), centres.end(), [&](const auto &a, const auto &b) {
      return kmeans::squared_distance(p, a.position) < kmeans::squared_distance(p, b.position);
    });
    auto &sum = sums[nearest - centres.begin()];
    sum.x += p.x, sum.y += p.y, ++sum.count;
  }
  for (int k = 0; k < kmeans::K; ++k)
    if (sums[k].count)
      centres[k] = {{float(sums[k].x / sums[k].count), float(sums[k].y / sums[k].count)}, sums[k].count};
  return centres;
}

int main()
{
  std::mt19937 engine(2024);
  std::normal_distribution<float> normal;
  std::vector<float2> points(20000);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = {normal(engine) + 6 * std::cos(0.785f * (i % 8)), normal(engine) + 6 * std::sin(0.785f * (i % 8))};

  kmeans::Solver solver(points);
  auto expected = solver.centres();
  for (int i = 0; i < 3; ++i) {
    expected = reference_step(points, expected);
    if (const auto error = solver.step()) {
      std::cerr << *error << '\n';
      return 1;
    }
  }
  bool good = true;
  for (int k = 0; k < kmeans::K; ++k) {
    const auto &[position, members] = solver.centres()[k];
    std::printf("%d: (%8.4f, %8.4f) %d\n", k, position.x, position.y, members);
    good &= std::abs(members - expected[k].members) <= 20 &&
            kmeans::squared_distance(position, expected[k].position) < 1e-3f;
  }
  std::puts(good ? "OK" : "FAILED");
  return good ? 0 : 1;
}
