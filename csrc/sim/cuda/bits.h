/* Bytes and bits of a word. */
#ifndef GPUMEM_CUDA_BITS_H
#define GPUMEM_CUDA_BITS_H

#include <stdint.h>

#include "sim/cuda/language.h"

/* Four of the eight bytes of b:a, selected by the hexadecimal digits of the selector. */
static __forceinline__ unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned picked = 0;
    for (int i = 0; i < 4; i++) {
        picked |= (unsigned)(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    }
    return picked;
}

/* The low word of high:low shifted right by 0 to 31 bits. */
static __forceinline__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (bits & 31));
}

/* The high word of high:low shifted left by 0 to 31 bits. */
static __forceinline__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned bits)
{
    return (unsigned)((((uint64_t)high << 32 | low) << (bits & 31)) >> 32);
}

#endif
