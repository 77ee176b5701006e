/*
 * prefetch_sum / smem_batch: the batch in shared memory.
 *
 * Follows  scalar_batch.
 * Idea     the elements wait in shared memory instead of registers. Each thread has `distance`
 *          consecutive slots of its own: no barrier is needed.
 * Padding  lanes are distance + padding doubles apart. If that is even, lanes share banks, 16 of
 *          them at distance 16; an odd number avoids conflicts.
 */
#include "prefetch_sum.h"

template <int distance, bool sync>
GM_DEVICE double walk(const prefetch_sum_args &a, const double *row, double *v)
{
    double sum = 0;
    for (int64_t i = threadIdx.x; i < a.length; i += (int64_t)distance * blockDim.x) {
#pragma unroll
        for (int k = 0; k < distance; k++) {
            int64_t at = i + (int64_t)k * blockDim.x;
            if (at < a.length) {
                v[k] = row[at];
            }
        }
#pragma unroll
        for (int k = 0; k < distance; k++) {
            int64_t at = i + (int64_t)k * blockDim.x;
            if (at < a.length) {
                sum += prefetch_sum_f(v[k], a.work);
            }
            prefetch_sum_meet<sync>(a, at);
        }
    }
    return sum;
}
PREFETCH_SUM_BY_DISTANCE(walk, (const prefetch_sum_args &a, const double *row, double *v), a, row,
                         v)

GM_KERNEL_BOUNDED(prefetch_sum_smem_batch, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    GM_DYNAMIC_SHARED(double, places);
    PREFETCH_SUM_EACH_ROW(by_distance(a, row, places + (int64_t)a.pitch * threadIdx.x))
}
