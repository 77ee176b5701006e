/*
 * transpose / tile_padded: a shared-memory tile with one spare column.
 *
 * Follows  tile, whose column reads all fall into one bank: 32 passes each.
 * Idea     with 33 words per row a step down a column is a step to the next bank,
 *          so the 32 lanes of a warp find 32 banks.
 * Cost     128 unused bytes of shared memory per block.
 */
#include "transpose.h"

enum {
    TILE = 32,
    ROWS = 8, /* blockDim.y: each thread moves TILE / ROWS elements */
};

GM_KERNEL(transpose_tile_padded, transpose_args)
{
    __shared__ uint32_t tile[TILE][TILE + 1];
    const uint32_t *in = (const uint32_t *)a.in;
    uint32_t *out = (uint32_t *)a.out;
    const int64_t pitch = a.pitch / (int64_t)sizeof(uint32_t); /* elements from row to row */

    /* x counts tiles down the input: blocks that start together write along the same rows of the
     * output. y counts them across; it ends at 65535, where z counts on. */
    const int64_t first_row = (int64_t)blockIdx.x * TILE;
    const int64_t first_col = ((int64_t)blockIdx.z * gridDim.y + blockIdx.y) * TILE;

    /* Reading: neighbours in x are neighbours in a row of the input. */
    int64_t row = first_row + threadIdx.y;
    int64_t col = first_col + threadIdx.x;
    if (col < a.cols) {
#pragma unroll
        for (int i = 0; i < TILE; i += ROWS) {
            if (row + i < a.rows) {
                tile[threadIdx.y + i][threadIdx.x] = in[(row + i) * pitch + col];
            }
        }
    }
    __syncthreads(); /* outside every branch: all threads of the block arrive */

    /* Writing: neighbours in x are neighbours in a row of the output. */
    row = first_row + threadIdx.x;
    col = first_col + threadIdx.y;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS) {
        if (row < a.rows && col + i < a.cols) {
            out[(col + i) * a.rows + row] = tile[threadIdx.x][threadIdx.y + i];
        }
    }
}
