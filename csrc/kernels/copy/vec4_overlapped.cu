/*
 * copy / vec4_overlapped: the launch overlaps the end of the previous kernel.
 *
 * Follows  vec4, whose blocks start when the last block of the previous kernel has ended.
 * Idea     blocks may start as soon as there is room on a multiprocessor; there they wait until what
 *          the previous kernel wrote can be read. Of kernels in a row, each saves the time of a
 *          launch; a single one is vec4.
 * Machine  LDG.E.128, STG.E.128, ACQBULK
 */
#include "copy.h"

GM_KERNEL(copy_vec4_overlapped, copy_args)
{
    const uint4 *in = (const uint4 *)a.in;
    uint4 *out = (uint4 *)a.out;
    const int64_t n = a.bytes / (int64_t)sizeof(uint4);
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    gm_wait_for_previous();
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        out[i] = in[i];
    }
    copy_tail(a, n * (int64_t)sizeof(uint4));
}
