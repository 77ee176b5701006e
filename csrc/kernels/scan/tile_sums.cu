/*
 * scan / tile_sums, a helper: the sum of each tile, the first of three launches.
 */
#include "scan.h"

template <typename number, typename vector> GM_DEVICE void add_tile(const scan_args &a)
{
    const int64_t begin = (int64_t)blockIdx.x * a.tile;
    const int64_t end = min(begin + a.tile, a.count);
    number sum = 0;
#pragma unroll 4 /* loads that wait side by side */
    for (int64_t i = begin + threadIdx.x; i < end; i += SCAN_THREADS) {
        sum += ((const number *)a.in)[i];
    }
    sum = gm_block_sum<SCAN_THREADS>(sum);
    if (threadIdx.x == 0) {
        ((number *)a.bases)[blockIdx.x] = sum;
    }
}

GM_KERNEL(scan_tile_sums, scan_args)
{
    SCAN_BY_TYPE(add_tile, a)
}
