/*
 * matmul / add_shares, a helper: adds the sums of the blocks that shared the depth of a tile.
 */
#include "matmul.h"
#include "sgemm/add_shares.h"

template <typename unit> GM_DEVICE void add_all(const matmul_add_shares_args &a, unit *shared)
{
    constexpr int width = sizeof(unit) / sizeof(float);
    const add_shares_part part = add_shares_find_part(a.shares, a.log_sharers);
    const int64_t i = part.unit * width;
    gm_wait_for_previous();
    gm_let_next_start();
    const unit sum =
        add_shares_all(a.sums + i, a.partial, part, a.log_sharers, i < a.count ? width : 0, shared);
    if (part.sharer == 0 && i < a.count) {
        *(unit *)(a.out + i) = sum;
    }
}

GM_KERNEL_BOUNDED(matmul_add_shares, matmul_add_shares_args, ADD_SHARES_THREADS,
                  ADD_SHARES_RESIDENT)
{
    __shared__ float4 shared[ADD_SHARES_THREADS];
    if (a.vectors) {
        add_all<float4>(a, shared);
    } else {
        add_all<float>(a, (float *)shared);
    }
}
