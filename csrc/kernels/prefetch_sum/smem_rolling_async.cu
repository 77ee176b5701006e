/*
 * prefetch_sum / smem_rolling_async: rolling, with asynchronous copies.
 *
 * Follows  smem_rolling.
 * Idea     an asynchronous copy bypasses the registers, so that a thread waits only when it needs
 *          the element: `distance` copies are in flight.
 * Padding  as in smem_batch: without it an even distance causes bank conflicts.
 * Machine  LDGSTS, LDGDEPBAR, DEPBAR.LE
 */
#include "rolling_async.h"

GM_KERNEL_BOUNDED(prefetch_sum_smem_rolling_async, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    GM_DYNAMIC_SHARED(double, places);
    PREFETCH_SUM_EACH_ROW(by_distance(a, row, places + (int64_t)a.pitch * threadIdx.x, 1))
}
