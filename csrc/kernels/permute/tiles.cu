/*
 * permute / tiles: a matrix for each index of the outer axes.
 *
 * Follows  runs, whose loads are scattered where another axis is closest in the input than in the
 *          result.
 * Idea     the axis that is innermost in the result and the one that is closest in the input are
 *          the two sides of a matrix. A block transposes a tile of it in shared memory, as
 *          transpose's tile_padded does, so that both sides access rows. The other axes only say
 *          where the matrix begins: one thread's worth of divisions for a whole tile.
 *
 *              input                              result
 *              col ->                             row ->
 *              +----------+                       +----------+
 *          row | tile     |    shared memory  col | tile     |
 *           |  |          |   ------------->   |  |          |
 *           v  +----------+                    v  +----------+
 *
 * Short    sides leave most of a tile empty: packed.
 */
#include "permute.h"

enum { TILE = 32, ROWS = 8 };

template <typename unit> GM_DEVICE void move_tile(const permute_tiles_args &a, char *shared)
{
    unit(*tile)[TILE + 1] = (unit(*)[TILE + 1]) shared;
    uint32_t index = blockIdx.x;
    const int64_t row = (int64_t)permute_take(&index, a.tiles_x) * TILE;
    const int64_t col = (int64_t)permute_take(&index, a.tiles_y) * TILE;
    const char *in = a.in + row * a.from_row + col * a.from_col;
    char *out = a.out + row * (int64_t)sizeof(unit) + col * a.to_col;
    permute_move_to(a.outer, index, &in, &out);
    const int64_t rows = a.rows - row, cols = a.cols - col; /* that are left */

#pragma unroll
    for (int y = 0; y < TILE; y += ROWS) {
        const int r = y + threadIdx.y, c = threadIdx.x;
        if (r < rows && c < cols) {
            tile[r][c] = *(const unit *)(in + r * a.from_row + c * a.from_col);
        }
    }
    __syncthreads();
#pragma unroll
    for (int y = 0; y < TILE; y += ROWS) {
        const int c = y + threadIdx.y, r = threadIdx.x;
        if (r < rows && c < cols) {
            *(unit *)(out + r * (int64_t)sizeof(unit) + c * a.to_col) = tile[r][c];
        }
    }
}

GM_KERNEL(permute_tiles, permute_tiles_args)
{
    __shared__ __align__(16) char shared[TILE * (TILE + 1) * sizeof(uint4)];
    switch (a.unit) {
    case 1: move_tile<uint8_t>(a, shared); break;
    case 2: move_tile<uint16_t>(a, shared); break;
    case 4: move_tile<uint32_t>(a, shared); break;
    case 8: move_tile<uint2>(a, shared); break;
    case 16: move_tile<uint4>(a, shared); break;
    }
}
