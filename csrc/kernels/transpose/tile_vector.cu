/*
 * transpose / tile_vector: 128-bit accesses on both sides, for elements of 1 to 16 bytes.
 *
 * Follows  tile_swizzled, which moves 4 bytes per lane and access.
 * Idea     a thread transposes a square in registers (of 4 x 4 words, or 16 x 16 bytes), and a
 *          block a tile of such squares in shared memory: a quarter of the instructions, and runs
 *          of 256 bytes and more on both sides. See register_tile.h for who holds what.
 * Sides    with elements of 4 or 8 bytes a side whose rows begin or end inside of a vector is
 *          accessed element by element; other sizes need whole vectors on both sides.
 * Wide     b32 reads 256 bytes of a row at a time. Where rows begin anywhere that is part of a line
 *          at both ends, which the memory reads again for the next tile. b32_wide, for matrices
 *          much larger than the L2, has half as many ends, but half as many tiles.
 * Machine  LDG.E.128 or LDG.E, STS.128, LDS.128, STG.E.128; PRMT for elements of 1 and 2 bytes
 */
#include "register_tile.h"

/* Elements, squares down and across, threads: a tile of 64 x 64 words ... */
typedef register_tile<uint32_t, 16, 16, 256> b32;
typedef register_tile<uint32_t, 16, 32, 512> b32_wide; /* 64 rows by 128 columns */
typedef register_tile<uint64_t, 32, 32, 512> b64;      /* 64 x 64 */
typedef register_tile<uint4, 32, 32, 512> b128;        /* 32 x 32: nothing to do in registers */
typedef register_tile<uint16_t, 16, 16, 256> b16;      /* 128 x 128 */
typedef register_tile<uint8_t, 16, 16, 256> b8;        /* 256 x 256: 64 KiB */

GM_KERNEL(transpose_tile_vector_b32, transpose_args)
{
    __shared__ uint4 tile[b32::SIZE];
    register_tile_move<b32>(a, tile);
}

GM_KERNEL_BOUNDED(transpose_tile_vector_b32_wide, transpose_args, b32_wide::THREADS, 3)
{
    __shared__ uint4 tile[b32_wide::SIZE];
    register_tile_move<b32_wide>(a, tile);
}

GM_KERNEL_BOUNDED(transpose_tile_vector_b64, transpose_args, b64::THREADS, 2)
{
    __shared__ uint4 tile[b64::SIZE];
    register_tile_move<b64>(a, tile);
}

GM_KERNEL(transpose_tile_vector_b128, transpose_args)
{
    __shared__ uint4 tile[b128::SIZE];
    register_tile_move_vectors<b128>(a, tile);
}

GM_KERNEL(transpose_tile_vector_b16, transpose_args)
{
    __shared__ uint4 tile[b16::SIZE];
    register_tile_move_vectors<b16>(a, tile);
}

GM_KERNEL(transpose_tile_vector_b8, transpose_args)
{
    GM_DYNAMIC_SHARED(uint4, tile); /* b8::SIZE */
    register_tile_move_vectors<b8>(a, tile);
}
