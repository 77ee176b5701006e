/*
 * prefetch_sum / smem_rolling_async: rolling, by asynchronous copies.
 *
 * Follows  smem_rolling.
 * Idea     a copy to shared memory that passes through no register is waited for only when its
 *          element is needed, `distance` steps later: so many are in flight.
 * Padding  as in smem_batch: without it an even distance makes bank conflicts.
 * Machine  LDGSTS, LDGDEPBAR, DEPBAR.LE
 */
#include "rolling_async.h"

GM_KERNEL_BOUNDED(prefetch_sum_smem_rolling_async, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    GM_DYNAMIC_SHARED(double, places);
    PREFETCH_SUM_EACH_ROW(by_distance(a, row, places + (int64_t)a.pitch * threadIdx.x, 1))
}
