/*
 * gather / cached: loads that may stay in the L1.
 *
 * Idea     an L1 line has 128 bytes; what a stride leaves of it can serve the next request, if it
 *          is still there. The L1 fetches the sectors that are requested.
 * Machine  LDG.E.STRONG.SM (ld.global.ca)
 */
#include "gather.h"

template <typename unit> GM_DEVICE void move(const gather_args &a)
{
    const unit *in = (const unit *)a.in;
    unit *out = (unit *)a.out;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

#pragma unroll 1 /* one turn is the usual case */
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += threads) {
        out[k] = __ldca(&in[gather_place(a, k)]);
    }
}

GM_KERNEL(gather_cached, gather_args)
{
    ACCESS_EACH_SIZE(unit, move<unit>(a))
}
