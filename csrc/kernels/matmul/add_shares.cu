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

template <typename unit> GM_DEVICE void add_all(const matmul_add_shares_args &a, unit *shared)
{
    constexpr int64_t width = sizeof(unit) / sizeof(float);
    const int each = blockDim.x / a.sharers; /* units of a block */
    const int place = threadIdx.x % each, sharer = threadIdx.x / each;
    const int64_t i = ((int64_t)blockIdx.x * each + place) * width;
    unit sum = {};
    if (i < a.count) {
        sum = *(const unit *)(a.sums + sharer * a.partial + i);
#pragma unroll 8 /* loads that wait side by side */
        for (int share = sharer + a.sharers; share < a.shares; share += a.sharers) {
            sum = add(sum, *(const unit *)(a.sums + share * a.partial + i));
        }
    }
    if (a.sharers > 1) {
        shared[threadIdx.x] = sum;
        __syncthreads();
        for (int other = 1; other < a.sharers && sharer == 0; other++) {
            sum = add(sum, shared[other * each + place]);
        }
    }
    if (sharer == 0 && i < a.count) {
        *(unit *)(a.out + i) = sum;
    }
}

GM_KERNEL(matmul_add_shares, matmul_add_shares_args)
{
    __shared__ float4 shared[MATMUL_THREADS];
    gm_wait_for_previous();
    gm_let_next_start();
    if (a.vectors) {
        add_all<float4>(a, shared);
    } else {
        add_all<float>(a, (float *)shared);
    }
}
