/*
 * prefetch_sum / scalar_batch: `distance` loads at a time, into registers.
 *
 * Follows  unroll.
 * Idea     every distance-th step loads the elements of this and the following steps at once: one
 *          wait for all of them.
 * Cost     two registers per element, and a wait remains, once per batch.
 */
#include "prefetch_sum.h"

template <int distance, bool sync>
GM_DEVICE double walk(const prefetch_sum_args &a, const double *row)
{
    double sum = 0;
    for (int64_t i = threadIdx.x; i < a.length; i += (int64_t)distance * blockDim.x) {
        double v[distance];
#pragma unroll
        for (int k = 0; k < distance; k++) {
            int64_t at = i + (int64_t)k * blockDim.x;
            v[k] = at < a.length ? __ldca(&row[at]) : 0; /* __ldca: stays ahead of the work */
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
PREFETCH_SUM_BY_DISTANCE(walk, (const prefetch_sum_args &a, const double *row), a, row)

GM_KERNEL_BOUNDED(prefetch_sum_scalar_batch, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    PREFETCH_SUM_EACH_ROW(by_distance(a, row))
}
