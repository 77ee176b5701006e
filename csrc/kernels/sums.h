/*
 * Sums over a warp and over a block, by shuffles.
 */
#ifndef GPUMEM_SUMS_H
#define GPUMEM_SUMS_H

#include "device.h"

/* The sum over the warp, in lane 0: each step halves the number of lanes that matter. */
template <typename number> GM_DEVICE number gm_warp_sum(number sum)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    }
    return sum;
}

/* The sum over a block of so many threads, in thread 0. Between two calls there is a barrier. */
template <int threads, typename number> GM_DEVICE number gm_block_sum(number sum)
{
    __shared__ number of_warp[threads / 32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    sum = gm_warp_sum(sum);
    if (lane == 0) {
        of_warp[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        sum = gm_warp_sum(lane < threads / 32 ? of_warp[lane] : (number)0);
    }
    return sum;
}

#endif
