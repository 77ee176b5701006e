/*
 * permute / matrices: the family transpose's tiles for each index of the outer axes.
 *
 * Follows  tiles, which moves one element of a matrix per lane and access.
 * Idea     a matrix inside of an array is one with a pitch on both sides: transpose's tiles move
 *          it, 16 bytes per lane and access where its rows are made of such vectors, and whole
 *          sectors out where words begin anywhere. A block finds its matrix, and has a tile of it.
 *          See transpose's register_tile.h and aligned_tile.h.
 * Gathered bytes and halves whose rows begin anywhere: see gathered_tile.h.
 * Rotated  matrices have a negative pitch on one side, or on both.
 * Order    of tiles as in transpose: down a band of a column, which is along the rows of the
 *          result, then the next column; then other bands, and other matrices.
 * Narrow   vector_b8_narrow has half of vector_b8's width, for matrices of some 128 columns;
 *          shifted_b32_tall half of shifted_b32's and twice its height. vector_b16_small, for sides
 *          of some 64 halves, has a quarter of vector_b16.
 * Short    sides leave most of a tile empty: packed.
 * Machine  as transpose's tile_vector and shifted; gathered: LDGSTS, LDS of units, PRMT, STG.E.128
 */
#include "gathered_tile.h"
#include "permute.h"
#include "transpose/aligned_tile.h"
#include "transpose/register_tile.h"

typedef register_tile<uint8_t, 16, 16, 256> vector_b8;       /* 256 x 256 */
typedef register_tile<uint8_t, 16, 8, 128> vector_b8_narrow; /* 256 rows by 128 columns */
typedef register_tile<uint16_t, 16, 16, 256> vector_b16;     /* 128 x 128 */
typedef register_tile<uint16_t, 8, 8, 64> vector_b16_small;  /* 64 x 64 */
typedef register_tile<uint32_t, 16, 16, 256> vector_b32;     /* 64 x 64 */
typedef register_tile<uint64_t, 32, 32, 256> vector_b64;     /* 64 x 64 */
typedef register_tile<uint4, 32, 32, 256> vector_b128;       /* 32 x 32 */
typedef gathered_tile<uint8_t, 8> gathered_b8;
typedef gathered_tile<uint16_t, 16> gathered_b16;
typedef aligned_tile<uint32_t, 16, 64, 256> shifted_b32;      /* 56 by 64 */
typedef aligned_tile<uint32_t, 32, 32, 256> shifted_b32_tall; /* 120 by 32 */

struct permute_matrix {
    transpose_args walk; /* where this matrix is */
    transpose_place at;  /* the tile; none if at.y is beyond */
    transpose_edge edge;
    uint32_t index; /* of the matrix */
};

/* Threads divide for no axis of the matrices if there is just one. */
GM_DEVICE permute_matrix permute_matrix_of(const permute_matrices_args &a)
{
    const permute_spot spot = permute_spot_of(a.grid);
    permute_matrix matrix;
    matrix.at.x = spot.x;
    matrix.at.y = spot.y;
    matrix.index = spot.index;
    matrix.walk = a.walk;
    matrix.edge.begin = a.begin;
    matrix.edge.end = a.end;
    permute_move_to(a.grid.outer, spot.index, &matrix.walk.in, &matrix.walk.out);
    return matrix;
}

/* What loads read beside a tile is other elements, unless it is outside of the array. */
template <typename geometry>
GM_DEVICE int permute_matrix_where(const permute_matrix &matrix, int64_t row)
{
    const transpose_args &walk = matrix.walk;
    const int64_t col = (int64_t)matrix.at.x * geometry::COLS;
    const int64_t end = min(row + geometry::ROWS, walk.rows), right = col + geometry::COLS;
    /* Rows may run backwards. */
    const int64_t top = max(row, (int64_t)0) * walk.pitch, bottom = (end - 1) * walk.pitch;
    const char *first = walk.in + min(top, bottom) + col * walk.itemsize;
    const char *last = walk.in + max(top, bottom) + min(right, walk.cols) * walk.itemsize;
    if (first < matrix.edge.begin + 8 || last + 16 > matrix.edge.end) {
        return TILE_OVER_CORNER;
    }
    return row >= 0 && row + geometry::ROWS <= walk.rows && right <= walk.cols ? TILE_INSIDE
                                                                               : TILE_OVER_EDGE;
}

template <typename geometry>
GM_DEVICE void permute_shifted(const permute_matrices_args &a, uint4 *tile)
{
    const permute_matrix matrix = permute_matrix_of(a);
    if (matrix.at.y < a.walk.tiles_y) {
        const int where =
            permute_matrix_where<geometry>(matrix, aligned_tile_row<geometry>(matrix.at));
        aligned_tile_move_at<geometry, true>(matrix.walk, matrix.at, matrix.edge, where, tile);
    }
}

GM_KERNEL(permute_matrices_vector_b8, permute_matrices_args)
{
    GM_DYNAMIC_SHARED(uint4, tile); /* vector_b8::SIZE */
    const permute_matrix matrix = permute_matrix_of(a);
    if (matrix.at.y < a.walk.tiles_y) {
        register_tile_move_vectors_at<vector_b8, true>(matrix.walk, matrix.at, tile);
    }
}

GM_KERNEL(permute_matrices_vector_b8_narrow, permute_matrices_args)
{
    __shared__ uint4 tile[vector_b8_narrow::SIZE];
    const permute_matrix matrix = permute_matrix_of(a);
    if (matrix.at.y < a.walk.tiles_y) {
        register_tile_move_vectors_at<vector_b8_narrow, true>(matrix.walk, matrix.at, tile);
    }
}

GM_KERNEL(permute_matrices_vector_b16, permute_matrices_args)
{
    __shared__ uint4 tile[vector_b16::SIZE];
    const permute_matrix matrix = permute_matrix_of(a);
    if (matrix.at.y < a.walk.tiles_y) {
        register_tile_move_vectors_at<vector_b16, true>(matrix.walk, matrix.at, tile);
    }
}

GM_KERNEL(permute_matrices_vector_b16_small, permute_matrices_args)
{
    __shared__ uint4 tile[vector_b16_small::SIZE];
    const permute_matrix matrix = permute_matrix_of(a);
    if (matrix.at.y < a.walk.tiles_y) {
        register_tile_move_vectors_at<vector_b16_small, true>(matrix.walk, matrix.at, tile);
    }
}

GM_KERNEL(permute_matrices_vector_b32, permute_matrices_args)
{
    __shared__ uint4 tile[vector_b32::SIZE];
    const permute_matrix matrix = permute_matrix_of(a);
    if (matrix.at.y < a.walk.tiles_y) {
        register_tile_move_at<vector_b32, true>(matrix.walk, matrix.at, tile);
    }
}

GM_KERNEL_BOUNDED(permute_matrices_vector_b64, permute_matrices_args, vector_b64::THREADS, 4)
{
    __shared__ uint4 tile[vector_b64::SIZE];
    const permute_matrix matrix = permute_matrix_of(a);
    if (matrix.at.y < a.walk.tiles_y) {
        register_tile_move_at<vector_b64, true>(matrix.walk, matrix.at, tile);
    }
}

GM_KERNEL_BOUNDED(permute_matrices_vector_b128, permute_matrices_args, vector_b128::THREADS, 6)
{
    __shared__ uint4 tile[vector_b128::SIZE];
    const permute_matrix matrix = permute_matrix_of(a);
    if (matrix.at.y < a.walk.tiles_y) {
        register_tile_move_vectors_at<vector_b128, true>(matrix.walk, matrix.at, tile);
    }
}

GM_KERNEL_BOUNDED(permute_matrices_shifted_b32, permute_matrices_args, shifted_b32::THREADS, 5)
{
    __shared__ uint4 tile[shifted_b32::SIZE];
    permute_shifted<shifted_b32>(a, tile);
}

GM_KERNEL_BOUNDED(permute_matrices_shifted_b32_tall, permute_matrices_args,
                  shifted_b32_tall::THREADS, 6)
{
    __shared__ uint4 tile[shifted_b32_tall::SIZE];
    permute_shifted<shifted_b32_tall>(a, tile);
}

template <typename geometry> GM_DEVICE void permute_gather(const permute_matrices_args &a)
{
    GM_DYNAMIC_SHARED(char, tile);
    const permute_matrix matrix = permute_matrix_of(a);
    if (matrix.at.y < a.walk.tiles_y) {
        bool before = false, behind = false;
        if (a.gathered.chained != 0) {
            uint32_t rest = matrix.index;
            const uint32_t at = permute_take(&rest, a.grid.outer.extent[0]);
            const bool low = at > 0, high = at + 1 < a.grid.outer.extent[0].by;
            before = a.gathered.chained > 0 ? low : high;
            behind = a.gathered.chained > 0 ? high : low;
        }
        gathered_tile_move<geometry>(a.gathered, matrix.walk, matrix.at, matrix.edge, before,
                                     behind, tile);
    }
}

GM_KERNEL_BOUNDED(permute_matrices_gathered_b8, permute_matrices_args, GATHERED_THREADS, 4)
{
    permute_gather<gathered_b8>(a);
}

GM_KERNEL_BOUNDED(permute_matrices_gathered_b16, permute_matrices_args, GATHERED_THREADS, 5)
{
    permute_gather<gathered_b16>(a);
}
