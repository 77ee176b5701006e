// Dot product with cooperative groups: tiles, a grid that waits for itself, pinned memory, streams.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>

namespace cg = cooperative_groups;

#define checkCudaErrors(val) check((val), #val, __FILE__, __LINE__)

template <typename T>
void check(T result, char const *const func, const char *const file, int const line)
{
  if (result) {
    fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\" \n", file, line,
            static_cast<unsigned int>(result), cudaGetErrorName(result), func);
    exit(EXIT_FAILURE);
  }
}

__device__ double thread_sum(cg::grid_group grid, const float *__restrict__ x, const float *__restrict__ y, size_t n)
{
  double sum = 0;
  for (size_t i = grid.thread_rank(); i < n; i += grid.size())
    sum += (double)x[i] * y[i];
  return sum;
}

// Partial sums of blocks; the first block adds them when all blocks have stored theirs.
__global__ void dot_cooperative(const float *x, const float *y, double *partial, double *result, size_t n)
{
  auto grid = cg::this_grid();
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  extern __shared__ double sdata[];

  double sum = thread_sum(grid, x, y, n);
  sum = cg::reduce(tile, sum, cg::plus<double>());
  if (tile.thread_rank() == 0)
    sdata[tile.meta_group_rank()] = sum;
  cg::sync(block);
  if (block.thread_rank() == 0) {
    double s = 0;
    for (int i = 0; i < tile.meta_group_size(); i++)
      s += sdata[i];
    partial[block.group_index().x] = s;
  }
  cg::sync(grid);
  if (grid.thread_rank() == 0) {
    double s = 0;
    for (unsigned b = 0; b < grid.group_dim().x; b++)
      s += partial[b];
    *result = s;
  }
}

// Without a barrier of the grid: a block adds its sum atomically.
__global__ void dot_atomic(const float2 *x, const float2 *y, float *result, int pairs)
{
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  __shared__ float sum;

  if (block.thread_rank() == 0) sum = 0.0f;
  block.sync();
  float mine = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x) {
    float2 a = x[i], b = y[i];
    mine = fmaf(a.x, b.x, fmaf(a.y, b.y, mine));
  }
  for (int offset = tile.size() / 2; offset > 0; offset /= 2)
    mine += tile.shfl_down(mine, offset);
  if (tile.thread_rank() == 0) atomicAdd(&sum, mine);
  block.sync();
  if (block.thread_rank() == 0) atomicAdd(result, sum);
}

int main(int argc, char **argv)
{
  size_t n = 1 << 20;
  int dev = 0, supports = 0, per_sm = 0;
  const int threads = 256;
  checkCudaErrors(cudaGetDevice(&dev));
  checkCudaErrors(cudaDeviceGetAttribute(&supports, cudaDevAttrCooperativeLaunch, dev));
  if (!supports) {
    printf("No cooperative launches here, waiving\nOK\n");
    return EXIT_SUCCESS;
  }
  cudaDeviceProp prop = {};
  checkCudaErrors(cudaGetDeviceProperties(&prop, dev));
  size_t smem = threads / 32 * sizeof(double);
  checkCudaErrors(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, dot_cooperative, threads, smem));
  int blocks = std::min(per_sm * prop.multiProcessorCount, 512);

  float *h_x, *h_y, *x, *y, *single, single_result;
  double *partial, *result, h_result, expected = 0;
  checkCudaErrors(cudaMallocHost(&h_x, n * sizeof(float)));
  checkCudaErrors(cudaHostAlloc(&h_y, n * sizeof(float), cudaHostAllocDefault));
  for (size_t i = 0; i < n; i++) {
    h_x[i] = (float)(i % 11) / 8;
    h_y[i] = (float)(i % 7) - 2;
    expected += (double)h_x[i] * h_y[i];
  }
  checkCudaErrors(cudaMalloc(&x, n * sizeof(float)));
  checkCudaErrors(cudaMalloc(&y, n * sizeof(float)));
  checkCudaErrors(cudaMalloc(&partial, blocks * sizeof(double)));
  checkCudaErrors(cudaMalloc(&result, sizeof(double)));
  checkCudaErrors(cudaMalloc(&single, sizeof(float)));

  cudaStream_t stream, other;
  cudaEvent_t copied;
  checkCudaErrors(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  checkCudaErrors(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  checkCudaErrors(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  checkCudaErrors(cudaMemcpyAsync(x, h_x, n * sizeof(float), cudaMemcpyHostToDevice, stream));
  checkCudaErrors(cudaMemcpyAsync(y, h_y, n * sizeof(float), cudaMemcpyHostToDevice, stream));
  checkCudaErrors(cudaEventRecord(copied, stream));
  void *args[] = {&x, &y, &partial, &result, &n};
  checkCudaErrors(cudaLaunchCooperativeKernel((void *)dot_cooperative, dim3(blocks), dim3(threads), args, smem, stream));
  checkCudaErrors(cudaMemcpyAsync(&h_result, result, sizeof(double), cudaMemcpyDeviceToHost, stream));

  checkCudaErrors(cudaStreamWaitEvent(other, copied, 0));
  checkCudaErrors(cudaMemsetAsync(single, 0, sizeof(float), other));
  dot_atomic<<<128, 128, 0, other>>>((float2 *)x, (float2 *)y, single, (int)(n / 2));
  checkCudaErrors(cudaMemcpyAsync(&single_result, single, sizeof(float), cudaMemcpyDeviceToHost, other));
  checkCudaErrors(cudaStreamSynchronize(stream));
  checkCudaErrors(cudaStreamSynchronize(other));

  printf("GPU %.3f, in single precision %.3f, CPU %.3f\n", h_result, single_result, expected);
  bool ok = fabs(h_result - expected) < 1e-6 * fabs(expected)
            && fabs(single_result - expected) < 1e-3 * fabs(expected);
  checkCudaErrors(cudaFreeHost(h_x));
  checkCudaErrors(cudaFreeHost(h_y));
  for (void *p : {(void *)x, (void *)y, (void *)partial, (void *)result, (void *)single})
    checkCudaErrors(cudaFree(p));
  checkCudaErrors(cudaEventDestroy(copied));
  checkCudaErrors(cudaStreamDestroy(stream));
  checkCudaErrors(cudaStreamDestroy(other));
  printf(ok ? "OK\n" : "FAILED\n");
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
