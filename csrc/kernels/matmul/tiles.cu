/*
 * matmul / tiles: every tile of every product of the stack in one launch.
 *
 * Follows  naive.
 * Idea     a block loads what its threads share once, and a stack has its tiles in one grid. Large
 *          tiles load less, small ones keep all multiprocessors busy: there are several sizes, and
 *          where even the smallest are too few, blocks share the depth of a tile.
 */
#include "tiles.h"

/*                  tile        sums   groups, steps of a group, stages    threads of a team */
typedef tiles_shape<32, 32, 8, 4, 1, 8, 3, 32> shape_w32x32;
typedef tiles_shape<16, 64, 4, 8, 8, 8, 3, 256> shape_16x64;
typedef tiles_shape<32, 32, 8, 4, 8, 8, 3, 256> shape_32x32;
typedef tiles_shape<64, 64, 8, 8, 4, 8, 3, 256> shape_64x64;
typedef tiles_shape<64, 32, 8, 4, 1, 8, 4, 64> shape_p64x32;

#define FITS(name)                                                                                 \
    static_assert(shape_##name::teams * shape_##name::team_floats * 4 == MATMUL_BYTES_##name,      \
                  "the ladder says how much")
FITS(w32x32);
FITS(16x64);
FITS(32x32);
FITS(64x64);
FITS(p64x32);

GM_KERNEL_BOUNDED(matmul_tiles_32x32, matmul_args, MATMUL_THREADS, 2)
{
    GM_DYNAMIC_SHARED(float, shared);
    tiles_product<shape_32x32>(a, shared);
}

GM_KERNEL_BOUNDED(matmul_tiles_16x64, matmul_args, MATMUL_THREADS, 2)
{
    GM_DYNAMIC_SHARED(float, shared);
    tiles_product<shape_16x64>(a, shared);
}

GM_KERNEL_BOUNDED(matmul_tiles_64x64, matmul_args, MATMUL_THREADS, 2)
{
    GM_DYNAMIC_SHARED(float, shared);
    tiles_product<shape_64x64>(a, shared);
}

GM_KERNEL_BOUNDED(matmul_tiles_p64x32, matmul_args, 64, 8)
{
    GM_DYNAMIC_SHARED(float, shared);
    tiles_product<shape_p64x32>(a, shared);
}

GM_KERNEL_BOUNDED(matmul_tiles_w32x32, matmul_args, MATMUL_THREADS, 2)
{
    GM_DYNAMIC_SHARED(float, shared);
    tiles_product<shape_w32x32>(a, shared);
}
