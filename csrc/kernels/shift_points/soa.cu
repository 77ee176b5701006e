/*
 * shift_points / soa: a structure of arrays.
 *
 * Follows  aos.
 * Idea     all x, then all y: neighbouring lanes read neighbouring numbers of one field. Every
 *          request is as good as a copy's, whichever of the fields a kernel needs.
 * Limits   where it needs all of them, as here, no sector is saved that the L1 would not have
 *          kept: at 32 bits per access it is no faster than aos. See soa_vec2 and vec4.
 */
#include "shift_points.h"

template <typename real> GM_DEVICE void shift(const shift_points_args &a)
{
    const real *x = (const real *)a.in, *y = x + a.count;
    real *out_x = (real *)a.out, *out_y = out_x + a.count;

    for (int64_t i = gm_grid_index(); i < a.count; i += gm_grid_stride()) {
        out_x[i] = x[i] + (real)a.dx;
        out_y[i] = y[i] + (real)a.dy;
    }
}

GM_KERNEL(shift_points_soa, shift_points_args)
{
    if (a.itemsize == 4) {
        shift<float>(a);
    } else {
        shift<double>(a);
    }
}
