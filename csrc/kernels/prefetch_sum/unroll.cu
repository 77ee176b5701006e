/*
 * prefetch_sum / unroll: the compiler unrolls the loop, `distance` steps in one.
 *
 * Follows  baseline.
 * Idea     the compiler can issue the loads of several unrolled steps first. It does so only where
 *          it is allowed to: no load moves ahead of the loop inside f, nor of a barrier.
 */
#include "prefetch_sum.h"

template <int distance, bool sync>
GM_DEVICE double walk(const prefetch_sum_args &a, const double *row)
{
    double sum = 0;
#pragma unroll distance
    for (int64_t i = threadIdx.x; i < a.length; i += blockDim.x) {
        sum += prefetch_sum_f(row[i], a.work);
        prefetch_sum_meet<sync>(a, i);
    }
    return sum;
}
PREFETCH_SUM_BY_DISTANCE(walk, (const prefetch_sum_args &a, const double *row), a, row)

GM_KERNEL_BOUNDED(prefetch_sum_unroll, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    PREFETCH_SUM_EACH_ROW(by_distance(a, row))
}
