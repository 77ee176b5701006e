/*
 * sgemm / hide_global_latency: the next tile is loaded while this one is computed.
 *
 * Follows  hide_smem_latency.
 * Idea     the loads of the next tile are issued before this one's 1024 products per thread, and
 *          stored to shared memory after them, hundreds of cycles later. There are two tiles of
 *          each matrix, so that one can be stored while the other is read: one barrier per tile
 *          instead of two.
 * Cost     16 registers for the loads in flight, and twice the shared memory.
 *
 *     tile 0   | load 1 | products of 0 | store 1 | barrier | load 2 | products of 1 | store 2 |
 * ...
 */
#include "tiles.h"

typedef float step_lines[PITCH];

/* whole: no tile of the block lacks lines. The loop has no registers to spare for the check. */
template <bool whole>
GM_DEVICE void multiply_tiles(const sgemm_args &a, step_lines (*tiles_a)[STEPS],
                              step_lines (*tiles_b)[STEPS], tile_source source_a,
                              tile_source source_b, int64_t row, int64_t column)
{
    float4 held_a[2], held_b[2];
    float of_a[2][8], of_b[2][8], sum[8][8] = {};
    int now = 0; /* the tile that is computed */
    const int y = sgemm_thread_y() * 4, x = sgemm_thread_x() * 4;

    /* The last tile is computed first: it alone may lack steps, and the loop need not check. */
    const int64_t last = a.depth > 0 ? (a.depth - 1) / STEPS * STEPS : 0;
    tile_source last_a = tile_after(source_a, a.a, last), last_b = tile_after(source_b, a.b, last);
    tile_load(held_a, a.a, last_a, a.depth - last);
    tile_load(held_b, a.b, last_b, a.depth - last);
    tile_store(tiles_a[0], held_a, a.a);
    tile_store(tiles_b[0], held_b, a.b);
    __syncthreads();
    tile_read(of_a[0], tiles_a[0][0], y);
    tile_read(of_b[0], tiles_b[0][0], x);

    if (whole) {
        source_a.whole = source_b.whole = true;
    }
    for (int64_t first = 0; first < a.depth; first += STEPS) {
        const bool more = first + STEPS < a.depth;
        if (more) {
            tile_load(held_a, a.a, source_a, STEPS);
            tile_load(held_b, a.b, source_b, STEPS);
        }
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            if (k + 1 < STEPS) {
                tile_read(of_a[(k + 1) % 2], tiles_a[now][k + 1], y);
                tile_read(of_b[(k + 1) % 2], tiles_b[now][k + 1], x);
            } else if (more) {
                now = !now;
                tile_store(tiles_a[now], held_a, a.a);
                tile_store(tiles_b[now], held_b, a.b);
                __syncthreads();
                tile_read(of_a[0], tiles_a[now][0], y);
                tile_read(of_b[0], tiles_b[now][0], x);
            }
            sgemm_multiply<SGEMM_TO_AND_FRO>(sum, of_a[k % 2], of_b[k % 2]);
        }
    }
    sgemm_store_squares(a, row, column, sum);
}

GM_KERNEL_BOUNDED(sgemm_hide_global_latency, sgemm_args, 256, 2)
{
    __shared__ __align__(16) float tiles_a[2][STEPS][PITCH];
    __shared__ __align__(16) float tiles_b[2][STEPS][PITCH];

    /* A grid has at most 65535 blocks in y; z counts on where y ends. */
    const int64_t row = ((int64_t)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const int64_t column = (int64_t)blockIdx.x * TILE;
    const tile_source source_a = tile_begin(a.a, row), source_b = tile_begin(a.b, column);
    if (source_a.whole && source_b.whole) {
        multiply_tiles<true>(a, tiles_a, tiles_b, source_a, source_b, row, column);
    } else {
        multiply_tiles<false>(a, tiles_a, tiles_b, source_a, source_b, row, column);
    }
}
