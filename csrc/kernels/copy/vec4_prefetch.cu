/*
 * copy / vec4_prefetch: prefetches to the L2, early and in long runs.
 *
 * Follows  vec4.
 * Idea     blocks start in the order of addresses, one vector per thread, so that the chip works
 *          on a narrow window of memory. One thread per STREAM_RUN bytes prefetches a whole run
 *          to the L2, STREAM_AHEAD bytes before the blocks that read it: memory serves long
 *          reads. The launch may overlap the end of the previous kernel.
 * Machine  LDG.E.128, STG.E.128, UBLKPF
 */
#include "copy.h"
#include "stream.h"

GM_KERNEL(copy_vec4_prefetch, copy_args)
{
    const uint4 *in = (const uint4 *)a.in;
    uint4 *out = (uint4 *)a.out;
    const int64_t n = a.bytes / (int64_t)sizeof(uint4);
    const int64_t step = blockDim.x;

    gm_wait_for_previous();
    for (int64_t base = blockIdx.x * step; base < n; base += gridDim.x * step) {
        int64_t i = base + threadIdx.x;
        stream_prefetch(a.in, base * (int64_t)sizeof(uint4), a.bytes);
        if (i < n) {
            out[i] = gm_load_kept(&in[i]);
        }
    }
    copy_tail(a, n * (int64_t)sizeof(uint4));
}
