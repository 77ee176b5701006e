/*
 * transpose / tma: Hopper's tensor copy engine in and out.
 *
 * Follows  tile_vector.
 * Idea     one thread asks for boxes of 32 columns, and the engine computes addresses, packs
 *          the boxes into shared memory, and leaves out what is over the edge. Threads only
 *          transpose the tile in place, 4 x 4 words at a time; the engine stores it.
 *
 *              input, 64 x 64 words      shared memory: 2 boxes of 32 columns by 64 rows
 *              +--------+--------+       +----+----+-- - --+----+
 *              | box 0  | box 1  |       | v0 | v1 |       | v7 |    row r of a box: vector p is at
 *              |        |        |       +----+----+-- - --+----+    place p ^ r % 8
 *              +--------+--------+
 *
 * thread   4 x 4 words at a time: a vector from each of four rows, the same place transposed.
 * Banks    eight lanes that took vectors 0 to 7 of one row would write one vector of the rows 0, 4,
 *          8 ... of the transposed box: four to a place. So they take squares on a diagonal.
 * Limits   rows a multiple of 16 bytes apart on both sides.
 * Machine  UTMALDG.2D, UTMASTG.2D, LDS.128, STS.128
 */
#include "tensor.h"
#include "transpose.h"

enum {
    BOX = 32,  /* words: 128 bytes */
    HIGH = 64, /* of a tile, in rows of the input */
    WIDE = 64,
    THREADS = 256,
    SQUARES = HIGH * WIDE / 16 / THREADS,
};

/* Vector p of row r, in boxes of 8 vectors by `height` rows, one after the other. */
GM_DEVICE uint4 *vector_at(uint4 *boxes, int height, int p, int r)
{
    return boxes + (p / 8 * height + r) * 8 + ((p ^ r) & 7);
}

GM_KERNEL(transpose_tma, transpose_tma_args)
{
    GM_DYNAMIC_SHARED(uint4, tile);
    __shared__ gm_mbarrier full;
    const transpose_place at = transpose_place_of(a.walk);
    if (at.x >= a.walk.tiles_x) {
        return;
    }
    const int row = (int)at.y * HIGH;
    const int col = (int)at.x * WIDE;

    if (threadIdx.x == 0) {
        gm_mbarrier_init(&full);
        gm_wait_for_previous();
        gm_mbarrier_expect(&full, HIGH * WIDE * 4);
        for (int x = 0; x < WIDE; x += BOX) {
            gm_tensor_load(tile + x / 4 * HIGH, &a.in, col + x, row, &full);
        }
    }
    __syncthreads(); /* the barrier is there */
    gm_mbarrier_wait(&full, 0);

    uint4 held[SQUARES][4];
    int p[SQUARES], q[SQUARES]; /* vectors along a row of the input, and of the output */
#pragma unroll
    for (int k = 0; k < SQUARES; k++) {
        const int square = (int)threadIdx.x + k * THREADS;
        const int box = square / 64;
        p[k] = box % (WIDE / BOX) * 8 + square % 8;
        q[k] = box / (WIDE / BOX) * 8 + (square % 8 ^ square / 8 % 8);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            held[k][i] = *vector_at(tile, HIGH, p[k], q[k] * 4 + i);
        }
    }
    __syncthreads(); /* all threads have read before any writes */
#pragma unroll
    for (int k = 0; k < SQUARES; k++) {
        const uint4 *h = held[k];
        const int c = p[k] * 4;
        *vector_at(tile, WIDE, q[k], c) = make_uint4(h[0].x, h[1].x, h[2].x, h[3].x);
        *vector_at(tile, WIDE, q[k], c + 1) = make_uint4(h[0].y, h[1].y, h[2].y, h[3].y);
        *vector_at(tile, WIDE, q[k], c + 2) = make_uint4(h[0].z, h[1].z, h[2].z, h[3].z);
        *vector_at(tile, WIDE, q[k], c + 3) = make_uint4(h[0].w, h[1].w, h[2].w, h[3].w);
    }
    gm_bulk_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int y = 0; y < HIGH; y += BOX) {
            gm_tensor_store(&a.out, row + y, col, tile + y / 4 * WIDE);
        }
        gm_bulk_wait_read(); /* shared memory is the block's only while it lives */
    }
}
