/*
 * scan / scan_sums, a helper: one block makes of the sums of tiles their bases, the second of three
 * launches.
 */
#include "scan.h"

template <typename number, typename vector> GM_DEVICE void make_bases(const scan_args &a)
{
    number *bases = (number *)a.bases, base = 0, more;
    for (int64_t first = 0; first < a.tiles; first += SCAN_THREADS) {
        const int64_t i = first + threadIdx.x;
        const number inclusive = scan_warp(i < a.tiles ? bases[i] : (number)0);
        const number of_warp = __shfl_sync(0xffffffffu, inclusive, 31);
        const number below = scan_warps_below(of_warp, &more) + scan_lanes_below(inclusive);
        if (i < a.tiles) {
            bases[i] = base + below;
        }
        base += more;
        __syncthreads(); /* before the sums of the warps are overwritten */
    }
}

GM_KERNEL(scan_scan_sums, scan_args)
{
    SCAN_BY_TYPE(make_bases, a)
}
