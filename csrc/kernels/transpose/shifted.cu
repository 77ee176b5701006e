/*
 * transpose / shifted: elements of 1, 2 or 4 bytes whose rows begin anywhere.
 *
 * Follows  tile_vector, which is best where rows begin at multiples of 16 bytes.
 * Idea     whole sectors out: a tile of the output begins at another place in each row. See
 *          aligned_tile.h; b8 in words, a warp to a row, see byte_tile.h.
 * Tall     b32_tall has half the width and twice the height of b32, for a few dozen columns: half
 *          of b32's tile would be beside the matrix.
 * Wide     b8 reads runs of 124 bytes, nearly two lines of the L2 for each. b8_wide has twice the
 *          width and half the height: three lines for 252 bytes instead of four, and longer runs
 *          for the memory. Lines are fetched whole if the L2 has room for a column of tiles: the
 *          next one reads what is left of them. Where it has not, the output is streamed past it.
 * Cost     rows that two tiles share are read twice, the second time from the L2; by b8_wide up to
 *          one of four.
 * Machine  LDG.E, or LDG.E.64 by b16; STS.128, LDS.128, STG.E.128; SHF for the shifts, PRMT for
 *          the squares; SHFL, LDS, STG.E by b8
 */
#include "aligned_tile.h"
#include "byte_tile.h"

/* Elements, vectors down, loads across, threads: a tile of 56 rows by 64 columns ... */
typedef aligned_tile<uint32_t, 16, 64, 256> b32;
typedef aligned_tile<uint32_t, 32, 32, 256> b32_tall; /* 120 by 32 */
typedef aligned_tile<uint16_t, 16, 32, 256> b16;      /* 112 by 128 */
/* Spans across, 128 rows down, warps, rows in flight. */
typedef byte_tile<1, 2, 16, 16> b8;     /* 224 by 124 */
typedef byte_tile<2, 1, 8, 16> b8_wide; /* 96 by 252 */

GM_KERNEL_BOUNDED(transpose_shifted_b32, transpose_args, b32::THREADS, 6)
{
    __shared__ uint4 tile[b32::SIZE];
    aligned_tile_move<b32>(a, tile);
}

GM_KERNEL_BOUNDED(transpose_shifted_b32_tall, transpose_args, b32_tall::THREADS, 6)
{
    __shared__ uint4 tile[b32_tall::SIZE];
    aligned_tile_move<b32_tall>(a, tile);
}

GM_KERNEL_BOUNDED(transpose_shifted_b16, transpose_args, b16::THREADS, 4)
{
    __shared__ uint4 tile[b16::SIZE];
    aligned_tile_move<b16>(a, tile);
}

GM_KERNEL_BOUNDED(transpose_shifted_b8, transpose_args, b8::THREADS, 3)
{
    __shared__ uint4 tile[b8::SIZE];
    byte_tile_move<b8, false, false>(a, tile);
}

GM_KERNEL_BOUNDED(transpose_shifted_b8_wide, transpose_args, b8_wide::THREADS, 4)
{
    __shared__ uint4 tile[b8_wide::SIZE];
    byte_tile_move<b8_wide, true, false>(a, tile);
}

GM_KERNEL_BOUNDED(transpose_shifted_b8_wide_stream, transpose_args, b8_wide::THREADS, 4)
{
    __shared__ uint4 tile[b8_wide::SIZE];
    byte_tile_move<b8_wide, false, true>(a, tile);
}
