/*
 * prefetch_sum / scalar_rolling: always `distance` loads in flight, into registers.
 *
 * Follows  scalar_batch.
 * Idea     the registers are filled once; then each step uses the oldest element and loads the one
 *          that is needed `distance` steps later.
 * Cost     registers cannot be indexed: the loop is unrolled by `distance`, so that each step has a
 *          register of its own.
 */
#include "prefetch_sum.h"

template <int distance, bool sync>
GM_DEVICE double walk(const prefetch_sum_args &a, const double *row)
{
    const int64_t ahead = (int64_t)distance * blockDim.x;
    double v[distance], sum = 0;
#pragma unroll
    for (int k = 0; k < distance; k++) {
        int64_t at = threadIdx.x + (int64_t)k * blockDim.x;
        v[k] = at < a.length ? __ldca(&row[at]) : 0;
    }
    for (int64_t i = threadIdx.x; i < a.length; i += ahead) {
#pragma unroll
        for (int k = 0; k < distance; k++) {
            int64_t at = i + (int64_t)k * blockDim.x;
            double x = v[k];
            if (at + ahead < a.length) {
                v[k] = __ldca(&row[at + ahead]);
            }
            if (at < a.length) {
                sum += prefetch_sum_f(x, a.work);
            }
            prefetch_sum_meet<sync>(a, at);
        }
    }
    return sum;
}
PREFETCH_SUM_BY_DISTANCE(walk, (const prefetch_sum_args &a, const double *row), a, row)

GM_KERNEL_BOUNDED(prefetch_sum_scalar_rolling, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    PREFETCH_SUM_EACH_ROW(by_distance(a, row))
}
