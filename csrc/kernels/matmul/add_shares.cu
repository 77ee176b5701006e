/*
 * matmul / add_shares, a helper: adds the sums of the blocks that shared the depth of a tile,
 * always in the same order, so that the same product is the same bits each time.
 */
#include "matmul.h"

GM_DEVICE float add(float a, float b)
{
    return a + b;
}

GM_DEVICE float4 add(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

template <typename unit> GM_DEVICE void add_all(const matmul_add_shares_args &a)
{
    constexpr int64_t width = sizeof(unit) / sizeof(float);
    for (int64_t i = gm_grid_index() * width; i < a.count; i += gm_grid_stride() * width) {
        unit sum = *(const unit *)(a.sums + i);
#pragma unroll 4 /* loads that wait side by side */
        for (int share = 1; share < a.shares; share++) {
            sum = add(sum, *(const unit *)(a.sums + share * a.partial + i));
        }
        *(unit *)(a.out + i) = sum;
    }
}

GM_KERNEL(matmul_add_shares, matmul_add_shares_args)
{
    gm_wait_for_previous();
    if (a.vectors) {
        add_all<float4>(a);
    } else {
        add_all<float>(a);
    }
}
