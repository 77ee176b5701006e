/*
 * sample / texture: the texture unit.
 *
 * Follows  global.
 * Idea     one instruction fetches the four pixels, interpolates and clamps the coordinates. The
 *          image is copied into a CUDA array first, which stores pixels in squares, so that
 *          neighbours in both directions share a line.
 * Cost     that copy, at each call. The weights have 8 fractional bits: in each direction an error
 *          of up to 1/256 of the difference between pixels.
 * Machine  TEX
 */
#include "sample.h"

GM_KERNEL(sample_texture, sample_args)
{
    const float2 *points = (const float2 *)a.points;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += threads) {
        float2 at = points[i];
        a.out[i] = gm_texture_fetch(a.texture, at.x, at.y);
    }
}
