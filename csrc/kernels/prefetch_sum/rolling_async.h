/*
 * Rolling with asynchronous copies, for any layout of the slots: a thread's k-th is v[k * step].
 *
 * Every step commits a group, an empty one where no element is left to copy. A wait leaves the last
 * distance - 1 groups pending; with a commit inside the `if` no wait would cover the last elements
 * of a row.
 */
#ifndef GPUMEM_ROLLING_ASYNC_H
#define GPUMEM_ROLLING_ASYNC_H

#include "prefetch_sum.h"

template <int distance, bool sync>
GM_DEVICE double rolling_async(const prefetch_sum_args &a, const double *row, double *v, int step)
{
    const int64_t ahead = (int64_t)distance * blockDim.x;
    double sum = 0;
#pragma unroll
    for (int k = 0; k < distance; k++) {
        int64_t at = threadIdx.x + (int64_t)k * blockDim.x;
        if (at < a.length) {
            __pipeline_memcpy_async(&v[k * step], &row[at], sizeof *v);
        }
        __pipeline_commit();
    }
    int k = 0;
#pragma unroll 1
    for (int64_t i = threadIdx.x; i < a.length; i += blockDim.x) {
        gm_pipeline_wait_prior<distance - 1>();
        double x = v[k * step];
        if (i + ahead < a.length) {
            __pipeline_memcpy_async(&v[k * step], &row[i + ahead], sizeof *v);
        }
        __pipeline_commit();
        k = k + 1 == distance ? 0 : k + 1;
        sum += prefetch_sum_f(x, a.work);
        prefetch_sum_meet<sync>(a, i);
    }
    return sum;
}
PREFETCH_SUM_BY_DISTANCE(rolling_async,
                         (const prefetch_sum_args &a, const double *row, double *v, int step), a,
                         row, v, step)

#endif
