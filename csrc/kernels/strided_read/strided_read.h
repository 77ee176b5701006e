/* strided_read: out[k] = in[start + k * step]. */
#ifndef GPUMEM_STRIDED_READ_H
#define GPUMEM_STRIDED_READ_H

#include <stdint.h>

typedef struct strided_read_args {
    const char *in;
    char *out;
    int64_t count;
    int64_t start, step; /* elements of in */
    int itemsize;
} strided_read_args;

#ifdef __cplusplus
#include "access.h"

/* A thread has `unroll` loads in flight before its first store. */
template <int unroll, typename unit>
GM_DEVICE void strided_read_unrolled(const strided_read_args &a)
{
    const unit *in = (const unit *)a.in + a.start;
    unit *out = (unit *)a.out;
    /* The thread's elements are a block's width apart: the lanes of a warp stay neighbours. */
    const int64_t first = (int64_t)blockIdx.x * blockDim.x * unroll + threadIdx.x;
    const int64_t step = (int64_t)gridDim.x * blockDim.x * unroll;

#pragma unroll 1 /* one turn is the usual case: as many loads as the row says, no more */
    for (int64_t i = first; i < a.count; i += step) {
        unit held[unroll];
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            const int64_t at = i + k * (int64_t)blockDim.x;
            if (at < a.count) {
                held[k] = __ldca(&in[at * a.step]);
            }
        }
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            const int64_t at = i + k * (int64_t)blockDim.x;
            if (at < a.count) {
                out[at] = held[k];
            }
        }
    }
}
#endif

#endif
