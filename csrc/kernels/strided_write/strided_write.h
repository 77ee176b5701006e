/* strided_write: out[start + k * step] = in[k]. */
#ifndef GPUMEM_STRIDED_WRITE_H
#define GPUMEM_STRIDED_WRITE_H

#include <stdint.h>

typedef struct strided_write_args {
    const char *in;
    char *out;
    int64_t count;
    int64_t start, step; /* elements of out */
    int itemsize;
    /* For `any`: bytes from element to element, and the width and number of an element's pieces. */
    int64_t in_stride, out_stride;
    int width, pieces;
} strided_write_args;

#ifdef __cplusplus
#include "access.h"

/* A thread has `unroll` loads in flight before its first store. */
template <int unroll, typename unit>
GM_DEVICE void strided_write_unrolled(const strided_write_args &a)
{
    const unit *in = (const unit *)a.in;
    unit *out = (unit *)a.out + a.start;
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
                held[k] = __ldca(&in[at]);
            }
        }
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            const int64_t at = i + k * (int64_t)blockDim.x;
            if (at < a.count) {
                out[at * a.step] = held[k];
            }
        }
    }
}
#endif

#endif
