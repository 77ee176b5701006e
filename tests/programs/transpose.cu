#include <cassert>
#include <cstdio>
#include <cstdlib>

// Transposes a matrix of nx x ny elements (nx wide). TILE_DIM x BLOCK_ROWS threads move a tile of
// TILE_DIM x TILE_DIM elements, TILE_DIM / BLOCK_ROWS elements each.
const int TILE_DIM = 32;
const int BLOCK_ROWS = 8;
const int NUM_REPS = 10;

inline
cudaError_t checkCuda(cudaError_t result)
{
#if defined(DEBUG) || !defined(NDEBUG)
  if (result != cudaSuccess) {
    fprintf(stderr, "CUDA Runtime Error: %s\n", cudaGetErrorString(result));
    assert(result == cudaSuccess);
  }
#endif
  return result;
}

// Reads are coalesced, writes have a stride of ny elements.
template <typename T>
__global__ void transposeNaive(T *odata, const T *idata, int nx, int ny)
{
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;

  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < nx && y + j < ny)
      odata[x * ny + (y + j)] = idata[(y + j) * nx + x];
}

// Both are coalesced; the column of padding keeps a column of the tile in different banks.
template <typename T>
__global__ void transposeTiled(T *odata, const T *idata, int nx, int ny)
{
  __shared__ T tile[TILE_DIM][TILE_DIM + 1];

  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;

  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < nx && y + j < ny)
      tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * nx + x];

  __syncthreads();

  x = blockIdx.y * TILE_DIM + threadIdx.x;  // transpose the block's offset
  y = blockIdx.x * TILE_DIM + threadIdx.y;

  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < ny && y + j < nx)
      odata[(y + j) * ny + x] = tile[threadIdx.x][threadIdx.y + j];
}

template __global__ void transposeNaive<float>(float *, const float *, int, int);
template __global__ void transposeTiled<float>(float *, const float *, int, int);

// Prints the bandwidth; returns whether the result is right.
bool postprocess(const float *ref, const float *res, int n, float ms)
{
  bool passed = true;
  for (int i = 0; i < n && passed; i++)
    if (res[i] != ref[i]) {
      printf("%d %f %f\n", i, res[i], ref[i]);
      printf("%25s\n", "*** FAILED ***");
      passed = false;
    }
  if (passed)
    printf("%20.2f GB/s\n", 2 * n * sizeof(float) * 1e-6 * NUM_REPS / ms);
  return passed;
}

int main(int argc, char **argv)
{
  const int nx = 1000, ny = 777, n = nx * ny;
  const int mem_size = n * sizeof(float);

  dim3 dimGrid((nx + TILE_DIM - 1) / TILE_DIM, (ny + TILE_DIM - 1) / TILE_DIM, 1);
  dim3 dimBlock(TILE_DIM, BLOCK_ROWS, 1);

  int devId = 0;
  if (argc > 1) devId = atoi(argv[1]);
  cudaDeviceProp prop;
  checkCuda(cudaGetDeviceProperties(&prop, devId));
  printf("\nDevice : %s\n", prop.name);
  checkCuda(cudaSetDevice(devId));

  float *h_idata = (float *)malloc(mem_size);
  float *h_tdata = (float *)malloc(mem_size);
  float *gold = (float *)malloc(mem_size);
  float *d_idata, *d_tdata;
  checkCuda(cudaMalloc(&d_idata, mem_size));
  checkCuda(cudaMalloc(&d_tdata, mem_size));

  if (TILE_DIM % BLOCK_ROWS) {
    printf("TILE_DIM must be a multiple of BLOCK_ROWS\n");
    exit(1);
  }
  for (int j = 0; j < ny; j++)
    for (int i = 0; i < nx; i++)
      h_idata[j * nx + i] = j * nx + i;
  for (int j = 0; j < ny; j++)
    for (int i = 0; i < nx; i++)
      gold[i * ny + j] = h_idata[j * nx + i];
  checkCuda(cudaMemcpy(d_idata, h_idata, mem_size, cudaMemcpyHostToDevice));

  cudaEvent_t startEvent, stopEvent;
  checkCuda(cudaEventCreate(&startEvent));
  checkCuda(cudaEventCreate(&stopEvent));
  float ms;
  bool passed = true;

  printf("%25s", "naive transpose");
  checkCuda(cudaMemset(d_tdata, 0, mem_size));
  checkCuda(cudaEventRecord(startEvent, 0));
  for (int i = 0; i < NUM_REPS; i++)
    transposeNaive<<<dimGrid, dimBlock>>>(d_tdata, d_idata, nx, ny);
  checkCuda(cudaEventRecord(stopEvent, 0));
  checkCuda(cudaEventSynchronize(stopEvent));
  checkCuda(cudaEventElapsedTime(&ms, startEvent, stopEvent));
  checkCuda(cudaMemcpy(h_tdata, d_tdata, mem_size, cudaMemcpyDeviceToHost));
  passed &= postprocess(gold, h_tdata, n, ms);

  printf("%25s", "tiled transpose");
  checkCuda(cudaMemset(d_tdata, 0, mem_size));
  checkCuda(cudaEventRecord(startEvent, 0));
  for (int i = 0; i < NUM_REPS; i++)
    transposeTiled<<<dimGrid, dimBlock>>>(d_tdata, d_idata, nx, ny);
  checkCuda(cudaEventRecord(stopEvent, 0));
  checkCuda(cudaEventSynchronize(stopEvent));
  checkCuda(cudaEventElapsedTime(&ms, startEvent, stopEvent));
  checkCuda(cudaMemcpy(h_tdata, d_tdata, mem_size, cudaMemcpyDeviceToHost));
  passed &= postprocess(gold, h_tdata, n, ms);

  checkCuda(cudaEventDestroy(startEvent));
  checkCuda(cudaEventDestroy(stopEvent));
  checkCuda(cudaFree(d_tdata));
  checkCuda(cudaFree(d_idata));
  free(h_idata);
  free(h_tdata);
  free(gold);
  if (passed)
    printf("OK\n");
  return passed ? 0 : 1;
}
