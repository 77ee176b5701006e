/*
 * sample / global: by hand, from global memory.
 *
 * Idea     four loads and three interpolations per point. Points that are near each other read the
 *          same sectors only if they are near each other in rows as well: a row of the image ends
 *          a long way from where the next one begins.
 */
#include "sample.h"

/* At a pixel itself its neighbour does not count, be it an infinity or NaN. */
GM_DEVICE float mix(float a, float b, float share)
{
    return share == 0 ? a : (1 - share) * a + share * b;
}

/* The coordinate on the edge that is nearest; NaN counts as 0. */
GM_DEVICE float onto(float at, int64_t size)
{
    return fminf(fmaxf(at, 0), (float)(size - 1));
}

GM_KERNEL(sample_global, sample_args)
{
    const float2 *points = (const float2 *)a.points;
    for (int64_t i = gm_grid_index(); i < a.count; i += gm_grid_stride()) {
        float2 at = points[i];
        float x = onto(at.x, a.width), y = onto(at.y, a.height);
        int64_t left = (int64_t)x, top = (int64_t)y;
        left = left < a.width ? left : a.width - 1; /* a float may be rounded up past it */
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
