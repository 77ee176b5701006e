/*
 * permute / joined: tiles of rows and columns that are along several axes.
 *
 * Follows  matrices, whose tiles are of two axes: where one of them is short, so is what memory
 *          moves at a time.
 * Idea     the innermost axes of the result follow each other there without gaps: together they
 *          are long rows of it. So are the closest axes of the input. Where no axis is both, what
 *          moves is matrices of these, of which two axes alone are a small part: axes 3, 2, 1, 0 of
 *          (a, b, c, d) as a matrix of a x b by c x d elements. Only where the next row is, in the
 *          input, and the next column in the result, is no longer a matter of a pitch: a block
 *          writes tables of its own. Where an axis is both, and innermost, as the channels are of
 *          images whose rows and columns change places, the next axes are rows and columns, and the
 *          rows of that axis alternate in a line of the input. See joined_tile.h.
 * Machine  LDGSTS, LDS of units, PRMT, STG.E.128
 */
#include "joined_tile.h"

typedef joined_tile<uint8_t> joined_b8;
typedef joined_tile<uint16_t> joined_b16;
typedef joined_tile<uint32_t> joined_b32;
typedef joined_tile<uint2> joined_b64;
typedef joined_tile<uint4> joined_b128;

template <typename geometry> GM_DEVICE void permute_join(const permute_joined_args &a)
{
    GM_DYNAMIC_SHARED(char, memory);
    const permute_spot spot = permute_spot_of(a.grid);
    if (spot.y < a.grid.tiles_y) {
        joined_tile_move<geometry>(a, spot, memory);
    }
}

GM_KERNEL_BOUNDED(permute_joined_b8, permute_joined_args, JOINED_THREADS, 4)
{
    permute_join<joined_b8>(a);
}

GM_KERNEL_BOUNDED(permute_joined_b16, permute_joined_args, JOINED_THREADS, 4)
{
    permute_join<joined_b16>(a);
}

GM_KERNEL_BOUNDED(permute_joined_b32, permute_joined_args, JOINED_THREADS, 4)
{
    permute_join<joined_b32>(a);
}

GM_KERNEL_BOUNDED(permute_joined_b64, permute_joined_args, JOINED_THREADS, 4)
{
    permute_join<joined_b64>(a);
}

GM_KERNEL_BOUNDED(permute_joined_b128, permute_joined_args, JOINED_THREADS, 4)
{
    permute_join<joined_b128>(a);
}
