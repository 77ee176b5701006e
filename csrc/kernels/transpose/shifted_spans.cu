/*
 * transpose / shifted_spans: shifted_bytes for matrices that are much larger than the L2.
 *
 * Follows  shifted_bytes, which reads runs of 124 bytes: two lines of the L2 for each, nearly.
 * Idea     the same kernel with a tile of twice the width and half the height: three lines for
 *          252 bytes instead of four, and longer runs for the memory. Lines are fetched whole if
 *          the L2 has room for a column of tiles: the next one reads what is left of them.
 *          Where it has not, what is written shall not take up more of it.
 * Cost     of four rows that a tile reads up to one is also read by the next.
 * Machine  LDG.E, SHFL, STS.128, LDS, STG.E, SHF for the shifts, PRMT for the squares
 */
#include "squares.h"

enum {
    WIDE = 2,
    TALL = 1,
    WARPS = 8,
    BATCH = 16,
};

GM_KERNEL_BOUNDED(transpose_shifted_spans, transpose_args, WARPS * 32, 4)
{
    __shared__ uint4 tile[transpose_squares<WIDE, TALL, WARPS, BATCH>::TILE];
    if (a.lines) {
        transpose_squares_tile<WIDE, TALL, WARPS, BATCH, true, false>(a, tile);
    } else {
        transpose_squares_tile<WIDE, TALL, WARPS, BATCH, false, true>(a, tile);
    }
}
