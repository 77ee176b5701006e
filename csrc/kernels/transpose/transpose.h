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
    int64_t band; /* rows of tiles that are walked side by side, see transpose_place_of */
    int itemsize;
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
 * matters. Blocks start in the order of their index, so those that run together form a window
 * that moves over the matrix. It is `band` tiles high: neighbouring blocks go down the input,
 * which is along the rows of the output, for `band` tiles, and then step to the right.
 */
GM_DEVICE transpose_place transpose_place_of(const transpose_args &a, uint32_t index)
{
    const uint32_t tiles_x = (uint32_t)a.tiles_x;
    const uint32_t tiles_y = (uint32_t)a.tiles_y;
    const uint32_t band = (uint32_t)a.band;
    const uint32_t first =
        index / (band * tiles_x) * band; /* row of tiles that the band begins at */
    const uint32_t rest = index - first * tiles_x;
    const uint32_t height = tiles_y - first < band ? tiles_y - first : band; /* the last is lower */
    transpose_place place;
    place.x = rest / height;
    place.y = first + rest % height;
    return place;
}
#endif

#endif
