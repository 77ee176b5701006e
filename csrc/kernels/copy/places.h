/* copy: where the units of a thread are, for kernels that take any layout on both sides. */
#ifndef GPUMEM_COPY_PLACES_H
#define GPUMEM_COPY_PLACES_H

#include "copy.h"

enum { COPY_STEPS = 4 };

/* Where a thread's units are, of COPY_STEPS that are a block apart: bytes from the first unit of
 * all.
 */
template <typename offset_type> struct copy_places {
    offset_type from[COPY_STEPS], to[COPY_STEPS];
};

/* The first unit of a thread, and the way to its next first one. */
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

GM_DEVICE uint32_t copy_take(const copy_scatter_args &a, uint32_t &rest, int d)
{
    return gm_take(&rest, a.divisor[d]);
}

GM_DEVICE uint64_t copy_take(const copy_scatter_args &a, uint64_t &rest, int d)
{
    const uint64_t extent = (uint64_t)a.extent[d], quotient = rest / extent;
    const uint64_t remainder = rest - quotient * extent;
    rest = quotient;
    return remainder;
}

/* Along one axis after the other for all units: what is known of the axis is loaded once, and the
 * divisions overlap. Of those past the last unit, the place of unit 0. */
template <typename index_type, typename offset_type>
GM_DEVICE copy_places<offset_type> copy_find_places(const copy_scatter_args &a, int64_t first)
{
    copy_places<offset_type> at = {};
    index_type rest[COPY_STEPS];
#pragma unroll
    for (int k = 0; k < COPY_STEPS; k++) {
        rest[k] = (index_type)(copy_has(a, first, k) ? first + k * (int64_t)blockDim.x : 0);
    }
#pragma unroll 1
    for (int d = a.ndim - 1; d > 0; d--) {
        const offset_type from = (offset_type)a.from[d], to = (offset_type)a.to[d];
#pragma unroll
        for (int k = 0; k < COPY_STEPS; k++) {
            const offset_type index = (offset_type)copy_take(a, rest[k], d);
            at.from[k] += index * from;
            at.to[k] += index * to;
        }
    }
#pragma unroll
    for (int k = 0; k < COPY_STEPS; k++) {
        at.from[k] += (offset_type)rest[k] * (offset_type)a.from[0];
        at.to[k] += (offset_type)rest[k] * (offset_type)a.to[0];
    }
    return at;
}

/* The same, where distances may be longer. */
GM_DEVICE copy_places<int64_t> copy_find_far_places(const copy_scatter_args &a, int64_t first)
{
    return a.units <= INT32_MAX ? copy_find_places<uint32_t, int64_t>(a, first)
                                : copy_find_places<uint64_t, int64_t>(a, first);
}

#endif
