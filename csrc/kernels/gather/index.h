/* Values of an index on the device, and whether they are in range: for all kernels that follow one.
 */
#ifndef GPUMEM_GATHER_INDEX_H
#define GPUMEM_GATHER_INDEX_H

#include <stdint.h>

enum { GATHER_SHORT = 2048 /* elements of an index that every block checks itself */ };

/* What a kernel that checks its index says of it, in the host's memory. */
typedef enum gather_verdict { GATHER_UNKNOWN, GATHER_RIGHT, GATHER_WRONG } gather_verdict;

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
