/*
 * sgemm / pack, a helper: copies one factor or both to rows that the copy engine can take, through
 * a padded tile in shared memory where they have to be transposed.
 */
#include "engine.h"

enum { SIDE = SGEMM_PACK_SIDE, HIGH = 8, EACH = SIDE / HIGH };

GM_KERNEL(sgemm_pack, sgemm_pack_args)
{
    __shared__ float tile[SIDE][SIDE + 1];
    const bool second = blockIdx.x >= a.factors[0].tiles;
    const sgemm_packed &factor = a.factors[second];
    const sgemm_factor &from = factor.from;
    const unsigned number = blockIdx.x - (second ? a.factors[0].tiles : 0);
    const int64_t x = (int64_t)(number % factor.tiles_x) * SIDE;
    const int64_t y = (int64_t)(number / factor.tiles_x) * SIDE;
    const int64_t columns = factor.along_depth ? a.depth : from.lines;
    const int64_t rows = factor.along_depth ? from.lines : a.depth;
    const int64_t row_stride = factor.along_depth ? from.line_stride : from.depth_stride;
    const int64_t column_stride = factor.along_depth ? from.depth_stride : from.line_stride;
    const bool transposed = from.along_depth != factor.along_depth;
    float held[EACH];

    gm_wait_for_previous();
    if (!engine_is_turn(a.turn)) {
        return;
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) { /* all loads are on their way before the first is stored */
        const int i = threadIdx.y + k * HIGH;
        const int64_t column = x + (transposed ? i : (int)threadIdx.x);
        const int64_t row = y + (transposed ? (int)threadIdx.x : i);
        const bool inside = row < rows && column < columns;
        held[k] = inside ? from.data[row * row_stride + column * column_stride] : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const int i = threadIdx.y + k * HIGH;
        tile[transposed ? (int)threadIdx.x : i][transposed ? i : (int)threadIdx.x] = held[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const int i = threadIdx.y + k * HIGH;
        const int64_t column = x + threadIdx.x, row = y + i;
        if (row < rows && column < columns) {
            factor.to[row * factor.pitch + column] = tile[i][threadIdx.x];
        }
    }
}
