/*
 * sgemm / smem: tiles of A and B in shared memory.
 *
 * Follows  thread_tile.
 * Idea     a block computes 128 x 128 of C. It loads 16 steps of its 128 rows of A and 128 columns
 *          of B once, and sixteen threads read each number from shared memory: a sixteenth of the
 *          global requests. Both tiles have the layout of their matrices, so that loads and stores
 *          are vectors.
 * Cost     a vector along a row of A is four steps of one row: a thread holds four steps of its
 *          eight rows, 32 registers, of which it uses one step at a time.
 */
#include "tiles.h"

/* Floats from row to row of A's tile: eight lanes store four rows at a time, two lanes each, which
 * begin 24 banks apart. The rows that a warp reads, one for eight lanes, begin in the same bank: of
 * two that could be served at once, each takes a pass. */
enum { ROW_PITCH = STEPS + 8 };

/* Stores A's tile row by row. Where the rows are contiguous the vectors have to be transposed: the
 * 32 lanes store rows that are four apart, all in one bank. */
GM_DEVICE void store_rows(float (*rows)[ROW_PITCH], const float4 (&held)[2], const sgemm_factor &x)
{
    const int thread = threadIdx.x;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (x.along_depth) {
            *(float4 *)&rows[thread / 2][thread % 2 * 4 + i * HALF] = held[i];
        } else {
            const int row = thread % 32 * 4, k = thread / 32 + i * HALF;
            rows[row + 0][k] = held[i].x;
            rows[row + 1][k] = held[i].y;
            rows[row + 2][k] = held[i].z;
            rows[row + 3][k] = held[i].w;
        }
    }
}

GM_KERNEL_BOUNDED(sgemm_smem, sgemm_args, 256, 1)
{
    __shared__ __align__(16) float tile_a[TILE][ROW_PITCH];
    __shared__ __align__(16) float tile_b[STEPS][PITCH];

    float4 held_a[2], held_b[2];
    float sum[8][8] = {};

    /* A grid has at most 65535 blocks in y; z counts on where y ends. */
    const int64_t row = ((int64_t)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const int64_t column = (int64_t)blockIdx.x * TILE;
    tile_source source_a = tile_begin(a.a, row), source_b = tile_begin(a.b, column);
    const int y = sgemm_thread_y() * 4, x = sgemm_thread_x() * 4;

    for (int64_t first = 0; first < a.depth; first += STEPS) {
        tile_load(held_a, a.a, source_a, a.depth - first);
        tile_load(held_b, a.b, source_b, a.depth - first);
        __syncthreads(); /* all have read the previous tiles */
        store_rows(tile_a, held_a, a.a);
        tile_store(tile_b, held_b, a.b);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < STEPS; k += 4) {
            float of_a[4][8], of_b[8];
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const float4 four = *(const float4 *)&tile_a[y + i / 4 * 64 + i % 4][k];
                of_a[0][i] = four.x, of_a[1][i] = four.y;
                of_a[2][i] = four.z, of_a[3][i] = four.w;
            }
#pragma unroll
            for (int step = 0; step < 4; step++) {
                tile_read(of_b, tile_b[k + step], x);
                sgemm_multiply<SGEMM_FORWARD>(sum, of_a[step], of_b);
            }
        }
    }
    sgemm_store_squares(a, row, column, sum);
}
