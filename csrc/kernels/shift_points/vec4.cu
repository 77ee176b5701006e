/*
 * shift_points / vec4: 128 bits per access, whatever the layout.
 *
 * Follows  aos_vec2 and soa_vec2.
 * Idea     where a kernel needs all fields, a layout is only the order of the numbers: the index
 *          of a number says whether it is an x. So the kernel runs as fast as a copy: 16 bytes per
 *          thread, blocks in the order of addresses, long runs prefetched to the L2 well ahead.
 *          The launch may overlap the end of the previous kernel.
 * Machine  LDG.E.128, STG.E.128, UBLKPF
 */
#include "shift_points.h"
#include "stream.h"

/* By how much number k of the array moves. */
template <typename real, bool soa> GM_DEVICE real shift_at(const shift_points_args &a, int64_t k)
{
    const real dx = (real)a.dx, dy = (real)a.dy;
    return (soa ? k < a.count : k % 2 == 0) ? dx : dy;
}

template <typename real, bool soa> GM_DEVICE void shift(const shift_points_args &a)
{
    typedef typename stream_vector<real>::type vector;
    enum { EACH = sizeof(vector) / sizeof(real) };
    const vector *in = (const vector *)a.in;
    vector *out = (vector *)a.out;
    const int64_t n = 2 * a.count / EACH, step = blockDim.x;

    gm_wait_for_previous();
    for (int64_t base = blockIdx.x * step; base < n; base += gridDim.x * step) {
        const int64_t i = base + threadIdx.x;
        stream_prefetch(a.in, base * (int64_t)sizeof(vector), n * (int64_t)sizeof(vector));
        if (i < n) {
            real x[EACH];
            stream_unpack(gm_load_kept(&in[i]), x);
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                x[j] += shift_at<real, soa>(a, i * EACH + j);
            }
            out[i] = stream_pack(x);
        }
    }
    const int64_t k = n * EACH + gm_grid_index();
    if (k < 2 * a.count) { /* a point after the last whole vector */
        ((real *)a.out)[k] = ((const real *)a.in)[k] + shift_at<real, soa>(a, k);
    }
}

GM_KERNEL(shift_points_vec4, shift_points_args)
{
    if (a.itemsize == 4) {
        a.soa ? shift<float, true>(a) : shift<float, false>(a);
    } else {
        a.soa ? shift<double, true>(a) : shift<double, false>(a);
    }
}
