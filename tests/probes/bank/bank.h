/* What the bank probes share: lane t accesses element offset + t * stride of 16 KiB. */
#ifndef BANK_H
#define BANK_H

#include "../probe.h"

#ifdef __cplusplus
enum { BANK_BYTES = 16384 };

/* The low half of the offset argument is the offset. The high half is a mask of the lanes that take
 * part; 0: all of them. */
GM_DEVICE bool bank_takes_part(const probe_args &a, int lane)
{
    uint32_t lanes = (uint32_t)(a.offset >> 32);
    return lanes == 0 || (lanes >> lane & 1);
}

template <typename type> GM_DEVICE int bank_index(const probe_args &a, int lane)
{
    return (int)(((uint32_t)a.offset + lane * a.stride) & (int64_t)(BANK_BYTES / sizeof(type) - 1));
}

/* Writes all of the array, without conflicts, so that no element is uninitialised. */
GM_DEVICE void bank_fill(void *shared, int lane)
{
    for (int k = lane; k < BANK_BYTES / 4; k += 32) {
        ((float *)shared)[k] = (float)k;
    }
    __syncthreads();
}
#endif

#endif
