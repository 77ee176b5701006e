/*
 * shift_points / aos: an array of structures, field by field.
 *
 * Idea     the natural way to write it. The 32 lanes of a request for x are 8 bytes apart: it
 *          touches 8 sectors and uses half of each. The request for y touches the same sectors
 *          again.
 * Caches   memory moves no more bytes for it: on an H200 the request for y hits the L1. Stores
 *          reach the L2 separately, twice as many sectors as those of aos_vec2.
 */
#include "shift_points.h"

template <typename real> struct point {
    real x, y;
};

template <typename real> GM_DEVICE void shift(const shift_points_args &a)
{
    const point<real> *in = (const point<real> *)a.in;
    point<real> *out = (point<real> *)a.out;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += threads) {
        out[i].x = in[i].x + (real)a.dx;
        out[i].y = in[i].y + (real)a.dy;
    }
}

GM_KERNEL(shift_points_aos, shift_points_args)
{
    if (a.itemsize == 4) {
        shift<float>(a);
    } else {
        shift<double>(a);
    }
}
