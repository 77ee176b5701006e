/*
 * prefetch_sum / l2: prefetches to the L2, `distance` steps ahead.
 *
 * Follows  baseline.
 * Idea     a prefetch needs no register and no shared memory. The load of a step still waits, but
 *          for the L2 instead of memory.
 * Cost     an instruction per step, and the latency of the L2 remains.
 * Machine  CCTL.E.PF2
 */
#include "prefetch_sum.h"

template <bool sync> GM_DEVICE double walk(const prefetch_sum_args &a, const double *row)
{
    const int64_t ahead = (int64_t)a.distance * blockDim.x;
    double sum = 0;
#pragma unroll 1
    for (int64_t i = threadIdx.x; i < a.length; i += blockDim.x) {
        if (i + ahead < a.length) {
            gm_prefetch_l2(&row[i + ahead]);
        }
        sum += prefetch_sum_f(row[i], a.work);
        prefetch_sum_meet<sync>(a, i);
    }
    return sum;
}

GM_KERNEL_BOUNDED(prefetch_sum_l2, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    PREFETCH_SUM_EACH_ROW(PREFETCH_SUM_SYNC(walk, a, row))
}
