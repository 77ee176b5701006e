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

template <int path, int unroll, typename unit>
GM_DEVICE void strided_read_move(const strided_read_args &a)
{
    const unit *in = (const unit *)a.in + a.start;
    unit *out = (unit *)a.out;

#pragma unroll 1 /* one step is the usual case: as many loads as the row says, no more */
    for (int64_t first = access_first(unroll); first < a.count;
         first += gm_grid_stride() * unroll) {
        unit held[unroll];
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            int64_t i = first + k * (int64_t)blockDim.x;
            if (i < a.count) {
                held[k] = access_load<path>(&in[i * a.step]);
            }
        }
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            int64_t i = first + k * (int64_t)blockDim.x;
            if (i < a.count) {
                out[i] = held[k];
            }
        }
    }
}
#endif

#endif
