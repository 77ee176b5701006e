/*
 * prefetch_sum / any: any layout, any alignment.
 *
 * Idea     the baseline's loop; elements that are not aligned to their size are loaded byte by
 * byte.
 */
#include "prefetch_sum.h"

GM_DEVICE double load(const char *from, bool aligned)
{
    double x = 0;
    if (aligned) {
        return *(const double *)from;
    }
#pragma unroll
    for (int i = 0; i < (int)sizeof x; i++) {
        ((char *)&x)[i] = from[i];
    }
    return x;
}

template <bool sync> GM_DEVICE double walk(const prefetch_sum_args &a, const char *row)
{
    double sum = 0;
#pragma unroll 1
    for (int64_t i = threadIdx.x; i < a.length; i += blockDim.x) {
        sum += prefetch_sum_f(load(row + i * a.stride, a.aligned), a.work);
        prefetch_sum_meet<sync>(a, i);
    }
    return sum;
}

GM_KERNEL_BOUNDED(prefetch_sum_any, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    PREFETCH_SUM_EACH_ROW(PREFETCH_SUM_SYNC(walk, a, (const char *)row))
}
