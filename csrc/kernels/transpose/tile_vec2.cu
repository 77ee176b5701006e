/*
 * transpose / tile_vec2: tile_vec4 for elements of 8 bytes.
 *
 * Follows  tile_vec4.
 * Idea     two elements fill 128 bits: squares of 2 x 2.
 */
#include "turn.h"

enum {
    HIGH = 32,
    WIDE = 32,
    THREADS = 512,
};

GM_KERNEL_BOUNDED(transpose_tile_vec2, transpose_args, THREADS, 2)
{
    __shared__ uint4 tile[transpose_turn<uint64_t, HIGH, WIDE, THREADS>::TILE];
    transpose_turn_tile<uint64_t, HIGH, WIDE, THREADS>(a, tile);
}
