/*
 * shift_points / soa_vec2: a structure of arrays, two numbers per access.
 *
 * Follows  soa.
 * Idea     accesses as wide as those of aos_vec2. All x and then all y are one array of numbers,
 *          of which a thread takes two neighbours. With an odd number of points one pair is the
 *          last x and the first y: the index of a number decides by how much it moves. The array
 *          must be aligned to pairs.
 * Machine  LDG.E.64, STG.E.64 (128 for double)
 */
#include "shift_points.h"

template <typename vector, typename real> GM_DEVICE void shift(const shift_points_args &a)
{
    const vector *in = (const vector *)a.in;
    vector *out = (vector *)a.out;
    const real dx = (real)a.dx, dy = (real)a.dy;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += threads) {
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
