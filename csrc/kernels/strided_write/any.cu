/*
 * strided_write / any: any layout on both sides, elements of any size.
 *
 * Idea     an element is split into accesses of a power of two bytes, as wide as its size and all
 *          addresses allow; neighbouring threads take neighbouring pieces.
 */
#include "strided_write.h"

GM_KERNEL(strided_write_any, strided_write_args)
{
    const int64_t all = a.count * a.pieces;

    for (int64_t i = gm_grid_index(); i < all; i += gm_grid_stride()) {
        int64_t k = i / a.pieces;
        access_move_piece(a.out + k * a.out_stride, a.in + k * a.in_stride, i - k * a.pieces,
                          a.width);
    }
}
