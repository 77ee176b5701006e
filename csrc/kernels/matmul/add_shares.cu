/*
 * matmul / add_shares, a helper: adds the sums of the blocks that shared the depth of a tile.
 */
#include "matmul.h"
#include "sgemm/add_shares.h"

template <typename unit> GM_DEVICE void add_all(const matmul_add_shares_args &a, unit *shared)
{
    constexpr int width = sizeof(unit) / sizeof(float);
    const int64_t i = add_shares_unit(a.sharers) * width;
    const unit sum =
        add_shares_all(a.sums + i, a.partial, a.shares, a.sharers, i < a.count ? width : 0, shared);
    if (threadIdx.x < blockDim.x / a.sharers && i < a.count) {
        *(unit *)(a.out + i) = sum;
    }
}

GM_KERNEL(matmul_add_shares, matmul_add_shares_args)
{
    __shared__ float4 shared[ADD_SHARES_THREADS];
    gm_wait_for_previous();
    gm_let_next_start();
    if (a.vectors) {
        add_all<float4>(a, shared);
    } else {
        add_all<float>(a, (float *)shared);
    }
}
