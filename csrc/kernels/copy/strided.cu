/*
 * copy / strided: any layout in, contiguous out.
 *
 * Idea     each thread divides its index by the extents, last dimension first, to find its
 *          element. Divisions are slow: contiguous dimensions are merged beforehand, and they
 *          have 32 bits where the count allows it. Stores are always coalesced; loads are as
 *          good as the layout.
 */
#include "copy.h"

template <typename index_type> GM_DEVICE int64_t offset_of(const copy_strided_args &a, index_type i)
{
    int64_t offset = 0;
    for (int d = a.ndim - 1; d > 0; d--) {
        index_type extent = (index_type)a.extent[d];
        index_type rest = i / extent;
        offset += (int64_t)(i - rest * extent) * a.stride[d];
        i = rest;
    }
    return offset + (int64_t)i * a.stride[0];
}

template <typename unit> GM_DEVICE void copy_units(const copy_strided_args &a)
{
    unit *out = (unit *)a.out;
    for (int64_t i = gm_grid_index(); i < a.units; i += gm_grid_stride()) {
        int64_t offset = a.units <= INT32_MAX ? offset_of<uint32_t>(a, (uint32_t)i)
                                              : offset_of<uint64_t>(a, (uint64_t)i);
        out[i] = *(const unit *)(a.in + offset);
    }
}

GM_KERNEL(copy_strided, copy_strided_args)
{
    switch (a.width) {
    case 1: copy_units<uint8_t>(a); break;
    case 2: copy_units<uint16_t>(a); break;
    case 4: copy_units<uint32_t>(a); break;
    case 8: copy_units<uint2>(a); break;
    case 16: copy_units<uint4>(a); break;
    }
}
