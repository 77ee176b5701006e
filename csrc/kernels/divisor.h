/* Division of numbers below 2^31 by one known before the launch: a multiplication and a shift. */
#ifndef GPUMEM_DIVISOR_H
#define GPUMEM_DIVISOR_H

#include <stdint.h>

typedef struct gm_divisor {
    uint32_t by, multiplier, shift;
} gm_divisor;

/* Of a positive number below 2^31. */
static inline gm_divisor gm_divisor_of(int64_t by)
{
    gm_divisor divisor = {(uint32_t)by, 0, 0};
    while ((int64_t)1 << divisor.shift < by) {
        divisor.shift++;
    }
    divisor.multiplier = (uint32_t)(((uint64_t)1 << (31 + divisor.shift)) / divisor.by + 1);
    return divisor;
}

#ifdef __cplusplus
#include "device.h"

GM_DEVICE uint32_t gm_divide(uint32_t n, const gm_divisor &by)
{
    return (uint32_t)((uint64_t)(n << 1) * by.multiplier >> 32) >> by.shift;
}

/* *rest becomes the quotient; the remainder. */
GM_DEVICE uint32_t gm_take(uint32_t *rest, const gm_divisor &by)
{
    const uint32_t quotient = gm_divide(*rest, by), remainder = *rest - quotient * by.by;
    *rest = quotient;
    return remainder;
}
#endif

#endif
