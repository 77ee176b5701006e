/* Floating-point numbers of 16 bits: how a number is rounded to one, for any division of its bits
 * into exponent and mantissa. */
#ifndef GPUMEM_CUDA_SIXTEEN_H
#define GPUMEM_CUDA_SIXTEEN_H

#include "sim/cuda/conversions.h"
#include "sim/cuda/vectors.h"

typedef enum gm_direction {
    GM_NEAREST,
    GM_TO_ZERO,
    GM_UPWARD,
    GM_DOWNWARD,
} gm_direction;

/* 2 to a power from -1022 to 1023. */
static inline double gm_power_of_two(int exponent)
{
    return __longlong_as_double((long long)(exponent + 1023) << 52);
}

/* A multiple of the last place is rounded to a whole number of them; the rest says which way. */
template <int mantissa> static inline unsigned gm_encode(double value, gm_direction direction)
{
    const int bias = (1 << (14 - mantissa)) - 1;
    const unsigned infinite = 0x7fffu >> mantissa << mantissa;
    const long long bits = __double_as_longlong(value);
    const unsigned sign = bits < 0 ? 0x8000 : 0;
    if (value != value) {
        return 0x7fff;
    }
    if (__builtin_isinf(value)) {
        return sign | infinite;
    }
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    exponent = exponent < 1 - bias ? 1 - bias : exponent;
    const double places = __builtin_fabs(value) * gm_power_of_two(mantissa - exponent);
    const unsigned whole = (unsigned)places;
    const double rest = places - whole;
    const bool away = direction == GM_NEAREST
                          ? rest > 0.5 || (rest == 0.5 && whole & 1)
                          : rest > 0 && direction == (sign ? GM_DOWNWARD : GM_UPWARD);
    const unsigned code = ((unsigned)(exponent + bias - 1) << mantissa) + whole + away;
    if (code < infinite) {
        return sign | code;
    }
    const bool overflows = direction == GM_NEAREST || direction == (sign ? GM_DOWNWARD : GM_UPWARD);
    return sign | (overflows ? infinite : infinite - 1);
}

template <int mantissa> static inline float gm_decode(unsigned code)
{
    const unsigned sign = (code & 0x8000u) << 16, size = (code & 0x7fff) << (23 - mantissa);
    if ((code & 0x7fff) >> mantissa == 0x7fff >> mantissa) {
        return __uint_as_float(sign | 0x7f800000u | size);
    }
    /* The exponent as if it were a float's; multiplied, so that subnormal numbers are right. */
    const float scale = (float)gm_power_of_two(127 - ((1 << (14 - mantissa)) - 1));
    return __uint_as_float(sign | __float_as_uint(__uint_as_float(size) * scale));
}

/* An integer as a double. One that has more bits than a double is cut, and its last bit set where
 * something was lost: that rounds to fewer bits as the integer would. */
template <typename type> static inline double gm_exact_double(type value)
{
    if constexpr (sizeof(type) < 8) {
        return (double)value;
    } else {
        const bool negative = value < (type)0;
        unsigned long long size =
            negative ? 0 - (unsigned long long)value : (unsigned long long)value;
        if (size >> 53) {
            size = (size & ~0x7ffull) | (size & 0x7ff ? 0x800 : 0);
        }
        return negative ? -(double)size : (double)size;
    }
}

static inline double gm_exact_double(double value)
{
    return value;
}

/* a * b + c, where the product is exact; rounded to odd, which rounds to 16 bits as the exact sum
 * would. */
static inline double gm_fma_to_odd(double a, double b, double c)
{
    const double product = a * b, sum = product + c;
    const double share = sum - product;
    const double error = (product - (sum - share)) + (c - share);
    const long long bits = __double_as_longlong(sum);
    if (error == 0 || error != error || bits & 1) {
        return sum;
    }
    return __longlong_as_double((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

template <typename type> struct gm_is_number {
    static constexpr bool value = false;
};
template <bool condition> struct gm_if {
};
template <> struct gm_if<true> {
    typedef int type;
};

#define GM_NUMBER(type)                                                                            \
    template <> struct gm_is_number<type> {                                                        \
        static constexpr bool value = true;                                                        \
    };
GM_NUMBER(bool)
GM_NUMBER(char)
GM_NUMBER(signed char)
GM_NUMBER(unsigned char)
GM_NUMBER(short)
GM_NUMBER(unsigned short)
GM_NUMBER(int)
GM_NUMBER(unsigned)
GM_NUMBER(long)
GM_NUMBER(unsigned long)
GM_NUMBER(long long)
GM_NUMBER(unsigned long long)

#endif
