/* __half, __half2 and their functions: <cuda_fp16.h>. */
#ifndef GPUMEM_CUDA_HALF_H
#define GPUMEM_CUDA_HALF_H

#include "sim/cuda/atomics.h"

#define GM_HALF __half
#define GM_HALF2 __half2
#define GM_HALF_WORD half
#define GM_HALF_MANTISSA 10
#include "sim/cuda/sixteen_type.h"

#include "sim/cuda/sixteen_functions.h"

#include "sim/cuda/sixteen_pairs.h"
#undef GM_HALF
#undef GM_HALF2
#undef GM_HALF_WORD
#undef GM_HALF_MANTISSA

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

GM_ATOMIC(atomicAdd, add, __half)
GM_ATOMIC(atomicAdd, add, __half2)

#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)

#endif
