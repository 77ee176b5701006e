/*
 * copy / scatter: strided, for a result that has gaps.
 *
 * Idea     a thread divides the number of a unit by the extents, the innermost axis first, to find
 *          its place on both sides. Axes are sorted by the strides of the result: neighbours in a
 *          warp store side by side; loads are as good as the layout. A unit is as wide as the
 *          layouts allow, up to 16 bytes. A division by a number that is known before the launch is
 *          a multiplication and a shift. Four loads of a thread are in flight at a time.
 */
#include "copy.h"
#include "places.h"

template <typename unit>
GM_DEVICE void move_units(const copy_scatter_args &a, int64_t first, const copy_place *at)
{
    unit held[COPY_STEPS];

#pragma unroll
    for (int k = 0; k < COPY_STEPS; k++) {
        if (copy_has(a, first, k)) {
            held[k] = *(const unit *)(a.in + at[k].from);
        }
    }
#pragma unroll
    for (int k = 0; k < COPY_STEPS; k++) {
        if (copy_has(a, first, k)) {
            *(unit *)(a.out + at[k].to) = held[k];
        }
    }
}

GM_KERNEL(copy_scatter, copy_scatter_args)
{
    for (int64_t first = copy_first(); first < a.units; first += copy_stride()) {
        copy_place at[COPY_STEPS];
        copy_find_places(a, first, at);
        switch (a.width) {
        case 1: move_units<uint8_t>(a, first, at); break;
        case 2: move_units<uint16_t>(a, first, at); break;
        case 4: move_units<uint32_t>(a, first, at); break;
        case 8: move_units<uint2>(a, first, at); break;
        case 16: move_units<uint4>(a, first, at); break;
        }
    }
}
