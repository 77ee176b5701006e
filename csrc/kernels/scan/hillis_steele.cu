/*
 * scan / hillis_steele: a thread per element, and log2(256) steps in shared memory.
 *
 * Idea     in each step every sum takes in the sum `distance` places below it, and the distance
 *          doubles: after eight steps each covers all elements of the tile up to its own. Two
 *          buffers take turns, since a step must not read what it writes.
 *          Three launches make one scan of the tiles' scans: tile_sums adds up each tile, scan_sums
 *          scans these sums, and this kernel begins with the base of its tile.
 * Cost     256 * 8 additions for 256 elements, a barrier per step, and all elements are read twice.
 */
#include "scan.h"

template <typename number, typename vector> GM_DEVICE void scan_elements(const scan_args &a)
{
    __shared__ number sums[2][SCAN_THREADS];
    const int thread = threadIdx.x;
    const int64_t i = (int64_t)blockIdx.x * SCAN_THREADS + thread;
    int now = 0;

    sums[now][thread] = i < a.count ? ((const number *)a.in)[i] : (number)0;
    __syncthreads();
    for (int distance = 1; distance < SCAN_THREADS; distance *= 2) {
        const number below = thread >= distance ? sums[now][thread - distance] : (number)0;
        sums[1 - now][thread] = sums[now][thread] + below;
        now = 1 - now;
        __syncthreads();
    }
    if (i < a.count) {
        ((number *)a.out)[i] = ((const number *)a.bases)[blockIdx.x] + sums[now][thread];
    }
}

GM_KERNEL(scan_hillis_steele, scan_args)
{
    SCAN_BY_TYPE(scan_elements, a)
}
