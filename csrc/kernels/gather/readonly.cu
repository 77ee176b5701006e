/*
 * gather / readonly: loads through the read-only path.
 *
 * Follows  cached.
 * Idea     data that nobody writes while the kernel runs may take the path of textures; __ldg
 *          promises it, as const __restrict__ would.
 * Machine  LDG.E.CONSTANT (ld.global.nc)
 */
#include "gather.h"

template <typename unit> GM_DEVICE void move(const gather_args &a)
{
    const unit *in = (const unit *)a.in;
    unit *out = (unit *)a.out;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

#pragma unroll 1 /* one turn is the usual case */
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += threads) {
        out[k] = __ldg(&in[gather_place(a, k)]);
    }
}

GM_KERNEL(gather_readonly, gather_args)
{
    ACCESS_EACH_SIZE(unit, move<unit>(a))
}
