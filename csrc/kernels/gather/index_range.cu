/*
 * gather / index_range, a helper: finds the first index that is out of range. Runs before any
 * variant, and before those of chase.
 *
 * Idea     each thread keeps the first position that it finds, a reduction in shared memory takes
 *          the first of the block, and the host compares one value per block. These are in the
 *          host's memory, and blocks that find nothing write nothing over the bus.
 */
#include "gather.h"

enum { THREADS = 256 };

GM_KERNEL(gather_index_range, gather_index_range_args)
{
    __shared__ int64_t first[THREADS];
    int64_t wrong = a.count;

    for (int64_t k = gm_grid_index(); k < a.count; k += gm_grid_stride()) {
        int64_t at = gather_index(a.index, a.index_size, a.index_stride, k);
        if (a.is_unsigned) {
            at = (uint32_t)at; /* of 32 bits */
        }
        if (at < a.least || at >= a.length) {
            wrong = min(wrong, k);
        }
    }
    if (!__syncthreads_or(wrong < a.count)) {
        return; /* the usual case */
    }
    first[threadIdx.x] = wrong;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) {
            first[threadIdx.x] = min(first[threadIdx.x], first[threadIdx.x + half]);
        }
    }
    if (threadIdx.x == 0) {
        a.wrong[blockIdx.x] = first[0];
    }
}
