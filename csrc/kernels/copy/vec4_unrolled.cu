/*
 * copy / vec4_unrolled: several independent 128-bit loads before the first store.
 *
 * Follows  vec4, whose loop has one load in flight per thread: the store needs its value, and
 *          the next load, which might alias the store, waits behind it.
 * Idea     load UNROLL vectors into registers, then store them. Each of them is coalesced
 *          across the block: a thread's vectors lie a block's width apart.
 * Machine  UNROLL times LDG.E.128, then UNROLL times STG.E.128
 */
#include "copy.h"

enum { UNROLL = 4 }; /* times 4 words: `elements` in the ladder */

GM_KERNEL(copy_vec4_unrolled, copy_args)
{
    const uint4 *in = (const uint4 *)a.in;
    uint4 *out = (uint4 *)a.out;
    const int64_t n = a.bytes / (int64_t)sizeof(uint4);
    const int64_t chunk = (int64_t)UNROLL * blockDim.x;

    for (int64_t base = blockIdx.x * chunk; base < n; base += gridDim.x * chunk) {
        int64_t i = base + threadIdx.x;
        if (base + chunk <= n) {
            uint4 held[UNROLL];
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                held[k] = in[i + k * (int64_t)blockDim.x];
            }
#pragma unroll
            for (int k = 0; k < UNROLL; k++) {
                out[i + k * (int64_t)blockDim.x] = held[k];
            }
        } else {
            for (; i < n; i += blockDim.x) {
                out[i] = in[i];
            }
        }
    }
    copy_tail(a, n * (int64_t)sizeof(uint4));
}
