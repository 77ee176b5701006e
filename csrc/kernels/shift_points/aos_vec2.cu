/*
 * shift_points / aos_vec2: an array of structures, a whole point per access.
 *
 * Follows  aos.
 * Idea     a point as one vector: one request for both fields, and every byte that it touches is
 *          used. The points must be aligned to their size.
 * Machine  LDG.E.64, STG.E.64 (128 for double)
 */
#include "shift_points.h"

template <typename vector, typename real> GM_DEVICE void shift(const shift_points_args &a)
{
    const vector *in = (const vector *)a.in;
    vector *out = (vector *)a.out;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += threads) {
        vector point = in[i];
        point.x += (real)a.dx;
        point.y += (real)a.dy;
        out[i] = point;
    }
}

GM_KERNEL(shift_points_aos_vec2, shift_points_args)
{
    if (a.itemsize == 4) {
        shift<float2, float>(a);
    } else {
        shift<double2, double>(a);
    }
}
