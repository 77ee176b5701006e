/*
 * scan / all_sums: one pass, in which each tile adds up the sums of all tiles before it.
 *
 * Follows  look_back, where a base has to wait for prefixes that travel from tile to tile, and how
 *          far a tile looks depends on time.
 * Idea     a tile's sum needs no other tile, so that all sums are published at about the same time.
 *          Each thread waits for the sums of every 256th tile; those of the threads are added by
 *          shuffles, and those of the warps one after the other. Nobody waits for more than the
 *          slowest load, and the order of the additions is fixed: the same bits each time.
 *
 *              tile      0        1        2        3
 *              adds      nothing  0        0, 1     0, 1, 2
 *
 * Cost     n tiles read n * n / 2 sums: of 8192 tiles, 128 MiB of elements, as many bytes as
 *          elements.
 * Machine  LDG.E.128, STG.E.128
 */
#include "states.h"

/* The sum of all elements before a tile, to all threads. */
template <typename number> GM_DEVICE number add_all_before(const scan_args &a, int64_t tile)
{
    __shared__ number of_warp[SCAN_WARPS];
    number sum = 0, value;
    for (int64_t at = threadIdx.x; at < tile; at += SCAN_THREADS) {
        (void)wait_for(a, at, &value);
        sum += value;
    }
    sum = gm_warp_sum(sum);
    if (threadIdx.x % 32 == 0) {
        of_warp[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    number all = 0;
#pragma unroll
    for (int i = 0; i < SCAN_WARPS; i++) {
        all += of_warp[i];
    }
    return all;
}

template <typename number, typename vector> GM_DEVICE void scan_with_all_sums(const scan_args &a)
{
    scan_tile<number, vector, SCAN_THREADS, SCAN_ROWS> t;
    number below, of_block;

    gm_wait_for_previous();
    const int64_t tile = scan_next_tile(a, t, &below, &of_block);
    if (threadIdx.x == 0 && tile + 1 < a.tiles) {
        publish(a, tile, SUM, of_block);
    }
    scan_raise(t, add_all_before<number>(a, tile) + below);
    scan_store(a, tile, t);
}

GM_KERNEL_BOUNDED(scan_all_sums, scan_args, SCAN_THREADS, SCAN_BLOCKS)
{
    SCAN_BY_TYPE(scan_with_all_sums, a)
}
