/* out = in transposed through tiles in shared memory: rows are read, and rows are written. */
#include <vector>

#include "must.h"

#define TILE 32

__global__ void transpose_tiled(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;

    if (row < rows && col < cols) {
        tile[threadIdx.y][threadIdx.x] = in[row * cols + col];
    }
    __syncthreads();
    col = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    if (row < cols && col < rows) {
        out[row * rows + col] = tile[threadIdx.x][threadIdx.y]; /* a column is in one bank */
    }
}

int main()
{
    const int side = 1024;
    std::vector<float> in(side * side), out(side * side);
    for (int i = 0; i < side * side; i++) {
        in[i] = i;
    }
    float *device_in, *device_out;
    MUST(cudaMalloc(&device_in, in.size() * sizeof(float)));
    MUST(cudaMalloc(&device_out, out.size() * sizeof(float)));
    MUST(cudaMemcpy(device_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice));
    dim3 grid(side / TILE, side / TILE), block(TILE, TILE);
    transpose_tiled<<<grid, block>>>(device_in, device_out, side, side);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(out.data(), device_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("out[1] = %g, expected %d\n", out[1], side);
    return out[1] == side ? 0 : 1;
}
