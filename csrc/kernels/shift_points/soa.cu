/*
 * shift_points / soa: a structure of arrays.
 *
 * Follows  aos.
 * Idea     all x, then all y: neighbouring lanes read neighbouring numbers of one field. Every
 *          request is as efficient as a copy's, whichever fields a kernel needs.
 * Limits   a kernel that needs all fields, as this one, gains nothing: the L1 serves the second
 *          field of aos. At 32 bits per access soa is no faster. See soa_vec2 and vec4.
 */
#include "shift_points.h"

template <typename real> GM_DEVICE void shift(const shift_points_args &a)
{
    const real *x = (const real *)a.in, *y = x + a.count;
    real *out_x = (real *)a.out, *out_y = out_x + a.count;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += threads) {
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
