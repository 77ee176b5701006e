/*
 * scan / shuffles: 128-bit loads, and warps scan their vectors in registers.
 *
 * Follows  blelloch, which goes to shared memory and to a barrier for every step.
 * Idea     a thread adds up the elements of a vector, five shuffles scan these sums over the warp,
 *          and only the sums of the eight warps meet in shared memory: one barrier for 16 KiB. Four
 *          loads of 16 bytes are in flight per thread. The order of the additions is fixed: the
 *          same array gives the same bits each time.
 * Cost     still three launches: all elements are read twice.
 * Machine  LDG.E.128, STG.E.128
 */
#include "scan.h"

template <typename number, typename vector> GM_DEVICE void scan_vectors(const scan_args &a)
{
    scan_tile<number, vector, SCAN_THREADS, SCAN_ROWS> t;
    number of_block;
    scan_load(a, blockIdx.x, t);
    const number below = scan_warps_below(scan_rows(t, (number)0), &of_block);
    scan_raise(t, ((const number *)a.bases)[blockIdx.x] + below);
    scan_store(a, blockIdx.x, t);
}

GM_KERNEL_BOUNDED(scan_shuffles, scan_args, SCAN_THREADS, SCAN_BLOCKS)
{
    SCAN_BY_TYPE(scan_vectors, a)
}
