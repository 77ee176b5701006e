/*
 * scan / look_back: one pass, in which tiles find their bases themselves.
 *
 * Follows  shuffles, whose launches read every element twice.
 * Idea     a block publishes the sum of its tile at once. Then it looks back: it adds the sums of
 *          the tiles before, until one of them has published its prefix, the sum of everything up
 *          to its end. With that it knows its base, and publishes its own prefix. A warp looks at
 *          32 tiles at a time. Each element is read once and written once.
 *
 *              tile      … 40      41      42      43      44 (this one)
 *              state     prefix    sum     sum     sum
 *              base of 44 = prefix of 40 + sum of 41 + sum of 42 + sum of 43
 *
 *          Tiles are numbered by a counter in the order in which blocks start: whoever waits, waits
 *          for a block that runs.
 * Cost     how far a block has to look depends on time, and with it the order of the additions:
 *          sums of floats may differ in their last bits from run to run.
 * Machine  LDG.E.128, STG.E.128
 */
#include "states.h"

/* The base of a tile, in lane 0 of the warp that looks. */
template <typename number> GM_DEVICE number find_base(const scan_args &a, int64_t tile)
{
    const int lane = threadIdx.x % 32;
    number base = 0, value;
    for (int64_t nearest = tile - 1;; nearest -= 32) {
        const int state = wait_for(a, nearest - lane, &value);
        const unsigned prefixes = __ballot_sync(0xffffffffu, state == PREFIX);
        const int last = prefixes ? __ffs((int)prefixes) - 1 : 31; /* the nearest prefix, or none */
        base += gm_warp_sum(lane <= last ? value : (number)0);
        if (prefixes) {
            return base;
        }
    }
}

template <typename number, typename vector> GM_DEVICE void scan_at_once(const scan_args &a)
{
    __shared__ number base;
    scan_tile<number, vector, SCAN_THREADS, SCAN_ROWS> t;
    number below, of_block;

    gm_wait_for_previous();
    const int64_t tile = scan_next_tile(a, t, &below, &of_block);
    if (threadIdx.x < 32) {
        number before = 0;
        if (tile > 0) {
            if (threadIdx.x == 0) {
                publish(a, tile, SUM, of_block);
            }
            before = find_base<number>(a, tile);
        }
        if (threadIdx.x == 0) {
            base = before;
            if (tile + 1 < a.tiles) {
                publish(a, tile, PREFIX, before + of_block);
            }
        }
    }
    __syncthreads();
    scan_raise(t, base + below);
    scan_store(a, tile, t);
}

GM_KERNEL_BOUNDED(scan_look_back, scan_args, SCAN_THREADS, SCAN_BLOCKS)
{
    SCAN_BY_TYPE(scan_at_once, a)
}
