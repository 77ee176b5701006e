/*
 * gather / any: any layout of the data, elements of any size.
 *
 * Idea     an element is moved in pieces as wide as its size and all addresses allow; neighbouring
 *          threads take neighbouring pieces, and each looks its element's place up.
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
