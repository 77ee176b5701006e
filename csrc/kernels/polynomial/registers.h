/*
 * Coefficients in registers: one variable per term, so that the compiler has to know their number.
 */
#ifndef GPUMEM_POLYNOMIAL_REGISTERS_H
#define GPUMEM_POLYNOMIAL_REGISTERS_H

#include "polynomial.h"

/* A thread loads the coefficients once, for all of its points, and works on four points at a time:
 * their sums are independent. */
template <typename real, int terms> GM_DEVICE void in_registers(const polynomial_args &a)
{
    enum { POINTS = 4 };
    const real *x = (const real *)a.in, *c = (const real *)a.coefficients;
    const int64_t step = gm_grid_stride();
    real own[terms];
#pragma unroll
    for (int k = 0; k < terms; k++) {
        own[k] = c[k];
    }
    for (int64_t i = gm_grid_index(); i < a.count; i += POINTS * step) {
        real at[POINTS], value[POINTS];
#pragma unroll
        for (int p = 0; p < POINTS; p++) {
            at[p] = i + p * step < a.count ? x[i + p * step] : 0;
            value[p] = own[terms - 1];
        }
#pragma unroll
        for (int k = terms - 2; k >= 0; k--) {
#pragma unroll
            for (int p = 0; p < POINTS; p++) {
                value[p] = value[p] * at[p] + own[k];
            }
        }
#pragma unroll
        for (int p = 0; p < POINTS; p++) {
            if (i + p * step < a.count) {
                ((real *)a.out)[i + p * step] = value[p];
            }
        }
    }
}

template <typename real> GM_DEVICE void in_registers_none(const polynomial_args &a)
{
    for (int64_t i = gm_grid_index(); i < a.count; i += gm_grid_stride()) {
        ((real *)a.out)[i] = 0;
    }
}

/* The body of a kernel: evaluate<real, terms>(a), for the type and the terms of the call. */
#define IN_REGISTERS_CASE(terms, evaluate, real)                                                   \
    case terms:                                                                                    \
        evaluate<real, terms>(a);                                                                  \
        break
#define IN_REGISTERS_OF(evaluate, real)                                                            \
    switch (a.terms) {                                                                             \
    case 0:                                                                                        \
        in_registers_none<real>(a);                                                                \
        break;                                                                                     \
        POLYNOMIAL_EACH_COUNT(IN_REGISTERS_CASE, evaluate, real)                                   \
    }
#define IN_REGISTERS(evaluate)                                                                     \
    if (a.itemsize == 4) {                                                                         \
        IN_REGISTERS_OF(evaluate, float)                                                           \
    } else {                                                                                       \
        IN_REGISTERS_OF(evaluate, double)                                                          \
    }

#endif
