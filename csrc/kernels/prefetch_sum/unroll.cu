/*
 * prefetch_sum / unroll: the compiler unrolls the loop, `distance` steps in one.
 *
 * Follows  baseline.
 * Idea     several steps in a row give the compiler the chance to ask for all their elements first.
 *          It takes it only where it may: no load goes ahead of a loop inside f, nor of a barrier.
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
