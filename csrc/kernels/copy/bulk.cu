/*
 * copy / bulk: Hopper's copy engine moves chunks into shared memory and out again.
 *
 * Follows  vec4_unrolled.
 * Idea     one thread of a block starts the copies of a whole chunk, in and out; the data never
 *          passes through registers. Many small blocks that start in the order of addresses
 *          overlap by themselves. The textbook's persistent ring of stages per multiprocessor
 *          is slower: its blocks drift apart and the window of memory in use widens.
 * Window   the row reserves more shared memory than a chunk needs: 12 blocks per multiprocessor,
 *          48 KiB in flight, were the fastest.
 * Machine  UBLKCP in both directions, SYNCS for the barrier
 */
#include "bulk.h"
#include "copy.h"

static const uint32_t CHUNK = 4096; /* 32 threads of 32 words: `elements` in the ladder */

GM_KERNEL(copy_bulk, copy_args)
{
    GM_DYNAMIC_SHARED(unsigned char, chunk);
    __shared__ gm_mbarrier full;
    const int64_t whole = a.bytes & ~(int64_t)15;

    gm_wait_for_previous();
    if (threadIdx.x == 0) {
        uint64_t kept = gm_evict_last(), once = gm_evict_first();
        uint32_t parity = 0;
        gm_mbarrier_init(&full);
        for (int64_t at = (int64_t)blockIdx.x * CHUNK; at < whole;
             at += (int64_t)gridDim.x * CHUNK) {
            uint32_t bytes = whole - at < CHUNK ? (uint32_t)(whole - at) : CHUNK;
            gm_bulk_wait_read(); /* the previous chunk has left shared memory */
            gm_mbarrier_expect(&full, bytes);
            gm_bulk_load(chunk, a.in + at, bytes, &full, kept);
            gm_mbarrier_wait(&full, parity);
            gm_bulk_store(a.out + at, chunk, bytes, once);
            parity ^= 1;
        }
        gm_bulk_wait_read(); /* before the block ends and its shared memory is reused */
    }
    copy_tail(a, whole);
}
