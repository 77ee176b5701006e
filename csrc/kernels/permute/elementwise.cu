/*
 * permute / elementwise: any layout in, contiguous out.
 *
 * Idea     each thread divides its index by the extents, the innermost axis of the result first, to
 *          find its element. Divisions are slow. Stores are always coalesced; loads are as good as
 *          the layout.
 */
#include "permute.h"

template <typename index_type>
GM_DEVICE int64_t offset_of(const permute_elementwise_args &a, index_type i)
{
    int64_t offset = 0;
    for (int d = a.ndim - 1; d > 0; d--) {
        index_type extent = (index_type)a.extent[d];
        index_type rest = i / extent;
        offset += (int64_t)(i - rest * extent) * a.from[d];
        i = rest;
    }
    return offset + (int64_t)i * a.from[0];
}

template <typename unit> GM_DEVICE void move_units(const permute_elementwise_args &a)
{
    unit *out = (unit *)a.out;
    for (int64_t i = gm_grid_index(); i < a.units; i += gm_grid_stride()) {
        int64_t offset = a.units <= INT32_MAX ? offset_of<uint32_t>(a, (uint32_t)i)
                                              : offset_of<uint64_t>(a, (uint64_t)i);
        out[i] = *(const unit *)(a.in + offset);
    }
}

GM_KERNEL(permute_elementwise, permute_elementwise_args)
{
    switch (a.unit) {
    case 1: move_units<uint8_t>(a); break;
    case 2: move_units<uint16_t>(a); break;
    case 4: move_units<uint32_t>(a); break;
    case 8: move_units<uint2>(a); break;
    case 16: move_units<uint4>(a); break;
    }
}
