/*
 * What the fastest kernels with one load and one store per number share: 16 bytes per thread,
 * blocks that start in the order of addresses, so that the chip works on a narrow window of memory,
 * and prefetches of long runs to the L2, well ahead.
 */
#ifndef GPUMEM_STREAM_H
#define GPUMEM_STREAM_H

#include "bulk.h"

enum {
    STREAM_RUN = 32 * 1024,    /* bytes of a prefetch */
    STREAM_AHEAD = 256 * 1024, /* bytes from the block that makes it to where it begins */
};

/* Called by a block before it reads from byte `at` on; what it reads is a divisor of STREAM_RUN.
 * Where a run begins, one thread prefetches the run STREAM_AHEAD bytes on, if it ends before `end`.
 */
GM_DEVICE void stream_prefetch(const char *in, int64_t at, int64_t end)
{
    if (threadIdx.x == 0 && at % STREAM_RUN == 0 && at + STREAM_AHEAD + STREAM_RUN <= end) {
        gm_bulk_prefetch(in + at + STREAM_AHEAD, STREAM_RUN);
    }
}

/* The numbers in the 16 bytes of an access. */
template <typename real> struct stream_vector;
template <> struct stream_vector<float> {
    typedef float4 type;
};
template <> struct stream_vector<double> {
    typedef double2 type;
};

GM_DEVICE void stream_unpack(float4 v, float *x)
{
    x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
}

GM_DEVICE void stream_unpack(double2 v, double *x)
{
    x[0] = v.x, x[1] = v.y;
}

GM_DEVICE float4 stream_pack(const float *x)
{
    return make_float4(x[0], x[1], x[2], x[3]);
}

GM_DEVICE double2 stream_pack(const double *x)
{
    return make_double2(x[0], x[1]);
}

#endif
