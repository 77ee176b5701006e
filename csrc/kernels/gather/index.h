/* Values of an index on the device, and whether they are in range: for all kernels that follow one.
 */
#ifndef GPUMEM_GATHER_INDEX_H
#define GPUMEM_GATHER_INDEX_H

#include <stdint.h>

enum { GATHER_SHORT = 2048 /* elements of an index that every block checks itself */ };

/* What a kernel that checks its index says of it, in the host's memory. */
typedef enum gather_verdict { GATHER_UNKNOWN, GATHER_RIGHT, GATHER_WRONG } gather_verdict;

/* What becomes of an index out of range: numpy.take's words. */
typedef enum gather_mode {
    GATHER_RAISE, /* it was checked: there is none */
    GATHER_WRAP,
    GATHER_CLIP,
    GATHER_MODES,
} gather_mode;

/* For index_range, which checks an index before it is followed. */
typedef struct gather_index_range_args {
    const char *index;
    int64_t count, least, length; /* valid are least to length - 1 */
    int64_t index_stride;
    int index_size;
    int is_unsigned;
    /* In the host's memory, a place per block, which holds `count`: a block that finds an index out
     * of range writes the first position of one. */
    int64_t *wrong;
} gather_index_range_args;

#ifdef __cplusplus
#include "access.h"

/* Element k of the index, at k * stride bytes. */
GM_DEVICE int64_t gather_index(const char *index, int size, int64_t stride, int64_t k)
{
    const char *at = index + k * stride;
    return size == 4 ? *(const int32_t *)at : *(const int64_t *)at;
}

/* Where an index leads that is outside 0 to length - 1. */
GM_DEVICE int64_t gather_outside(int64_t at, int64_t length, int mode)
{
    if (mode == GATHER_CLIP) {
        return at < 0 ? 0 : length - 1;
    }
    if (mode == GATHER_WRAP) {
        at %= length;
    }
    return at < 0 ? at + length : at; /* from the end */
}

/* Where an index leads: one that was checked is in range, and may count from the end. */
template <bool checked> GM_DEVICE int64_t gather_follow(int64_t at, int64_t length, int mode)
{
    if (checked) {
        return at < 0 ? at + length : at;
    }
    return (uint64_t)at < (uint64_t)length ? at : gather_outside(at, length, mode);
}

/* Does a thread find one of its elements of the index outside -length to length - 1? */
GM_DEVICE bool gather_finds_wrong(const char *index, int size, int64_t stride, int64_t count,
                                  int64_t length)
{
    enum { UNROLL = 8 }; /* loads of a thread under way at once: the host waits for them */
    bool wrong = false;
    for (int64_t first = threadIdx.x; first < count; first += UNROLL * (int64_t)blockDim.x) {
        int64_t at[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            const int64_t k = min(first + i * (int64_t)blockDim.x, count - 1);
            at[i] = gather_index(index, size, stride, k);
        }
#pragma unroll
        for (int i = 0; i < UNROLL; i++) {
            wrong = wrong || at[i] < -length || at[i] >= length;
        }
    }
    return wrong;
}

/* All threads of every block: whether the whole index is in range. The first block says so to the
 * host, too. */
GM_DEVICE bool gather_is_right(const char *index, int size, int64_t stride, int64_t count,
                               int64_t length, volatile int *verdict)
{
    const bool wrong = __syncthreads_or(gather_finds_wrong(index, size, stride, count, length));
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *verdict = wrong ? GATHER_WRONG : GATHER_RIGHT;
    }
    return !wrong;
}
#endif

#endif
