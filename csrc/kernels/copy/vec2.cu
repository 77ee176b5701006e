/*
 * copy / vec2: 64 bits per thread and step.
 *
 * Follows  scalar, which spends one load and one store instruction on 128 bytes per warp.
 * Idea     the same loop over 8-byte vectors: half the instructions, twice the bytes in
 *          flight per warp. The addresses must be multiples of 8.
 * Machine  LDG.E.64, STG.E.64
 */
#include "copy.h"

GM_KERNEL(copy_vec2, copy_args)
{
    const uint2 *in = (const uint2 *)a.in;
    uint2 *out = (uint2 *)a.out;
    const int64_t n = a.bytes / (int64_t)sizeof(uint2);
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        out[i] = in[i];
    }
    copy_tail(a, n * (int64_t)sizeof(uint2));
}
