/*
 * sample / texture: by the texture unit.
 *
 * Follows  global.
 * Idea     one instruction fetches the four pixels, weighs them and clamps the coordinates. The
 *          image is copied into an array first, whose pixels lie in squares, so that neighbours in
 *          both directions share a line.
 * Cost     that copy, at each call. The weights have 8 bits behind the point: in each direction an
 *          error of up to 1/256 of the difference between pixels.
 * Machine  TEX
 */
#include "sample.h"

GM_KERNEL(sample_texture, sample_args)
{
    const float2 *points = (const float2 *)a.points;
    for (int64_t i = gm_grid_index(); i < a.count; i += gm_grid_stride()) {
        float2 at = points[i];
        a.out[i] = gm_texture_fetch(a.texture, at.x, at.y);
    }
}
