/*
 * copy / scalar: one 32-bit word per thread and step.
 *
 * Idea     neighbouring threads copy neighbouring words: the 32 lanes of a warp request 128 bytes,
 *          which are 4 whole sectors. With a grid-stride loop any grid covers any size.
 * Machine  LDG.E, STG.E
 */
#include "copy.h"

GM_KERNEL(copy_scalar, copy_args)
{
    const uint32_t *in = (const uint32_t *)a.in;
    uint32_t *out = (uint32_t *)a.out;
    const int64_t n = a.bytes / (int64_t)sizeof(uint32_t);
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        out[i] = in[i];
    }
    copy_tail(a, n * (int64_t)sizeof(uint32_t));
}
