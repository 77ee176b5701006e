/*
 * strided_write / readonly: loads through the read-only path.
 *
 * Follows  cached.
 * Idea     data that nobody writes while the kernel runs may take the path of textures; __ldg
 *          promises it, as const __restrict__ would.
 * Machine  LDG.E.CONSTANT (ld.global.nc)
 */
#include "strided_write.h"

template <typename unit> GM_DEVICE void move(const strided_write_args &a)
{
    const unit *in = (const unit *)a.in;
    unit *out = (unit *)a.out + a.start;
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

#pragma unroll 1 /* one turn is the usual case */
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += threads) {
        out[k * a.step] = __ldg(&in[k]);
    }
}

GM_KERNEL(strided_write_readonly, strided_write_args)
{
    ACCESS_EACH_SIZE(unit, move<unit>(a))
}
