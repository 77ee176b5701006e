/*
 * sample / global: by hand, from global memory.
 *
 * Idea     four loads and three interpolations per point. Neighbouring points share sectors only
 *          along a row of the image: the next row is a whole pitch away.
 */
#include "sample.h"

/* With a share of 0 the neighbour does not count, also if it is infinite or NaN. */
GM_DEVICE float mix(float a, float b, float share)
{
    return share == 0 ? a : (1 - share) * a + share * b;
}

/* The coordinate, clamped to the image; NaN counts as 0. */
GM_DEVICE float clamped(float at, int64_t size)
{
    return fminf(fmaxf(at, 0), (float)(size - 1));
}

GM_KERNEL(sample_global, sample_args)
{
    const float2 *points = (const float2 *)a.points;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += threads) {
        float2 at = points[i];
        float x = clamped(at.x, a.width), y = clamped(at.y, a.height);
        int64_t left = (int64_t)x, top = (int64_t)y;
        left = left < a.width ? left : a.width - 1; /* (float)(size - 1) may round up to size */
        top = top < a.height ? top : a.height - 1;
        int64_t right = left + 1 < a.width ? left + 1 : left;
        int64_t below = top + 1 < a.height ? top + 1 : top;
        float across = x - (float)left, down = y - (float)top;
        const float *upper = (const float *)(a.image + top * a.pitch);
        const float *lower = (const float *)(a.image + below * a.pitch);
        a.out[i] = mix(mix(upper[left], upper[right], across),
                       mix(lower[left], lower[right], across), down);
    }
}
