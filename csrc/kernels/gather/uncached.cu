/*
 * gather / uncached: loads that bypass the L1.
 *
 * Follows  cached.
 * Idea     data that is used once need not be kept: only the L2 holds it, in sectors of 32 bytes.
 * Machine  LDG.E.STRONG.GPU (ld.global.cg)
 */
#include "gather.h"

template <typename unit> GM_DEVICE void move(const gather_args &a)
{
    const unit *in = (const unit *)a.in;
    unit *out = (unit *)a.out;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

#pragma unroll 1 /* one turn is the usual case */
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += threads) {
        out[k] = __ldcg(&in[gather_place(a, k)]);
    }
}

GM_KERNEL(gather_uncached, gather_args)
{
    ACCESS_EACH_SIZE(unit, move<unit>(a))
}
