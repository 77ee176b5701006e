// N-body simulation with leapfrog steps. Positions are tiles in shared memory.
#include "cuda_runtime.h"
#include <cstdio>
#include <cmath>
#include <vector>
#include <chrono>

#define BLOCK_SIZE 128
#define SOFTENING 1e-3f
#define G (1.0f)

struct Bodies {
  float4 *position;   // x, y, z and mass
  float3 *velocity;
};

__device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ inline float3 operator*(float s, float3 v) { return make_float3(s * v.x, s * v.y, s * v.z); }
__device__ inline float3 &operator+=(float3 &a, const float3 &b) { return a = a + b; }

__device__ float3 interaction(float4 here, float4 there)
{
  float3 d = {there.x - here.x, there.y - here.y, there.z - here.z};
  float distSqr = d.x * d.x + d.y * d.y + d.z * d.z + SOFTENING;
  float invDist = rsqrtf(distSqr);
  return (G * there.w * invDist * invDist * invDist) * d;
}

__global__ __launch_bounds__(BLOCK_SIZE) void accelerate(Bodies bodies, int n, float dt)
{
  __shared__ float4 tile[BLOCK_SIZE];
  int i = blockIdx.x * BLOCK_SIZE + threadIdx.x;
  float4 here = i < n ? bodies.position[i] : make_float4(0.f, 0.f, 0.f, 0.f);
  float3 a = {0.f, 0.f, 0.f};

  for (int first = 0; first < n; first += BLOCK_SIZE) {
    int j = first + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies.position[j] : make_float4(0, 0, 0, 0);   // without mass
    __syncthreads();
    #pragma unroll 8
    for (int k = 0; k < BLOCK_SIZE; k++)
      a += interaction(here, tile[k]);
    __syncthreads();
  }
  if (i < n)
    bodies.velocity[i] += dt * a;
}

__global__ void move(Bodies bodies, int n, float dt)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 p = bodies.position[i];
  const float3 v = bodies.velocity[i];
  p.x += dt * v.x;
  p.y += dt * v.y;
  p.z += dt * v.z;
  bodies.position[i] = p;
}

#define CUDA_TRY(...)                                                     \
  if (auto status = (__VA_ARGS__); status != cudaSuccess) {               \
    std::printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
    return 1;                                                             \
  }

float uniform()
{
  static unsigned state = 12345;
  state = state * 1664525u + 1013904223u;
  return (state >> 8) / float(1 << 24) * 2.0f - 1.0f;
}

int main()
{
  const int n = 1000, steps = 5;
  const float dt = 0.01f;
  std::vector<float4> p(n);
  std::vector<float3> v(n, float3{0, 0, 0});
  for (auto &one : p) one = make_float4(uniform(), uniform(), uniform(), 1.0f / n);
  auto q = p;
  auto w = v;

  Bodies bodies;
  CUDA_TRY(cudaMalloc(&bodies.position, n * sizeof(float4)));
  CUDA_TRY(cudaMalloc(&bodies.velocity, n * sizeof(float3)));
  CUDA_TRY(cudaMemcpy(bodies.position, p.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
  CUDA_TRY(cudaMemcpy(bodies.velocity, v.data(), n * sizeof(float3), cudaMemcpyHostToDevice));
  int blocks = (n + BLOCK_SIZE - 1) / BLOCK_SIZE;
  auto begin = std::chrono::high_resolution_clock::now();
  for (int s = 0; s < steps; s++) {
    accelerate<<<blocks, BLOCK_SIZE>>>(bodies, n, dt);
    move<<<blocks, BLOCK_SIZE>>>(bodies, n, dt);
  }
  CUDA_TRY(cudaDeviceSynchronize());
  std::chrono::duration<double> seconds = std::chrono::high_resolution_clock::now() - begin;
  std::printf("%.3f billion interactions / second\n", 1e-9 * n * n * steps / seconds.count());
  CUDA_TRY(cudaMemcpy(p.data(), bodies.position, n * sizeof(float4), cudaMemcpyDeviceToHost));

  for (int s = 0; s < steps; s++) {
    for (int i = 0; i < n; i++) {
      double a[3] = {};
      for (int j = 0; j < n; j++) {
        double dx = q[j].x - q[i].x, dy = q[j].y - q[i].y, dz = q[j].z - q[i].z;
        double f = q[j].w * std::pow(dx * dx + dy * dy + dz * dz + SOFTENING, -1.5);
        a[0] += f * dx; a[1] += f * dy; a[2] += f * dz;
      }
      w[i].x += dt * a[0]; w[i].y += dt * a[1]; w[i].z += dt * a[2];
    }
    for (int i = 0; i < n; i++) { q[i].x += dt * w[i].x; q[i].y += dt * w[i].y; q[i].z += dt * w[i].z; }
  }
  float worst = 0;
  for (int i = 0; i < n; i++)
    worst = std::fmax(worst, std::fabs(p[i].x - q[i].x) + std::fabs(p[i].y - q[i].y) + std::fabs(p[i].z - q[i].z));
  cudaFree(bodies.position);
  cudaFree(bodies.velocity);
  std::printf("largest deviation %g\n%s\n", worst, worst < 1e-4f ? "OK" : "FAILED");
  return worst < 1e-4f ? 0 : 1;
}
