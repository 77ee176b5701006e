/* __nv_bfloat16, __nv_bfloat162 and their functions: <cuda_bf16.h>. */
#ifndef GPUMEM_CUDA_BFLOAT16_H
#define GPUMEM_CUDA_BFLOAT16_H

#include "sim/cuda/atomics.h"

#define GM_HALF __nv_bfloat16
#define GM_HALF2 __nv_bfloat162
#define GM_HALF_WORD bfloat16
#define GM_HALF_MANTISSA 7
#include "sim/cuda/sixteen_type.h"

#include "sim/cuda/sixteen_functions.h"

#include "sim/cuda/sixteen_pairs.h"
#undef GM_HALF
#undef GM_HALF2
#undef GM_HALF_WORD
#undef GM_HALF_MANTISSA

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

GM_ATOMIC(atomicAdd, add, __nv_bfloat16)
GM_ATOMIC(atomicAdd, add, __nv_bfloat162)

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)

#endif
