/*
 * prefetch_sum / baseline: the plain loop.
 *
 * Idea     load, compute, add, next. Each step issues its load and waits for it: with few warps per
 *          multiprocessor the kernel spends most of its time waiting.
 */
#include "prefetch_sum.h"

template <bool sync> GM_DEVICE double walk(const prefetch_sum_args &a, const double *row)
{
    double sum = 0;
#pragma unroll 1
    for (int64_t i = threadIdx.x; i < a.length; i += blockDim.x) {
        sum += prefetch_sum_f(row[i], a.work);
        prefetch_sum_meet<sync>(a, i);
    }
    return sum;
}

GM_KERNEL_BOUNDED(prefetch_sum_baseline, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    PREFETCH_SUM_EACH_ROW(PREFETCH_SUM_SYNC(walk, a, row))
}
