/*
 * transpose / tile_vec8: tile_vec4 for elements of 2 bytes.
 *
 * Follows  tile_vec4.
 * Idea     eight elements fill 128 bits: squares of 8 x 8, whose words trade halves (PRMT).
 */
#include "turn.h"

enum {
    HIGH = 16,
    WIDE = 16,
    THREADS = 256,
};

GM_KERNEL(transpose_tile_vec8, transpose_args)
{
    __shared__ uint4 tile[transpose_turn<uint16_t, HIGH, WIDE, THREADS>::TILE];
    transpose_turn_whole_tile<uint16_t, HIGH, WIDE, THREADS>(a, tile);
}
