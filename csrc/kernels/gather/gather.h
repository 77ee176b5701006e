/* gather: out[k] = in[index[k]]. */
#ifndef GPUMEM_GATHER_H
#define GPUMEM_GATHER_H

#include <stdint.h>

typedef struct gather_args {
    const char *in, *index;
    char *out;
    int64_t length; /* of in */
    int64_t count;  /* of index and out */
    int itemsize, index_size;
    /* For `any`: bytes from element to element, and the pieces that an element is moved in. */
    int64_t in_stride, index_stride;
    int width, pieces;
} gather_args;

/* For the look at the index beforehand. */
typedef struct gather_index_range_args {
    const char *index;
    int64_t count, length;
    int64_t index_stride;
    int index_size;
    int64_t *wrong; /* a slot per block: the first place with an index out of range, or count */
} gather_index_range_args;

#ifdef __cplusplus
#include "access.h"

/* Element k of the index, at k * stride bytes. */
GM_DEVICE int64_t gather_index(const char *index, int size, int64_t stride, int64_t k)
{
    const char *at = index + k * stride;
    return size == 4 ? *(const int32_t *)at : *(const int64_t *)at;
}

/* Negative ones count from the end. */
GM_DEVICE int64_t gather_place(const gather_args &a, int64_t k)
{
    int64_t at = gather_index(a.index, a.index_size, a.index_stride, k);
    return at < 0 ? at + a.length : at;
}

template <int path, int unroll, typename unit> GM_DEVICE void gather_move(const gather_args &a)
{
    const unit *in = (const unit *)a.in;
    unit *out = (unit *)a.out;

#pragma unroll 1 /* one step is the usual case: as many loads as the row says, no more */
    for (int64_t first = access_first(unroll); first < a.count;
         first += gm_grid_stride() * unroll) {
        int64_t place[unroll];
        unit held[unroll];
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            int64_t i = first + k * (int64_t)blockDim.x;
            place[k] = i < a.count ? gather_place(a, i) : -1;
        }
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            if (place[k] >= 0) {
                held[k] = access_load<path>(&in[place[k]]);
            }
        }
#pragma unroll
        for (int k = 0; k < unroll; k++) {
            int64_t i = first + k * (int64_t)blockDim.x;
            if (place[k] >= 0) {
                out[i] = held[k];
            }
        }
    }
}
#endif

#endif
