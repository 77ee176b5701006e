/* nvcc's builtins __nv_atomic_*. */
#ifndef GPUMEM_CUDA_ATOMIC_BUILTINS_H
#define GPUMEM_CUDA_ATOMIC_BUILTINS_H

#include "sim/cuda/atomic_steps.h"
#include "sim/cuda/fences.h"

enum {
    __NV_ATOMIC_RELAXED,
    __NV_ATOMIC_CONSUME,
    __NV_ATOMIC_ACQUIRE,
    __NV_ATOMIC_RELEASE,
    __NV_ATOMIC_ACQ_REL,
    __NV_ATOMIC_SEQ_CST,
};

enum {
    __NV_THREAD_SCOPE_THREAD,
    __NV_THREAD_SCOPE_BLOCK,
    __NV_THREAD_SCOPE_CLUSTER,
    __NV_THREAD_SCOPE_DEVICE,
    __NV_THREAD_SCOPE_SYSTEM,
};

static constexpr gm_order gm_builtin_order(int order)
{
    return order == __NV_ATOMIC_RELAXED   ? GM_ORDER_RELAXED
           : order <= __NV_ATOMIC_ACQUIRE ? GM_ORDER_ACQUIRE
           : order == __NV_ATOMIC_RELEASE ? GM_ORDER_RELEASE
           : order == __NV_ATOMIC_ACQ_REL ? GM_ORDER_ACQUIRE_RELEASE
                                          : GM_ORDER_SEQUENTIAL;
}

/* The simulator's clusters have one block. */
static constexpr gm_scope gm_builtin_scope(int scope)
{
    return scope <= __NV_THREAD_SCOPE_CLUSTER  ? GM_SCOPE_BLOCK
           : scope == __NV_THREAD_SCOPE_DEVICE ? GM_SCOPE_DEVICE
                                               : GM_SCOPE_SYSTEM;
}

#define GM_BUILTIN_SCOPE int scope = __NV_THREAD_SCOPE_SYSTEM
#define GM_BUILTIN_WHERE gm_builtin_order(order), gm_builtin_scope(scope), file, line

template <typename type>
static __forceinline__ type __nv_atomic_load_n(const type *address, int order, GM_BUILTIN_SCOPE,
                                               GM_PLACE)
{
    return gm_atomic_load(address, GM_BUILTIN_WHERE);
}

template <typename type>
static __forceinline__ void __nv_atomic_load(const type *address, type *result, int order,
                                             GM_BUILTIN_SCOPE, GM_PLACE)
{
    *result = gm_atomic_load(address, GM_BUILTIN_WHERE);
}

template <typename type>
static __forceinline__ void __nv_atomic_store_n(type *address, typename gm_same<type>::as value,
                                                int order, GM_BUILTIN_SCOPE, GM_PLACE)
{
    gm_atomic_store<type>(address, value, GM_BUILTIN_WHERE);
}

template <typename type>
static __forceinline__ void __nv_atomic_store(type *address, const type *value, int order,
                                              GM_BUILTIN_SCOPE, GM_PLACE)
{
    gm_atomic_store<type>(address, *value, GM_BUILTIN_WHERE);
}

template <typename type>
static __forceinline__ type __nv_atomic_exchange_n(type *address, typename gm_same<type>::as value,
                                                   int order, GM_BUILTIN_SCOPE, GM_PLACE)
{
    return gm_atomic_update<gm_atomic_exch, type>(address, value, GM_BUILTIN_WHERE);
}

template <typename type>
static __forceinline__ void __nv_atomic_exchange(type *address, const type *value, type *result,
                                                 int order, GM_BUILTIN_SCOPE, GM_PLACE)
{
    *result = gm_atomic_update<gm_atomic_exch, type>(address, *value, GM_BUILTIN_WHERE);
}

template <typename type>
static __forceinline__ bool __nv_atomic_compare_exchange_n(type *address, type *expected,
                                                           typename gm_same<type>::as desired, bool,
                                                           int order, int, GM_BUILTIN_SCOPE,
                                                           GM_PLACE)
{
    return gm_atomic_exchange_if<type>(address, expected, desired, GM_BUILTIN_WHERE);
}

template <typename type>
static __forceinline__ bool __nv_atomic_compare_exchange(type *address, type *expected,
                                                         const type *desired, bool, int order, int,
                                                         GM_BUILTIN_SCOPE, GM_PLACE)
{
    return gm_atomic_exchange_if<type>(address, expected, *desired, GM_BUILTIN_WHERE);
}

/* One that returns what was there, one that does not. */
#define GM_ATOMIC_BUILTIN(operation)                                                               \
    template <typename type>                                                                       \
    static __forceinline__ type __nv_atomic_fetch_##operation(                                     \
        type *address, typename gm_same<type>::as value, int order, GM_BUILTIN_SCOPE, GM_PLACE)    \
    {                                                                                              \
        return gm_atomic_update<gm_atomic_##operation, type>(address, value, GM_BUILTIN_WHERE);    \
    }                                                                                              \
    template <typename type>                                                                       \
    static __forceinline__ void __nv_atomic_##operation(                                           \
        type *address, typename gm_same<type>::as value, int order, GM_BUILTIN_SCOPE, GM_PLACE)    \
    {                                                                                              \
        gm_atomic_update<gm_atomic_##operation, type>(address, value, GM_BUILTIN_WHERE);           \
    }

GM_ATOMIC_BUILTIN(add)
GM_ATOMIC_BUILTIN(sub)
GM_ATOMIC_BUILTIN(and)
GM_ATOMIC_BUILTIN(or)
GM_ATOMIC_BUILTIN(xor)
GM_ATOMIC_BUILTIN(min)
GM_ATOMIC_BUILTIN(max)

static __forceinline__ void __nv_atomic_thread_fence(int order, GM_BUILTIN_SCOPE, GM_PLACE)
{
    gm_fence(GM_BUILTIN_WHERE);
}

#endif
