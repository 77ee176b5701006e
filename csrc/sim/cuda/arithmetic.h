/* min and max, for every pair of types that CUDA has them for. */
#ifndef GPUMEM_CUDA_ARITHMETIC_H
#define GPUMEM_CUDA_ARITHMETIC_H

#include "sim/cuda/language.h"

#define GM_MIN_MAX(first, second, result)                                                          \
    static __forceinline__ constexpr result min(first a, second b)                                 \
    {                                                                                              \
        return (result)b < (result)a ? (result)b : (result)a;                                      \
    }                                                                                              \
    static __forceinline__ constexpr result max(first a, second b)                                 \
    {                                                                                              \
        return (result)a < (result)b ? (result)b : (result)a;                                      \
    }
#define GM_MIN_MAX_INTEGERS(sign, unsign)                                                          \
    GM_MIN_MAX(sign, sign, sign)                                                                   \
    GM_MIN_MAX(unsign, unsign, unsign)                                                             \
    GM_MIN_MAX(sign, unsign, unsign)                                                               \
    GM_MIN_MAX(unsign, sign, unsign)

GM_MIN_MAX_INTEGERS(int, unsigned)
GM_MIN_MAX_INTEGERS(long, unsigned long)
GM_MIN_MAX_INTEGERS(long long, unsigned long long)

/* Of a number and a NaN, the number, as with fmin and fmax. */
#define GM_MIN_MAX_FLOATS(first, second, result)                                                   \
    static __forceinline__ constexpr result min(first a, second b)                                 \
    {                                                                                              \
        return (result)b < (result)a || a != a ? (result)b : (result)a;                            \
    }                                                                                              \
    static __forceinline__ constexpr result max(first a, second b)                                 \
    {                                                                                              \
        return (result)a < (result)b || a != a ? (result)b : (result)a;                            \
    }

GM_MIN_MAX_FLOATS(float, float, float)
GM_MIN_MAX_FLOATS(double, double, double)
GM_MIN_MAX_FLOATS(float, double, double)
GM_MIN_MAX_FLOATS(double, float, double)

#endif
