/* Numbers of 16 bits and doubles: every half is a double; a double is rounded to the nearest half,
 * ties to even. */
#ifndef GPUMEM_HALF_H
#define GPUMEM_HALF_H

#include "device.h"

#ifdef __CUDACC__
GM_DEVICE double gm_from_half(uint16_t half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}

GM_DEVICE uint16_t gm_to_half(double value)
{
    uint16_t half;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(half) : "d"(value));
    return half;
}

/* The same of floats: conversions of doubles are many times as slow. */
GM_DEVICE float gm_float_from_half(uint16_t half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}

GM_DEVICE uint16_t gm_half_from_float(float value)
{
    uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}
#else
#include "sim/cuda/sixteen.h"

GM_DEVICE double gm_from_half(uint16_t half)
{
    return gm_decode<10>(half);
}

GM_DEVICE uint16_t gm_to_half(double value)
{
    return (uint16_t)gm_encode<10>(value, GM_NEAREST);
}

GM_DEVICE float gm_float_from_half(uint16_t half)
{
    return gm_decode<10>(half);
}

GM_DEVICE uint16_t gm_half_from_float(float value)
{
    return gm_to_half((double)value);
}
#endif

#endif
