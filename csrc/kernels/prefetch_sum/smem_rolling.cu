/*
 * prefetch_sum / smem_rolling: rolling, in shared memory.
 *
 * Follows  smem_batch, scalar_rolling.
 * Idea     shared memory can be indexed, so that the loop need not be unrolled: each step reads its
 *          slot and stores the element of `distance` steps ahead there.
 * Cost     an element passes through a register on its way to shared memory, and the store waits
 *          for it at the end of the same step: one load in flight, whatever the distance.
 */
#include "prefetch_sum.h"

template <bool sync> GM_DEVICE double walk(const prefetch_sum_args &a, const double *row, double *v)
{
    const int64_t ahead = (int64_t)a.distance * blockDim.x;
    double sum = 0;
    int k = 0;
    for (int64_t i = threadIdx.x; i < a.length && k < a.distance; i += blockDim.x) {
        v[k++] = row[i];
    }
    k = 0;
#pragma unroll 1
    for (int64_t i = threadIdx.x; i < a.length; i += blockDim.x) {
        double x = v[k], next = 0;
        if (i + ahead < a.length) {
            next = __ldca(&row[i + ahead]); /* __ldca: stays ahead of the work */
        }
        sum += prefetch_sum_f(x, a.work);
        if (i + ahead < a.length) {
            v[k] = next;
        }
        k = k + 1 == a.distance ? 0 : k + 1;
        prefetch_sum_meet<sync>(a, i);
    }
    return sum;
}

GM_KERNEL_BOUNDED(prefetch_sum_smem_rolling, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    GM_DYNAMIC_SHARED(double, places);
    double *v = places + (int64_t)a.pitch * threadIdx.x;
    PREFETCH_SUM_EACH_ROW(PREFETCH_SUM_SYNC(walk, a, row, v))
}
