/* histogram.cu - 256-bin histogram of bytes: atomics in global memory, then in shared memory.
 *
 * Builds as CUDA, and as C++ (g++ -x c++ histogram.cu) for the host version alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <assert.h>
#ifdef __CUDACC__
# include <cuda_runtime.h>
#endif

#define NUM_BINS 256

#ifdef __CUDACC__

#define HANDLE_ERROR(err) (HandleError(err, __FILE__, __LINE__))
static void HandleError(cudaError_t err, const char *file, int line) {
  if (err != cudaSuccess) {
    printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
    exit(EXIT_FAILURE);
  }
}

extern "C" {

__global__ void histo_kernel_global(const unsigned char *buffer, long size, unsigned int *histo) {
  long i = threadIdx.x + blockIdx.x * (long)blockDim.x;
  long stride = blockDim.x * (long)gridDim.x;
  while (i < size) {
    atomicAdd(&histo[buffer[i]], 1u);
    i += stride;
  }
}

__global__ void histo_kernel_shared(const unsigned char *buffer, long size, unsigned int *histo) {
  __shared__ unsigned int temp[NUM_BINS];
  for (int bin = threadIdx.x; bin < NUM_BINS; bin += blockDim.x)
    temp[bin] = 0;
  __syncthreads();

  long i = threadIdx.x + blockIdx.x * (long)blockDim.x;
  long stride = blockDim.x * (long)gridDim.x;
  while (i < size) {
    atomicAdd(temp + buffer[i], 1u);
    i += stride;
  }
  __syncthreads();

  for (int bin = threadIdx.x; bin < NUM_BINS; bin += blockDim.x)
    if (temp[bin]) atomicAdd(&histo[bin], temp[bin]);
}

} /* extern "C" */

#endif /* __CUDACC__ */

static unsigned char *big_random_block(size_t size) {
  unsigned char *data = (unsigned char *)malloc(size);
  assert(data);
  uint32_t state = 2463534242u;
  for (size_t i = 0; i < size; i++) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    data[i] = (state & 0x100) ? (unsigned char)state : '\'';   // half of them in one bin
  }
  return data;
}

static void histo_host(const unsigned char *buffer, size_t size, unsigned int histo[NUM_BINS]) {
  memset(histo, 0, NUM_BINS * sizeof(histo[0]));
  for (size_t i = 0; i < size; i++) histo[buffer[i]]++;
}

int main(void) {
  const size_t SIZE = 4 * 1024 * 1024 + 3;
  unsigned char *buffer = big_random_block(SIZE);
  unsigned int expected[NUM_BINS];
  histo_host(buffer, SIZE, expected);
#ifdef __CUDACC__
  unsigned int histo[NUM_BINS];
  cudaDeviceProp prop;
  HANDLE_ERROR(cudaGetDeviceProperties(&prop, 0));
  int blocks = prop.multiProcessorCount * 2;
  unsigned char *dev_buffer;
  unsigned int *dev_histo;
  HANDLE_ERROR(cudaMalloc((void **)&dev_buffer, SIZE));
  HANDLE_ERROR(cudaMemcpy(dev_buffer, buffer, SIZE, cudaMemcpyHostToDevice));
  HANDLE_ERROR(cudaMalloc((void **)&dev_histo, sizeof histo));
  for (int shared = 0; shared <= 1; shared++) {
    cudaEvent_t start, stop;
    float elapsedTime;
    HANDLE_ERROR(cudaEventCreate(&start));
    HANDLE_ERROR(cudaEventCreate(&stop));
    HANDLE_ERROR(cudaMemset(dev_histo, 0, sizeof histo));
    HANDLE_ERROR(cudaEventRecord(start, 0));
    if (shared)
      histo_kernel_shared<<<blocks, 256>>>(dev_buffer, SIZE, dev_histo);
    else
      histo_kernel_global<<<blocks, 256>>>(dev_buffer, SIZE, dev_histo);
    HANDLE_ERROR(cudaEventRecord(stop, 0));
    HANDLE_ERROR(cudaEventSynchronize(stop));
    HANDLE_ERROR(cudaEventElapsedTime(&elapsedTime, start, stop));
    HANDLE_ERROR(cudaMemcpy(histo, dev_histo, sizeof histo, cudaMemcpyDeviceToHost));
    printf("%s memory: %3.1f ms\n", shared ? "shared" : "global", elapsedTime);
    for (int i = 0; i < NUM_BINS; i++)
      if (histo[i] != expected[i]) {
        printf("Failure at %d! Off by %d\n", i, (int)(histo[i] - expected[i]));
        return 1;
      }
    HANDLE_ERROR(cudaEventDestroy(start));
    HANDLE_ERROR(cudaEventDestroy(stop));
  }
  cudaFree(dev_histo);
  cudaFree(dev_buffer);
#endif
  free(buffer);
  printf("OK\n");
  return 0;
}
