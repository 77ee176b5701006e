/*
 * transpose / tile_vec4_wide: tile_vec4 for matrices that are much larger than the L2.
 *
 * Follows  tile_vec4, which reads 256 bytes of a row at a time. Where rows begin anywhere, that is
 *          part of a line at both ends, which the memory reads again for the next tiles.
 * Idea     the same kernel with a tile of twice the width: half as many ends, and longer runs.
 * Cost     half as many tiles: small matrices have too few.
 * Machine  LDG.E.128 or LDG.E, STS.128, LDS.128, STG.E.128
 */
#include "turn.h"

enum {
    HIGH = 16, /* squares of 4 x 4: a tile is 64 rows by 128 columns */
    WIDE = 32,
    THREADS = 512,
};

GM_KERNEL_BOUNDED(transpose_tile_vec4_wide, transpose_args, THREADS, 3)
{
    __shared__ uint4 tile[transpose_turn<uint32_t, HIGH, WIDE, THREADS>::TILE];
    transpose_turn_tile<uint32_t, HIGH, WIDE, THREADS>(a, tile);
}
