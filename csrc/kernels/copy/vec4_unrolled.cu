/*
 * copy / vec4_unrolled: a tile per block, all loads of a thread before its first store.
 *
 * Follows  vec4, which has one load in flight per thread.
 * Idea     a copy that takes a single wave of blocks waits for memory once: the more loads are in
 *          flight then, the better. Four of 16 bytes from 2048 threads are 128 KiB per
 *          multiprocessor. Streaming hints say that no line is used again; they also keep the
 *          compiler from moving a store between the loads. The launch may overlap the end of
 *          the previous kernel.
 * Limits   for a copy much larger than the L2 it is slower than vec4: with so much in flight the
 *          chip works on too wide a window of memory at a time.
 * Machine  4 times LDG.E.EF.128, then 4 times STG.E.EF.128
 */
#include "copy.h"

enum { UNROLL = 4 }; /* times 4 words: `elements` in the ladder */

GM_KERNEL(copy_vec4_unrolled, copy_args)
{
    const uint4 *in = (const uint4 *)a.in;
    uint4 *out = (uint4 *)a.out;
    const int64_t n = a.bytes / (int64_t)sizeof(uint4);
    const int64_t step = blockDim.x;
    const int64_t tile = UNROLL * step;

    gm_wait_for_previous();
    for (int64_t base = blockIdx.x * tile; base < n; base += gridDim.x * tile) {
        int64_t i = base + threadIdx.x;
        uint4 held[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            int64_t from =
                i + k * step < n ? i + k * step : n - 1; /* clamped: loads without a branch */
            held[k] = __ldcs(&in[from]);
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            if (i + k * step < n) {
                __stcs(&out[i + k * step], held[k]);
            }
        }
    }
    copy_tail(a, n * (int64_t)sizeof(uint4));
}
