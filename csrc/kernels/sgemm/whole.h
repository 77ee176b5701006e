/* Whole numbers. */
#ifndef GPUMEM_SGEMM_WHOLE_H
#define GPUMEM_SGEMM_WHOLE_H

#include <stdint.h>

static inline int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static inline int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
