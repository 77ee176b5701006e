/*
 * prefetch_sum / smem_rolling_async_interleaved: the same without padding.
 *
 * Follows  smem_rolling_async.
 * Idea     the k-th places of all threads are neighbours: the lanes of a request fill the banks
 *          by themselves, at every distance, and not a byte is spent on padding.
 */
#include "rolling_async.h"

GM_KERNEL_BOUNDED(prefetch_sum_smem_rolling_async_interleaved, prefetch_sum_args,
                  PREFETCH_SUM_THREADS, 1)
{
    GM_DYNAMIC_SHARED(double, places);
    PREFETCH_SUM_EACH_ROW(by_distance(a, row, places + threadIdx.x, (int)blockDim.x))
}
