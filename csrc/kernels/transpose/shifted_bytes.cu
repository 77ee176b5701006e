/*
 * transpose / shifted_bytes: elements of 1 byte whose rows begin anywhere.
 *
 * Follows  tile_vec16, which is best where rows begin at multiples of 16 bytes.
 * Idea     whole sectors out, whole words in, a warp to a row: see squares.h. A
 *          tile of the output begins at another place in each row.
 * Cost     the rows that two tiles share are read twice, the second time from the L2.
 * Machine  LDG.E, SHFL, STS.128, LDS, STG.E, SHF for the shifts, PRMT for the squares
 */
#include "squares.h"

enum {
    WIDE = 1,
    TALL = 2,
    WARPS = 16,
    BATCH = 16,
};

GM_KERNEL_BOUNDED(transpose_shifted_bytes, transpose_args, WARPS * 32, 3)
{
    __shared__ uint4 tile[transpose_squares<WIDE, TALL, WARPS, BATCH>::TILE];
    transpose_squares_tile<WIDE, TALL, WARPS, BATCH, false, false>(a, tile);
}
