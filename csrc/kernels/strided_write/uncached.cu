/*
 * strided_write / uncached: loads that bypass the L1.
 *
 * Follows  cached.
 * Idea     data that is used once need not be kept: only the L2 holds it, in sectors of 32 bytes.
 * Machine  LDG.E.STRONG.GPU (ld.global.cg)
 */
#include "strided_write.h"

template <typename unit> GM_DEVICE void move(const strided_write_args &a)
{
    const unit *in = (const unit *)a.in;
    unit *out = (unit *)a.out + a.start;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

#pragma unroll 1 /* one turn is the usual case */
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += threads) {
        out[k * a.step] = __ldcg(&in[k]);
    }
}

GM_KERNEL(strided_write_uncached, strided_write_args)
{
    ACCESS_EACH_SIZE(unit, move<unit>(a))
}
