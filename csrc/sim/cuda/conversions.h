/* From floating-point numbers to integers, which saturate, and from bits to numbers. */
#ifndef GPUMEM_CUDA_CONVERSIONS_H
#define GPUMEM_CUDA_CONVERSIONS_H

#include <math.h>
#include <string.h>

#include "sim/cuda/language.h"

/* ---- numbers ----------------------------------------------------------------------------- */

/* A whole number as an integer: the nearest that the type has. A NaN becomes 0 where both are
 * words, else the integer with the highest bit alone. */
template <typename to, typename from> static inline to gm_saturate(from whole)
{
    const to highest_bit = (to)((to)1 << (8 * sizeof(to) - 1));
    const bool has_sign = (to)-1 < (to)0;
    const from limit = (from)(has_sign ? 0x1p-1 : 1.0) * (from)__builtin_ldexp(1, 8 * sizeof(to));
    if (whole != whole) {
        return sizeof(to) <= 4 && sizeof(from) == 4 ? (to)0 : highest_bit;
    }
    if (whole >= limit) {
        return has_sign ? (to)~highest_bit : (to)-1;
    }
    if (has_sign ? whole < -limit : whole < 0) {
        return has_sign ? highest_bit : (to)0;
    }
    return (to)whole;
}

/* nearbyint rounds to nearest: kernels run in no other mode. */
#define GM_FLOAT_TO_INTEGER(name, from, to, letter)                                                \
    static inline to name##_rn(from x)                                                             \
    {                                                                                              \
        return gm_saturate<to>(__builtin_nearbyint##letter(x));                                    \
    }                                                                                              \
    static inline to name##_rz(from x)                                                             \
    {                                                                                              \
        return gm_saturate<to>(__builtin_trunc##letter(x));                                        \
    }                                                                                              \
    static inline to name##_ru(from x)                                                             \
    {                                                                                              \
        return gm_saturate<to>(__builtin_ceil##letter(x));                                         \
    }                                                                                              \
    static inline to name##_rd(from x)                                                             \
    {                                                                                              \
        return gm_saturate<to>(__builtin_floor##letter(x));                                        \
    }

GM_FLOAT_TO_INTEGER(__float2int, float, int, f)
GM_FLOAT_TO_INTEGER(__float2uint, float, unsigned, f)
GM_FLOAT_TO_INTEGER(__float2ll, float, long long, f)
GM_FLOAT_TO_INTEGER(__float2ull, float, unsigned long long, f)
GM_FLOAT_TO_INTEGER(__double2int, double, int, )
GM_FLOAT_TO_INTEGER(__double2uint, double, unsigned, )
GM_FLOAT_TO_INTEGER(__double2ll, double, long long, )
GM_FLOAT_TO_INTEGER(__double2ull, double, unsigned long long, )

/* ---- bits -------------------------------------------------------------------------------- */

#define GM_SAME_BITS(name, from, to)                                                               \
    static inline to name(from value)                                                              \
    {                                                                                              \
        to same;                                                                                   \
        __builtin_memcpy(&same, &value, sizeof same);                                              \
        return same;                                                                               \
    }

GM_SAME_BITS(__float_as_int, float, int)
GM_SAME_BITS(__float_as_uint, float, unsigned)
GM_SAME_BITS(__int_as_float, int, float)
GM_SAME_BITS(__uint_as_float, unsigned, float)
GM_SAME_BITS(__double_as_longlong, double, long long)
GM_SAME_BITS(__longlong_as_double, long long, double)

static inline int __double2hiint(double x)
{
    return (int)(__double_as_longlong(x) >> 32);
}

static inline int __double2loint(double x)
{
    return (int)__double_as_longlong(x);
}

static inline double __hiloint2double(int high, int low)
{
    return __longlong_as_double(
        (long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}

#endif
