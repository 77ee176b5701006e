/*
 * polynomial: out[i] = c[0] + c[1] x[i] + c[2] x[i]^2 + ..., by Horner's rule.
 *
 * Every point needs every coefficient, the same for all threads at the same time; the variants
 * differ in the memory space that holds them.
 */
#ifndef GPUMEM_POLYNOMIAL_H
#define GPUMEM_POLYNOMIAL_H

#include <stdint.h>

enum {
    POLYNOMIAL_REGISTERS = 16,         /* most coefficients that are kept in registers, */
    POLYNOMIAL_LOCAL = 64,             /* and in a private array */
    POLYNOMIAL_CONSTANT_BYTES = 32768, /* of constant memory */
    POLYNOMIAL_LANES = 32,             /* copies, one for each lane */
};

typedef struct polynomial_args {
    const char *in, *coefficients;
    char *out;
    int64_t count; /* points */
    int64_t terms; /* coefficients */
    int itemsize;  /* 4 for float, 8 for double */
} polynomial_args;

/* For spread. */
typedef struct polynomial_spread_args {
    const char *coefficients;
    char *copies;
    int64_t terms;
    int itemsize;
} polynomial_spread_args;

#ifdef __cplusplus
#include "device.h"

/* Instances for a number of terms that the compiler has to know: CASE(1, ...) to CASE(16, ...). */
#define POLYNOMIAL_EACH_COUNT(CASE, ...)                                                           \
    CASE(1, __VA_ARGS__);                                                                          \
    CASE(2, __VA_ARGS__);                                                                          \
    CASE(3, __VA_ARGS__);                                                                          \
    CASE(4, __VA_ARGS__);                                                                          \
    CASE(5, __VA_ARGS__);                                                                          \
    CASE(6, __VA_ARGS__);                                                                          \
    CASE(7, __VA_ARGS__);                                                                          \
    CASE(8, __VA_ARGS__);                                                                          \
    CASE(9, __VA_ARGS__);                                                                          \
    CASE(10, __VA_ARGS__);                                                                         \
    CASE(11, __VA_ARGS__);                                                                         \
    CASE(12, __VA_ARGS__);                                                                         \
    CASE(13, __VA_ARGS__);                                                                         \
    CASE(14, __VA_ARGS__);                                                                         \
    CASE(15, __VA_ARGS__);                                                                         \
    CASE(16, __VA_ARGS__);

/* The body of a kernel: evaluate<real>(x, ...) is the value at x. */
#define POLYNOMIAL_EACH_POINT(evaluate, ...)                                                       \
    for (int64_t i = gm_grid_index(); i < a.count; i += gm_grid_stride()) {                        \
        if (a.itemsize == 4) {                                                                     \
            ((float *)a.out)[i] = evaluate<float>(((const float *)a.in)[i], __VA_ARGS__);          \
        } else {                                                                                   \
            ((double *)a.out)[i] = evaluate<double>(((const double *)a.in)[i], __VA_ARGS__);       \
        }                                                                                          \
    }
#endif

#endif
