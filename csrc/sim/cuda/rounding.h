/*
 * Arithmetic with a stated direction of rounding: __fadd_rz and its like. The directions are those
 * of the host's floating-point unit, which is switched for one operation. Rounding to nearest, the
 * usual one, costs nothing.
 *
 * nvcc contracts a * b + c to one operation with one rounding unless it is called with -fmad=false.
 * The simulator does not contract: results of plain expressions can differ in the last bit, as they
 * do between compilers.
 */
#ifndef GPUMEM_CUDA_ROUNDING_H
#define GPUMEM_CUDA_ROUNDING_H

#include <fenv.h>
#include <math.h>

#include "sim/cuda/language.h"

/* The compiler does not know of the switch: volatile keeps the operation between the two calls. */
template <typename type> static inline GM_UNTRACED type gm_read_again(type value)
{
    volatile type kept = value;
    return kept;
}

template <typename function, typename result, typename... types>
static inline GM_UNTRACED __attribute__((noinline)) result gm_directed(int direction,
                                                                       types... values)
{
    int before = fegetround();
    fesetround(direction);
    volatile result rounded = function()(gm_read_again(values)...);
    fesetround(before);
    return rounded;
}

#define GM_ROUNDED_NEAREST(name, result, parameters, arguments, expression)                        \
    struct gm_exact##name {                                                                        \
        result operator() parameters const                                                         \
        {                                                                                          \
            return expression;                                                                     \
        }                                                                                          \
    };                                                                                             \
    static inline result name##_rn parameters                                                      \
    {                                                                                              \
        return gm_exact##name() arguments;                                                         \
    }
#define GM_ROUNDED_TO(suffix, direction, name, result, parameters, ...)                            \
    static inline result name##suffix parameters                                                   \
    {                                                                                              \
        return gm_directed<gm_exact##name, result>(direction, __VA_ARGS__);                        \
    }
#define GM_UNPACK(...) __VA_ARGS__
/* name_rn, name_rz, name_ru and name_rd */
#define GM_ROUNDED(name, result, parameters, arguments, expression)                                \
    GM_ROUNDED_NEAREST(name, result, parameters, arguments, expression)                            \
    GM_ROUNDED_TO(_rz, FE_TOWARDZERO, name, result, parameters, GM_UNPACK arguments)               \
    GM_ROUNDED_TO(_ru, FE_UPWARD, name, result, parameters, GM_UNPACK arguments)                   \
    GM_ROUNDED_TO(_rd, FE_DOWNWARD, name, result, parameters, GM_UNPACK arguments)

GM_ROUNDED(__fadd, float, (float a, float b), (a, b), a + b)
GM_ROUNDED(__fsub, float, (float a, float b), (a, b), a - b)
GM_ROUNDED(__fmul, float, (float a, float b), (a, b), a *b)
GM_ROUNDED(__fdiv, float, (float a, float b), (a, b), a / b)
GM_ROUNDED(__fmaf, float, (float a, float b, float c), (a, b, c), __builtin_fmaf(a, b, c))
GM_ROUNDED(__frcp, float, (float a), (a), 1.0f / a)
GM_ROUNDED(__fsqrt, float, (float a), (a), __builtin_sqrtf(a))

GM_ROUNDED(__dadd, double, (double a, double b), (a, b), a + b)
GM_ROUNDED(__dsub, double, (double a, double b), (a, b), a - b)
GM_ROUNDED(__dmul, double, (double a, double b), (a, b), a *b)
GM_ROUNDED(__ddiv, double, (double a, double b), (a, b), a / b)
GM_ROUNDED(__fma, double, (double a, double b, double c), (a, b, c), __builtin_fma(a, b, c))
GM_ROUNDED(__drcp, double, (double a), (a), 1.0 / a)
GM_ROUNDED(__dsqrt, double, (double a), (a), __builtin_sqrt(a))

GM_ROUNDED(__double2float, float, (double a), (a), (float)a)
GM_ROUNDED(__int2float, float, (int a), (a), (float)a)
GM_ROUNDED(__uint2float, float, (unsigned a), (a), (float)a)
GM_ROUNDED(__ll2float, float, (long long a), (a), (float)a)
GM_ROUNDED(__ull2float, float, (unsigned long long a), (a), (float)a)
GM_ROUNDED(__ll2double, double, (long long a), (a), (double)a)
GM_ROUNDED(__ull2double, double, (unsigned long long a), (a), (double)a)

/* Through more bits than a float has twice over, so that it is rounded once for all that matters.
 */
static inline float __frsqrt_rn(float a)
{
    return (float)(1.0L / __builtin_sqrtl(a));
}

static inline double __int2double_rn(int a)
{
    return a;
}

static inline double __uint2double_rn(unsigned a)
{
    return a;
}

#endif
