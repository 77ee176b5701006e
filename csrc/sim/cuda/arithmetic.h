/* Arithmetic of numbers. */
#ifndef GPUMEM_CUDA_ARITHMETIC_H
#define GPUMEM_CUDA_ARITHMETIC_H

#include "sim/cuda/language.h"

template <typename type> static __forceinline__ type min(type a, type b)
{
    return b < a ? b : a;
}

template <typename type> static __forceinline__ type max(type a, type b)
{
    return a < b ? b : a;
}

#endif
