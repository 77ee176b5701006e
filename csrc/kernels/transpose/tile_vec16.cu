/*
 * transpose / tile_vec16: tile_vec4 for elements of 1 byte.
 *
 * Follows  tile_vec4.
 * Idea     sixteen elements fill 128 bits: squares of 16 x 16, turned as 4 x 4 squares of
 *          4 x 4 bytes, eight byte permutations (PRMT) each.
 */
#include "turn.h"

enum {
    HIGH = 16,
    WIDE = 16,
    THREADS = 256,
};

GM_KERNEL(transpose_tile_vec16, transpose_args)
{
    GM_DYNAMIC_SHARED(uint4, tile); /* 64 KiB */
    transpose_turn_whole_tile<uint8_t, HIGH, WIDE, THREADS>(a, tile);
}
