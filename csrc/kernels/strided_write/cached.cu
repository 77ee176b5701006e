/*
 * strided_write / cached: loads that may stay in the L1.
 *
 * Idea     an L1 line has 128 bytes; what a stride leaves of it can serve the next request, if it
 *          is still there. The L1 fetches the sectors that are requested.
 * Machine  LDG.E.STRONG.SM (ld.global.ca)
 */
#include "strided_write.h"

template <typename unit> GM_DEVICE void move(const strided_write_args &a)
{
    const unit *in = (const unit *)a.in;
    unit *out = (unit *)a.out + a.start;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

#pragma unroll 1 /* one turn is the usual case */
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += threads) {
        out[k * a.step] = __ldca(&in[k]);
    }
}

GM_KERNEL(strided_write_cached, strided_write_args)
{
    ACCESS_EACH_SIZE(unit, move<unit>(a))
}
