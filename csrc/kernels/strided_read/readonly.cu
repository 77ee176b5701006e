/*
 * strided_read / readonly: loads through the read-only path.
 *
 * Follows  cached.
 * Idea     data that nobody writes while the kernel runs may take the path of textures; __ldg
 *          promises it, as const __restrict__ would.
 * Machine  LDG.E.CONSTANT (ld.global.nc)
 */
#include "strided_read.h"

template <typename unit> GM_DEVICE void move(const strided_read_args &a)
{
    const unit *in = (const unit *)a.in + a.start;
    unit *out = (unit *)a.out;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

#pragma unroll 1 /* one turn is the usual case */
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += threads) {
        out[k] = __ldg(&in[k * a.step]);
    }
}

GM_KERNEL(strided_read_readonly, strided_read_args)
{
    ACCESS_EACH_SIZE(unit, move<unit>(a))
}
