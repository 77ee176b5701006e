/*
 * strided_read / uncached: loads that bypass the L1.
 *
 * Follows  cached.
 * Idea     data that is used once need not be kept: only the L2 holds it, in sectors of 32 bytes.
 * Machine  LDG.E.STRONG.GPU (ld.global.cg)
 */
#include "strided_read.h"

template <typename unit> GM_DEVICE void move(const strided_read_args &a)
{
    const unit *in = (const unit *)a.in + a.start;
    unit *out = (unit *)a.out;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

#pragma unroll 1 /* one turn is the usual case */
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += threads) {
        out[k] = __ldcg(&in[k * a.step]);
    }
}

GM_KERNEL(strided_read_uncached, strided_read_args)
{
    ACCESS_EACH_SIZE(unit, move<unit>(a))
}
