/*
 * shift_points / soa_vec2: a structure of arrays, two numbers per access.
 *
 * Follows  soa.
 * Idea     as wide as aos_vec2. The two fields are one run of numbers, first every x, then every
 *          y, of which a thread takes two that follow. With an odd number of points one pair is
 *          the last x and the first y: which shift a number gets is decided by its place.
 *          The array must be aligned to such pairs.
 * Machine  LDG.E.64, STG.E.64 (128 for double)
 */
#include "shift_points.h"

template <typename vector, typename real> GM_DEVICE void shift(const shift_points_args &a)
{
    const vector *in = (const vector *)a.in;
    vector *out = (vector *)a.out;
    const real dx = (real)a.dx, dy = (real)a.dy;

    for (int64_t i = gm_grid_index(); i < a.count; i += gm_grid_stride()) {
        vector pair = in[i];
        pair.x += 2 * i < a.count ? dx : dy;
        pair.y += 2 * i + 1 < a.count ? dx : dy;
        out[i] = pair;
    }
}

GM_KERNEL(shift_points_soa_vec2, shift_points_args)
{
    if (a.itemsize == 4) {
        shift<float2, float>(a);
    } else {
        shift<double2, double>(a);
    }
}
