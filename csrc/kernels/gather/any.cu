/*
 * gather / any: any layout of the data, elements of any size.
 *
 * Idea     an element is split into accesses of a power of two bytes, as wide as its size and all
 *          addresses allow; neighbouring threads take neighbouring pieces, and each reads the index
 *          of its element.
 */
#include "gather.h"

GM_KERNEL(gather_any, gather_args)
{
    const int64_t all = a.count * a.pieces;

    for (int64_t i = gm_grid_index(); i < all; i += gm_grid_stride()) {
        int64_t k = i / a.pieces;
        access_move_piece(a.out + k * a.itemsize, a.in + gather_place(a, k) * a.in_stride,
                          i - k * a.pieces, a.width);
    }
}
