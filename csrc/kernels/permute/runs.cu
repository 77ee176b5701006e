/*
 * permute / runs: what runs on in both arrays is moved in the widest units.
 *
 * Follows  elementwise, which divides for each element.
 * Idea     axes that are contiguous on both sides are a run of bytes. A unit is as wide as the runs
 *          and their addresses allow, up to 16 bytes: fewer divisions, wider accesses. A division
 *          by a number that is known before the launch is a multiplication and a shift. Four loads
 *          of a thread are in flight at a time, of 16 bytes two.
 */
#include "permute.h"

GM_DEVICE int64_t offset_of(const permute_runs_args &a, uint32_t i)
{
    int64_t offset = 0;
    for (int d = a.ndim - 1; d > 0; d--) {
        offset += (int64_t)permute_take(&i, a.extent[d]) * a.from[d];
    }
    return offset + (int64_t)i * a.from[0];
}

GM_DEVICE int64_t offset_of(const permute_runs_args &a, uint64_t i)
{
    int64_t offset = 0;
    for (int d = a.ndim - 1; d > 0; d--) {
        const uint64_t extent = (uint64_t)a.long_extent[d], rest = i / extent;
        offset += (int64_t)(i - rest * extent) * a.from[d];
        i = rest;
    }
    return offset + (int64_t)i * a.from[0];
}

template <typename unit, typename index_type> GM_DEVICE void move_units(const permute_runs_args &a)
{
    enum { STEPS = sizeof(unit) == 16 ? 2 : 4 };
    const int64_t first = (int64_t)blockIdx.x * blockDim.x * STEPS + threadIdx.x;
    unit held[STEPS];

#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        const int64_t i = first + k * (int64_t)blockDim.x;
        if (i < a.units) {
            held[k] = *(const unit *)(a.in + offset_of(a, (index_type)i));
        }
    }
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        const int64_t i = first + k * (int64_t)blockDim.x;
        if (i < a.units) {
            ((unit *)a.out)[i] = held[k];
        }
    }
}

template <typename unit> GM_DEVICE void move_all(const permute_runs_args &a)
{
    if (a.units <= INT32_MAX) {
        move_units<unit, uint32_t>(a);
    } else {
        move_units<unit, uint64_t>(a);
    }
}

GM_KERNEL(permute_runs, permute_runs_args)
{
    switch (a.unit) {
    case 1: move_all<uint8_t>(a); break;
    case 2: move_all<uint16_t>(a); break;
    case 4: move_all<uint32_t>(a); break;
    case 8: move_all<uint2>(a); break;
    case 16: move_all<uint4>(a); break;
    }
}
