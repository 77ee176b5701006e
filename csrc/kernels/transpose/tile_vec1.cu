/*
 * transpose / tile_vec1: tile_vec4 for elements of 16 bytes.
 *
 * Follows  tile_vec4.
 * Idea     an element fills 128 bits: nothing is left to turn in registers.
 */
#include "turn.h"

enum {
    HIGH = 32,
    WIDE = 32,
    THREADS = 512,
};

GM_KERNEL(transpose_tile_vec1, transpose_args)
{
    __shared__ uint4 tile[transpose_turn<uint4, HIGH, WIDE, THREADS>::TILE];
    transpose_turn_whole_tile<uint4, HIGH, WIDE, THREADS>(a, tile);
}
