/*
 * transpose / tma: Hopper's tensor copy engine in and out.
 *
 * Follows  tile_vec4.
 * Idea     one thread asks for boxes of 32 columns, and the engine computes addresses, packs
 *          the boxes into shared memory, and leaves out what hangs over the edge. Threads only
 *          turn the tile where it lies, 4 x 4 words at a time; the engine writes it back.
 * Banks    the engine keeps piece p (16 bytes) of row r at place p ^ r % 8. Eight lanes that
 *          took pieces 0 to 7 of one row would write one piece of the rows 0, 4, 8 ... of the
 *          turned box: four to a place. They take squares on a diagonal instead.
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

/* Piece p of row r in boxes of 8 pieces and `height` rows that follow one another. */
GM_DEVICE uint4 *piece_at(uint4 *boxes, int height, int p, int r)
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
    int p[SQUARES], q[SQUARES]; /* pieces along a row of the input, and of the output */
#pragma unroll
    for (int k = 0; k < SQUARES; k++) {
        const int square = (int)threadIdx.x + k * THREADS;
        const int box = square / 64;
        p[k] = box % (WIDE / BOX) * 8 + square % 8;
        q[k] = box / (WIDE / BOX) * 8 + (square % 8 ^ square / 8 % 8);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            held[k][i] = *piece_at(tile, HIGH, p[k], q[k] * 4 + i);
        }
    }
    __syncthreads(); /* read by all before any writes */
#pragma unroll
    for (int k = 0; k < SQUARES; k++) {
        const uint4 *h = held[k];
        const int c = p[k] * 4;
        *piece_at(tile, WIDE, q[k], c) = make_uint4(h[0].x, h[1].x, h[2].x, h[3].x);
        *piece_at(tile, WIDE, q[k], c + 1) = make_uint4(h[0].y, h[1].y, h[2].y, h[3].y);
        *piece_at(tile, WIDE, q[k], c + 2) = make_uint4(h[0].z, h[1].z, h[2].z, h[3].z);
        *piece_at(tile, WIDE, q[k], c + 3) = make_uint4(h[0].w, h[1].w, h[2].w, h[3].w);
    }
    gm_tensor_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int y = 0; y < HIGH; y += BOX) {
            gm_tensor_store(&a.out, row + y, col, tile + y / 4 * WIDE);
        }
        gm_bulk_wait_read(); /* shared memory is the block's only while it lives */
    }
}
