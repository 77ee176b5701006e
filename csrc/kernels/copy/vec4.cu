/*
 * copy / vec4: 128 bits per thread and step.
 *
 * Follows  vec2.
 * Idea     16 bytes is the widest access of one instruction: a quarter of the instructions, 512
 *          bytes (16 sectors) per request. The addresses must be multiples of 16.
 * Machine  LDG.E.128, STG.E.128
 */
#include "copy.h"

GM_KERNEL(copy_vec4, copy_args)
{
    const uint4 *in = (const uint4 *)a.in;
    uint4 *out = (uint4 *)a.out;
    const int64_t n = a.bytes / (int64_t)sizeof(uint4);

    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        out[i] = in[i];
    }
    copy_tail(a, n * (int64_t)sizeof(uint4));
}
