/*
 * histogram / global_atomic: one atomic addition in global memory per byte.
 *
 * Idea     a thread reads a byte and adds 1 to its counter. All threads of the device share 256
 *          counters, which the L2 updates one after another: the more equal bytes, the slower.
 */
#include "histogram.h"

GM_KERNEL(histogram_global_atomic, histogram_args)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.bytes; i += stride) {
        atomicAdd(&a.out[a.in[i]], 1ull);
    }
}
