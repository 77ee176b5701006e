/*
 * stream / scalar: a word per thread and step, in steps of the grid.
 *
 * Idea     neighbouring threads take neighbouring words: each request of a warp is 128 bytes in a
 *          row. With a few bytes in flight per thread it is the number of threads that has to hide
 *          the latency.
 */
#include "stream.h"

GM_KERNEL_BOUNDED(stream_scalar, stream_args, STREAM_THREADS, STREAM_BLOCKS)
{
    uint32_t seen = 0;
#pragma unroll 1
    for (int64_t i = gm_grid_index(); i < a.length; i += gm_grid_stride()) {
        uint32_t sum = 0;
        for (int r = 0; r < a.reads; r++) {
            sum ^= a.in[r * a.length + i];
        }
        for (int w = 0; w < a.writes; w++) {
            a.out[w * a.length + i] = sum ^ (uint32_t)w;
        }
        seen ^= sum;
    }
    if (a.writes == 0) {
        stream_join(a, seen);
    }
}
