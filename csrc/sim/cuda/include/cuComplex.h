/* Complex numbers as CUDA's C has them: float2 and double2. */
#ifndef GPUMEM_CUDA_CUCOMPLEX_H
#define GPUMEM_CUDA_CUCOMPLEX_H

#include "sim/simt.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define GM_COMPLEX(type, number, f)                                                                \
    static inline type make_##type(number real, number imaginary)                                  \
    {                                                                                              \
        return {real, imaginary};                                                                  \
    }                                                                                              \
    static inline number cuCreal##f(type a)                                                        \
    {                                                                                              \
        return a.x;                                                                                \
    }                                                                                              \
    static inline number cuCimag##f(type a)                                                        \
    {                                                                                              \
        return a.y;                                                                                \
    }                                                                                              \
    static inline type cuConj##f(type a)                                                           \
    {                                                                                              \
        return {a.x, -a.y};                                                                        \
    }                                                                                              \
    static inline type cuCadd##f(type a, type b)                                                   \
    {                                                                                              \
        return {a.x + b.x, a.y + b.y};                                                             \
    }                                                                                              \
    static inline type cuCsub##f(type a, type b)                                                   \
    {                                                                                              \
        return {a.x - b.x, a.y - b.y};                                                             \
    }                                                                                              \
    static inline type cuCmul##f(type a, type b)                                                   \
    {                                                                                              \
        return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                                     \
    }                                                                                              \
    static inline type cuCfma##f(type a, type b, type c)                                           \
    {                                                                                              \
        return cuCadd##f(cuCmul##f(a, b), c);                                                      \
    }                                                                                              \
    /* Scaled by the size of the divisor, whose square may be out of range. */                     \
    static inline type cuCdiv##f(type a, type b)                                                   \
    {                                                                                              \
        const number scale = 1 / (fabs(b.x) + fabs(b.y));                                          \
        const number x = b.x * scale, y = b.y * scale, over = scale / (x * x + y * y);             \
        return {(a.x * x + a.y * y) * over, (a.y * x - a.x * y) * over};                           \
    }                                                                                              \
    static inline number cuCabs##f(type a)                                                         \
    {                                                                                              \
        return hypot##f(a.x, a.y);                                                                 \
    }

GM_COMPLEX(cuFloatComplex, float, f)
GM_COMPLEX(cuDoubleComplex, double, )

#define make_cuComplex make_cuFloatComplex

static inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a)
{
    return {a.x, a.y};
}

static inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a)
{
    return {(float)a.x, (float)a.y};
}

#endif
