/*
 * prefetch_sum / smem_rolling_async_interleaved: smem_rolling_async without padding.
 *
 * Follows  smem_rolling_async.
 * Idea     the k-th slots of all threads are neighbours: the lanes of a request use different banks
 *          at every distance, without a byte of padding.
 */
#include "rolling_async.h"

GM_KERNEL_BOUNDED(prefetch_sum_smem_rolling_async_interleaved, prefetch_sum_args,
                  PREFETCH_SUM_THREADS, 1)
{
    GM_DYNAMIC_SHARED(double, places);
    PREFETCH_SUM_EACH_ROW(by_distance(a, row, places + threadIdx.x, (int)blockDim.x))
}
