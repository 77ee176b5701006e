/*
 * transpose / tile_vec4: 128-bit accesses on both sides.
 *
 * Follows  tile_swizzled, which moves 4 bytes per lane and access.
 * Idea     a thread turns a square of 4 x 4 words in registers, and a block a tile of such
 *          squares in shared memory: a quarter of the instructions, and runs of 256 bytes and
 *          more on both sides. Where rows begin or end inside of 16 bytes, that side is accessed
 *          word by word.
 * Machine  LDG.E.128, STS.128, LDS.128, STG.E.128
 */
#include "turn.h"

enum {
    HIGH = 16, /* squares of 4 x 4: a tile is 64 x 64 */
    WIDE = 16,
    THREADS = 256,
};

GM_KERNEL(transpose_tile_vec4, transpose_args)
{
    __shared__ uint4 tile[transpose_turn<uint32_t, HIGH, WIDE, THREADS>::TILE];
    transpose_turn_tile<uint32_t, HIGH, WIDE, THREADS>(a, tile);
}
