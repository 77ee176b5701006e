/* copy: what scatter and scatter_far share, a thread's units from one layout to the other. */
#ifndef GPUMEM_COPY_SCATTER_H
#define GPUMEM_COPY_SCATTER_H

#include "places.h"

template <typename unit, typename offset_type>
GM_DEVICE void scatter_units(const copy_scatter_args &a, int64_t first,
                             const copy_places<offset_type> &at)
{
    unit held[COPY_STEPS];

#pragma unroll
    for (int k = 0; k < COPY_STEPS; k++) {
        if (copy_has(a, first, k)) {
            held[k] = __ldca((const unit *)(a.in + at.from[k]));
        }
    }
#pragma unroll
    for (int k = 0; k < COPY_STEPS; k++) {
        if (copy_has(a, first, k)) {
            *(unit *)(a.out + at.to[k]) = held[k];
        }
    }
}

template <typename offset_type>
GM_DEVICE void scatter(const copy_scatter_args &a, int64_t first,
                       const copy_places<offset_type> &at)
{
    switch (a.width) {
    case 1: scatter_units<uint8_t>(a, first, at); break;
    case 2: scatter_units<uint16_t>(a, first, at); break;
    case 4: scatter_units<uint32_t>(a, first, at); break;
    case 8: scatter_units<uint2>(a, first, at); break;
    case 16: scatter_units<uint4>(a, first, at); break;
    }
}

#endif
