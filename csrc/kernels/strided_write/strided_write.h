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
    /* For `any`: bytes from element to element, and the pieces that an element is moved in. */
    int64_t in_stride, out_stride;
    int width, pieces;
} strided_write_args;

#ifdef __cplusplus
#include "access.h"

template <int path, int unroll, typename unit>
GM_DEVICE void strided_write_move(const strided_write_args &a)
{
    const unit *in = (const unit *)a.in;
    unit *out = (unit *)a.out + a.start;

#pragma unroll 1 /* one step is the usual case: as many loads as the row says, no more */
    for (int64_t first = access_first(unroll); first < a.count;
         first += gm_grid_stride() * unroll) {
        unit held[unroll];
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            int64_t i = first + k * (int64_t)blockDim.x;
            if (i < a.count) {
                held[k] = access_load<path>(&in[i]);
            }
        }
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            int64_t i = first + k * (int64_t)blockDim.x;
            if (i < a.count) {
                out[i * a.step] = held[k];
            }
        }
    }
}
#endif

#endif
