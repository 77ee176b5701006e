/*
 * transpose: out[col][row] = in[row][col].
 *
 * The input's rows run on in memory, `pitch` bytes from one to the next; the output has no gaps.
 * `tiles_x` counts tiles across the columns of the input, `tiles_y` down its rows; what a tile
 * is, is the kernel's own affair. Bits are moved, not numbers.
 */
#ifndef GPUMEM_TRANSPOSE_H
#define GPUMEM_TRANSPOSE_H

#include <stdint.h>

#include "tensor_map.h"

typedef struct transpose_args {
    const char *in;
    char *out;
    int64_t rows, cols; /* of the input */
    int64_t pitch;      /* bytes from a row of the input to the next */
    int64_t tiles_x, tiles_y;
    int64_t band; /* tiles, see transpose_place_of; narrow: rows, or columns, of a block */
    int itemsize;
    int streams; /* see transpose_place_of */
} transpose_args;

/* For the tensor copy engine: boxes of 32 words by a tile's height, of the input and of the
 * output, both swizzled. */
typedef struct transpose_tma_args {
    transpose_args walk;
    gm_tensor_map in, out;
} transpose_tma_args;

#ifdef __cplusplus
#include "device.h"

/* The second dimension's gm_grid_index and gm_grid_stride. */
GM_DEVICE int64_t transpose_index_y(void)
{
    return (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
}

GM_DEVICE int64_t transpose_stride_y(void)
{
    return (int64_t)gridDim.y * blockDim.y;
}

/* Row `row` of the input, and row `col` of the output. */
template <typename unit> GM_DEVICE const unit *transpose_in(const transpose_args &a, int64_t row)
{
    return (const unit *)(a.in + row * a.pitch);
}

template <typename unit> GM_DEVICE unit *transpose_out(const transpose_args &a, int64_t col)
{
    return (unit *)a.out + col * a.rows;
}

typedef struct transpose_place {
    int64_t x, y;
} transpose_place;

/*
 * Which tile a block of a one-dimensional grid takes: a grid's y ends at 65,535, and the order
 * matters. Blocks start in the order of their index. Neighbouring blocks go down the input, which
 * is along the rows of the output, so that what is written at a time is one piece of memory; at
 * the end of a column of tiles they turn round. Columns are at most `band` tiles high: two that
 * lie side by side share sectors, which the L2 should not have forgotten by then.
 *
 * What is read at a time is a short run of every row. Where rows are a multiple of a large power
 * of two apart, those runs fall to some memory channels more than to others; with `streams`,
 * blocks take turns in as many parts of the width, and the runs of one make up for those of the
 * other. A grid has as many blocks for each stream, so that some may be without a tile:
 * x >= tiles_x.
 */
GM_DEVICE transpose_place transpose_place_of(const transpose_args &a, uint32_t index)
{
    const uint32_t tiles_y = (uint32_t)a.tiles_y;
    const uint32_t streams = a.streams > 1 ? (uint32_t)a.streams : 1;
    const uint32_t width = ((uint32_t)a.tiles_x + streams - 1) / streams; /* of a stream */
    uint32_t top = 0, height = tiles_y;
    if (a.band > 0 && a.band < a.tiles_y) {
        const uint32_t band = (uint32_t)a.band;
        top = index / (band * width * streams) * band;
        height = min(band, tiles_y - top);
        index -= top * width * streams;
    }
    const uint32_t along = index / streams;
    const uint32_t column = along / height;
    const uint32_t down = along - column * height;
    transpose_place place;
    place.x = column + (index - along * streams) * width;
    place.y = top + (column % 2 == 0 ? down : height - 1 - down);
    return place;
}
#endif

#endif
