/* CUDA's atomic functions on numbers; on half and bfloat16 see half_atomics.h. */
#ifndef GPUMEM_CUDA_ATOMICS_H
#define GPUMEM_CUDA_ATOMICS_H

#include "sim/cuda/atomic_steps.h"
#include "sim/cuda/vectors.h"

/* Defines a macro of three arguments for each scope: DEFINE(name, scope, rest). */
#define GM_ATOMIC_SCOPES(DEFINE, name, ...)                                                        \
    DEFINE(name, GM_SCOPE_DEVICE, __VA_ARGS__)                                                     \
    DEFINE(name##_block, GM_SCOPE_BLOCK, __VA_ARGS__)                                              \
    DEFINE(name##_system, GM_SCOPE_SYSTEM, __VA_ARGS__)

#define GM_ATOMIC_FUNCTION(name, scope, operation, type)                                           \
    static __forceinline__ type name(type *address, type value, GM_PLACE)                          \
    {                                                                                              \
        return gm_atomic_update<gm_atomic_##operation>(address, value, GM_ORDER_RELAXED, scope,    \
                                                       file, line);                                \
    }

#define GM_ATOMIC_CAS(name, scope, type)                                                           \
    static __forceinline__ type name(type *address, type compare, type value, GM_PLACE)            \
    {                                                                                              \
        gm_atomic_exchange_if(address, &compare, value, GM_ORDER_RELAXED, scope, file, line);      \
        return compare;                                                                            \
    }

#define GM_ATOMIC(name, operation, type) GM_ATOMIC_SCOPES(GM_ATOMIC_FUNCTION, name, operation, type)
#define GM_ATOMIC_32(name, operation)                                                              \
    GM_ATOMIC(name, operation, int)                                                                \
    GM_ATOMIC(name, operation, unsigned)
#define GM_ATOMIC_64(name, operation) GM_ATOMIC(name, operation, unsigned long long)

GM_ATOMIC_32(atomicAdd, add)
GM_ATOMIC_64(atomicAdd, add)
GM_ATOMIC(atomicAdd, add, float)
GM_ATOMIC(atomicAdd, add, double)
GM_ATOMIC_32(atomicSub, sub)
GM_ATOMIC_32(atomicExch, exch)
GM_ATOMIC_64(atomicExch, exch)
GM_ATOMIC(atomicExch, exch, float)
GM_ATOMIC_32(atomicMin, min)
GM_ATOMIC_64(atomicMin, min)
GM_ATOMIC(atomicMin, min, long long)
GM_ATOMIC_32(atomicMax, max)
GM_ATOMIC_64(atomicMax, max)
GM_ATOMIC(atomicMax, max, long long)
GM_ATOMIC(atomicInc, inc, unsigned)
GM_ATOMIC(atomicDec, dec, unsigned)
GM_ATOMIC_32(atomicAnd, and)
GM_ATOMIC_64(atomicAnd, and)
GM_ATOMIC_32(atomicOr, or)
GM_ATOMIC_64(atomicOr, or)
GM_ATOMIC_32(atomicXor, xor)
GM_ATOMIC_64(atomicXor, xor)
GM_ATOMIC_SCOPES(GM_ATOMIC_CAS, atomicCAS, int)
GM_ATOMIC_SCOPES(GM_ATOMIC_CAS, atomicCAS, unsigned)
GM_ATOMIC_SCOPES(GM_ATOMIC_CAS, atomicCAS, unsigned long long)
GM_ATOMIC_CAS(atomicCAS, GM_SCOPE_DEVICE, unsigned short)

/* Vectors: each element is updated in a step of its own, in one access of the whole. */
#define GM_ATOMIC_ADD_VECTOR(name, scope, type, element)                                           \
    static __forceinline__ type name(type *address, type value, GM_PLACE)                          \
    {                                                                                              \
        gm_sim_atomic(address, sizeof *address, GM_ATOMIC_LOOP, GM_ORDER_RELAXED, scope, file,     \
                      line);                                                                       \
        return gm_add_elements<element>(address, value);                                           \
    }

template <typename element, typename type> GM_STEP type gm_add_elements(type *address, type value)
{
    enum { COUNT = sizeof(type) / sizeof(element) };
    element parts[COUNT];
    __builtin_memcpy(parts, (const void *)&value, sizeof parts);
    for (int i = 0; i < COUNT; i++) {
        parts[i] = gm_update_step<gm_atomic_add>((volatile element *)address + i, parts[i]);
    }
    __builtin_memcpy((void *)&value, parts, sizeof parts);
    return value;
}

GM_ATOMIC_SCOPES(GM_ATOMIC_ADD_VECTOR, atomicAdd, float2, float)
GM_ATOMIC_SCOPES(GM_ATOMIC_ADD_VECTOR, atomicAdd, float4, float)

#endif
