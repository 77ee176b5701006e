// Сортировка чётно-нечётными перестановками (odd-even transposition sort).
// Один запуск ядра на фазу; массив лежит в управляемой памяти.
#include <iostream>
#include <cstdlib>
#include <ctime>
using std::cout; using std::endl;

#define N 1500

// Меняет соседей местами, если они стоят не по порядку.
__device__ void order(int& a, int& b) {
  if (a > b) { int t = a; a = b; b = t; }
}

__global__ void phase(int* data, int n, int odd) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + odd;
  if (i + 1 < n) order(data[i], data[i + 1]);
}

// Один блок сортирует всё за один запуск; changed говорит, когда можно остановиться.
__global__ void sort_block(int *data, int n, int *rounds) {
  extern __shared__ int s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = data[i];
  __syncthreads();
  int changed, count = 0;
  do {
    changed = 0;
    for (int odd = 0; odd < 2; ++odd) {
      for (int i = 2 * threadIdx.x + odd; i + 1 < n; i += 2 * blockDim.x)
        if (s[i] > s[i + 1]) {
          order(s[i], s[i + 1]);
          changed = 1;
        }
      __syncthreads();
    }
    ++count;
  } while (__syncthreads_or(changed));
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = s[i];
  if (threadIdx.x == 0) *rounds = count;
}

#define ASSERT_CUDA(x) if ((x) != cudaSuccess) { cout << "ошибка в строке " << __LINE__ << endl; exit(1); }

bool sorted(const int* a, int n) {
  for (int i = 1; i < n; ++i)
    if (a[i - 1] > a[i]) return false;
  return true;
}

int main() {
  int *a, *b, *rounds;
  ASSERT_CUDA(cudaMallocManaged(&a, N * sizeof(int)));
  ASSERT_CUDA(cudaMallocManaged(&b, N * sizeof(int)));
  ASSERT_CUDA(cudaMallocManaged(&rounds, sizeof(int), cudaMemAttachGlobal));
  srand((unsigned)time(NULL));
  long long before = 0, after = 0;
  for (int i = 0; i < N; ++i) before += (a[i] = b[i] = rand() % 1000) * 31LL;

  const int threads = 128, blocks = (N / 2 + threads - 1) / threads;
  for (int i = 0; i < N; ++i)
    phase<<<blocks, threads>>>(a, N, i & 1);
  sort_block<<<1, 256, N * sizeof(int)>>>(b, N, rounds);
  ASSERT_CUDA(cudaGetLastError());
  ASSERT_CUDA(cudaDeviceSynchronize());

  bool same = true;
  for (int i = 0; i < N; ++i) { after += a[i] * 31LL; same = same && a[i] == b[i]; }
  bool good = sorted(a, N) && before == after && same;
  cout << "rounds: " << *rounds << endl << (good ? "OK" : "FAILED") << endl;
  ASSERT_CUDA(cudaFree(a)); ASSERT_CUDA(cudaFree(b)); ASSERT_CUDA(cudaFree(rounds));
  return !good;
}
