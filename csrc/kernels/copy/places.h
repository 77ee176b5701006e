/* copy: where the units of a thread are, for kernels that take any layout on both sides. */
#ifndef GPUMEM_COPY_PLACES_H
#define GPUMEM_COPY_PLACES_H

#include "copy.h"

enum { COPY_STEPS = 4 };

typedef struct copy_place {
    int64_t from, to; /* bytes */
} copy_place;

/* The first unit of a thread, of COPY_STEPS that are a block apart, and the way to its next first
 * one. */
GM_DEVICE int64_t copy_first(void)
{
    return (int64_t)blockIdx.x * blockDim.x * COPY_STEPS + threadIdx.x;
}

GM_DEVICE int64_t copy_stride(void)
{
    return gm_grid_stride() * COPY_STEPS;
}

/* Is there a unit for step k? */
GM_DEVICE bool copy_has(const copy_scatter_args &a, int64_t first, int k)
{
    return first + k * (int64_t)blockDim.x < a.units;
}

GM_DEVICE copy_place copy_place_of(const copy_scatter_args &a, uint32_t i)
{
    copy_place at = {0, 0};
#pragma unroll 1
    for (int d = a.ndim - 1; d > 0; d--) {
        const int64_t index = gm_take(&i, a.divisor[d]);
        at.from += index * a.from[d];
        at.to += index * a.to[d];
    }
    return {at.from + (int64_t)i * a.from[0], at.to + (int64_t)i * a.to[0]};
}

GM_DEVICE copy_place copy_place_of(const copy_scatter_args &a, uint64_t i)
{
    copy_place at = {0, 0};
#pragma unroll 1
    for (int d = a.ndim - 1; d > 0; d--) {
        const uint64_t extent = (uint64_t)a.extent[d], rest = i / extent;
        const int64_t index = (int64_t)(i - rest * extent);
        at.from += index * a.from[d];
        at.to += index * a.to[d];
        i = rest;
    }
    return {at.from + (int64_t)i * a.from[0], at.to + (int64_t)i * a.to[0]};
}

template <typename index_type>
GM_DEVICE void copy_divide(const copy_scatter_args &a, int64_t first, copy_place *at)
{
#pragma unroll
    for (int k = 0; k < COPY_STEPS; k++) {
        const int64_t i = first + k * (int64_t)blockDim.x;
        at[k] = copy_place_of(a, (index_type)(i < a.units ? i : 0));
    }
}

/* The places of this thread's units; of those past the last one, the place of unit 0. */
GM_DEVICE void copy_find_places(const copy_scatter_args &a, int64_t first, copy_place *at)
{
    if (a.units <= INT32_MAX) {
        copy_divide<uint32_t>(a, first, at);
    } else {
        copy_divide<uint64_t>(a, first, at);
    }
}

#endif
