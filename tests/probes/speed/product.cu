/* a matrix of rows of stride floats, times its first stride rows: tiles of 16 x 16 */
#include "../probe.h"

enum { TILE = 16 };

GM_KERNEL(speed_product, probe_args)
{
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];

    int64_t depth = a.stride, rows = a.n / depth, tiles = (depth + TILE - 1) / TILE;
    int64_t row = blockIdx.x / tiles * TILE + threadIdx.y;
    int64_t col = blockIdx.x % tiles * TILE + threadIdx.x;
    float sum = 0;

    for (int64_t from = 0; from < depth; from += TILE) {
        int64_t x = from + threadIdx.x, y = from + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < rows && x < depth ? a.in[row * depth + x] : 0;
        right[threadIdx.y][threadIdx.x] = y < depth && col < depth ? a.in[y * depth + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        }
        __syncthreads();
    }
    if (row < rows && col < depth) {
        a.out[row * depth + col] = sum;
    }
}
