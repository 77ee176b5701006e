/*
 * sgemm / pack, a helper: copies one factor or both to rows that the copy engine can take. Rows
 * that have to be transposed go through a padded tile in shared memory.
 *
 * A thread has 16 numbers: the lanes of a warp are neighbours along the factor's rows in memory,
 * two numbers of each, and its warps go down them.
 */
#include "engine.h"

enum { SIDE = SGEMM_PACK_SIDE, LANES = 32, HIGH = 8, DOWN = SIDE / HIGH, ALONG = SIDE / LANES };

/* Numbers of a tile: of a thread, and how many there are from its first one on, along a row and
 * down the rows. */
typedef struct pack_part {
    float held[DOWN][ALONG];
    int along, down;
} pack_part;

GM_DEVICE bool pack_has(const pack_part &part, int k, int w)
{
    return k * HIGH < part.down && w * LANES < part.along;
}

GM_DEVICE void pack_load(pack_part &part, const float *from, int64_t stride)
{
#pragma unroll
    for (int k = 0; k < DOWN; k++) { /* all loads are on their way before the first is stored */
#pragma unroll
        for (int w = 0; w < ALONG; w++) {
            part.held[k][w] = pack_has(part, k, w) ? from[w * LANES] : 0.0f;
        }
        from += HIGH * stride;
    }
}

GM_DEVICE void pack_store(const pack_part &part, float *to, int64_t stride)
{
#pragma unroll
    for (int k = 0; k < DOWN; k++) {
#pragma unroll
        for (int w = 0; w < ALONG; w++) {
            if (pack_has(part, k, w)) {
                to[w * LANES] = part.held[k][w];
            }
        }
        to += HIGH * stride;
    }
}

/* The part of a tile that begins at a row and a column of so many. */
GM_DEVICE void pack_measure(pack_part &part, int64_t rows, int64_t columns)
{
    part.along = (int)min(columns, (int64_t)SIDE) - (int)threadIdx.x;
    part.down = (int)min(rows, (int64_t)SIDE) - (int)threadIdx.y;
}

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
    const bool transposed = from.along_depth != factor.along_depth;
    /* From row to row in memory: there, rows are lines or steps. */
    const int64_t stride = from.along_depth ? from.line_stride : from.depth_stride;
    const int64_t row = (transposed ? x : y) + threadIdx.y;
    const int64_t column = (transposed ? y : x) + threadIdx.x;
    pack_part part;

    gm_wait_for_previous();
    if (!engine_is_turn(a.turn)) {
        return;
    }
    pack_measure(part, transposed ? columns - x : rows - y, transposed ? rows - y : columns - x);
    pack_load(part, from.data + row * stride + column, stride);
    if (transposed) {
#pragma unroll
        for (int k = 0; k < DOWN; k++) {
#pragma unroll
            for (int w = 0; w < ALONG; w++) {
                tile[threadIdx.x + w * LANES][threadIdx.y + k * HIGH] = part.held[k][w];
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DOWN; k++) {
#pragma unroll
            for (int w = 0; w < ALONG; w++) {
                part.held[k][w] = tile[threadIdx.y + k * HIGH][threadIdx.x + w * LANES];
            }
        }
        pack_measure(part, rows - y, columns - x);
    }
    pack_store(part, factor.to + (y + threadIdx.y) * factor.pitch + x + threadIdx.x, factor.pitch);
}
