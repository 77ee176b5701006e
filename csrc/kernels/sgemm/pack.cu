/*
 * sgemm / pack, a helper: copies a factor to rows that the copy engine can take, through a padded
 * tile in shared memory where it has to be transposed.
 */
#include "engine.h"

enum { SIDE = 32, HIGH = 8 };

GM_KERNEL(sgemm_pack, sgemm_pack_args)
{
    __shared__ float tile[SIDE][SIDE + 1];
    const int64_t lines = a.from.lines, depth = a.depth;
    const int64_t columns = a.along_depth ? depth : lines, rows = a.along_depth ? lines : depth;
    const int64_t x = blockIdx.x % a.tiles_x * SIDE, y = blockIdx.x / a.tiles_x * SIDE;
    const bool transposed = a.from.along_depth != a.along_depth;

    gm_wait_for_previous();
    if (!engine_is_turn(a.turn)) {
        return;
    }
    for (int i = threadIdx.y; i < SIDE; i += HIGH) {
        int64_t column = x + (transposed ? i : (int)threadIdx.x);
        int64_t row = y + (transposed ? (int)threadIdx.x : i);
        if (row < rows && column < columns) {
            int64_t line = a.along_depth ? row : column, step = a.along_depth ? column : row;
            tile[row - y][column - x] =
                a.from.data[line * a.from.line_stride + step * a.from.depth_stride];
        }
    }
    __syncthreads();
    for (int i = threadIdx.y; i < SIDE; i += HIGH) {
        int64_t column = x + threadIdx.x, row = y + i;
        if (row < rows && column < columns) {
            a.to[row * a.pitch + column] = tile[i][threadIdx.x];
        }
    }
}
