// Matrix multiplication, naive and tiled
// compile: nvcc -O3 -o matmul matmul.cu

#include <cuda_runtime.h>
#include <iostream>
#include <iomanip>
#include <vector>
#include <random>
#include <cmath>
using namespace std;

#define cudaCheck(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true)
{
  if (code != cudaSuccess) {
    cerr << "GPUassert: " << cudaGetErrorString(code) << " " << file << " " << line << endl;
    if (abort) exit(code);
  }
}

typedef float real;

// One thread per element of C, everything from global memory.
__global__ void matmul_naive(const real *A, const real *B, real *C, int M, int N, int K)
{
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < M && col < N) {
    real sum = 0;
    for (int k = 0; k < K; k++)
      sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
  }
}

// Tiles of A and B go through shared memory.
template <int TILE>
__global__ void matmul_tiled(const real *A, const real *B, real *C, int M, int N, int K)
{
  __shared__ real As[TILE][TILE];
  __shared__ real Bs[TILE][TILE];

  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty;
  int col = blockIdx.x * TILE + tx;
  real sum = 0;

  for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
    int k = t * TILE;
    As[ty][tx] = (row < M && k + tx < K) ? A[row * K + k + tx] : 0;
    Bs[ty][tx] = (k + ty < K && col < N) ? B[(k + ty) * N + col] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++)
      sum += As[ty][i] * Bs[i][tx];
    __syncthreads();   // the tile is overwritten next
  }
  if (row < M && col < N)
    C[row * N + col] = sum;
}

typedef void (*Kernel)(const real *, const real *, real *, int, int, int);

static const struct {
  const char *name;
  Kernel kernel;
  int tile;
} variants[] = {
  {"naive", matmul_naive, 16},
  {"tiled 16 x 16", matmul_tiled<16>, 16},
  {"tiled 32 x 32", matmul_tiled<32>, 32},
};

vector<real> multiply(const vector<real> &a, const vector<real> &b, int m, int n, int k)
{
  vector<real> c(m * n);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int l = 0; l < k; l++)
        sum += a[i * k + l] * b[l * n + j];
      c[i * n + j] = sum;
    }
  return c;
}

int main()
{
  const int M = 250, N = 190, K = 333;
  mt19937 generator(1234);
  uniform_real_distribution<real> uniform(-1, 1);
  vector<real> a(M * K), b(K * N), c(M * N);
  for (auto &x : a) x = uniform(generator);
  for (auto &x : b) x = uniform(generator);
  const vector<real> expected = multiply(a, b, M, N, K);

  real *dA, *dB, *dC;
  cudaCheck(cudaMalloc(&dA, a.size() * sizeof(real)));
  cudaCheck(cudaMalloc(&dB, b.size() * sizeof(real)));
  cudaCheck(cudaMalloc(&dC, c.size() * sizeof(real)));
  cudaCheck(cudaMemcpy(dA, a.data(), a.size() * sizeof(real), cudaMemcpyHostToDevice));
  cudaCheck(cudaMemcpy(dB, b.data(), b.size() * sizeof(real), cudaMemcpyHostToDevice));
  cudaEvent_t start, stop;
  cudaCheck(cudaEventCreate(&start));
  cudaCheck(cudaEventCreate(&stop));

  bool good = true;
  for (const auto &variant : variants) {
    cudaCheck(cudaMemset(dC, 0xff, c.size() * sizeof(real)));
    dim3 threads(variant.tile, variant.tile);
    dim3 blocks((N + threads.x - 1) / threads.x, (M + threads.y - 1) / threads.y);
    cudaCheck(cudaEventRecord(start));
    variant.kernel<<<blocks, threads>>>(dA, dB, dC, M, N, K);
    cudaCheck(cudaEventRecord(stop));
    cudaCheck(cudaEventSynchronize(stop));
    float ms = 0;
    cudaCheck(cudaEventElapsedTime(&ms, start, stop));
    cudaCheck(cudaMemcpy(c.data(), dC, c.size() * sizeof(real), cudaMemcpyDeviceToHost));
    real worst = 0;
    for (size_t i = 0; i < c.size(); i++)
      worst = isnan(c[i]) ? INFINITY : max(worst, abs(c[i] - expected[i]));
    cout << setw(15) << variant.name << setw(10) << fixed << setprecision(3) << ms << " ms"
         << "  largest error " << scientific << worst << endl;
    good = good && worst < 1e-4;
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  cudaFree(dA); cudaFree(dB); cudaFree(dC);
  cout << (good ? "OK" : "FAILED") << endl;
  return !good;
}
