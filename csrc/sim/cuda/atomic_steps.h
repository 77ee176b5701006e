/* Atomic operations on values of 1, 2, 4 or 8 bytes: what all their names are made of. Each first
 * tells the simulator, and is then one step on the host, whose other threads run other blocks. */
#ifndef GPUMEM_CUDA_ATOMIC_STEPS_H
#define GPUMEM_CUDA_ATOMIC_STEPS_H

#include "sim/cuda/calls.h"

template <int bytes> struct gm_atomic_bits;
template <> struct gm_atomic_bits<1> {
    typedef uint8_t as __attribute__((may_alias));
};
template <> struct gm_atomic_bits<2> {
    typedef uint16_t as __attribute__((may_alias));
};
template <> struct gm_atomic_bits<4> {
    typedef uint32_t as __attribute__((may_alias));
};
template <> struct gm_atomic_bits<8> {
    typedef uint64_t as __attribute__((may_alias));
};

template <typename type> GM_STEP type gm_load_step(const volatile type *address)
{
    typedef typename gm_atomic_bits<sizeof(type)>::as bits;
    return gm_bytes_as<type>(__atomic_load_n((const volatile bits *)address, __ATOMIC_SEQ_CST));
}

template <typename type> GM_STEP void gm_store_step(volatile type *address, type value)
{
    typedef typename gm_atomic_bits<sizeof(type)>::as bits;
    __atomic_store_n((volatile bits *)address, gm_bytes_as<bits>(value), __ATOMIC_SEQ_CST);
}

/* Replaces *expected where it is not what was found. */
template <typename type>
GM_STEP bool gm_exchange_step(volatile type *address, type *expected, type desired)
{
    typedef typename gm_atomic_bits<sizeof(type)>::as bits;
    bits old = gm_bytes_as<bits>(*expected);
    bool done =
        __atomic_compare_exchange_n((volatile bits *)address, &old, gm_bytes_as<bits>(desired),
                                    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    __builtin_memcpy((void *)expected, &old, sizeof *expected);
    return done;
}

/* Stores operation::of(old, value) and returns the old value. */
template <typename operation, typename type>
GM_STEP type gm_update_step(volatile type *address, type value)
{
    typedef typename gm_atomic_bits<sizeof(type)>::as bits;
    volatile bits *place = (volatile bits *)address;
    bits old = __atomic_load_n(place, __ATOMIC_RELAXED), made;
    do {
        made = gm_bytes_as<bits>(operation::of(gm_bytes_as<type>(old), value));
    } while (
        !__atomic_compare_exchange_n(place, &old, made, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    return gm_bytes_as<type>(old);
}

#define GM_ATOMIC_OPERATION(name, result)                                                          \
    struct gm_atomic_##name {                                                                      \
        template <typename type>                                                                   \
        static __forceinline__ type of([[maybe_unused]] type old, type value)                      \
        {                                                                                          \
            return result;                                                                         \
        }                                                                                          \
    };

/* Through unsigned numbers: atomic integers wrap. */
template <typename type> static __forceinline__ type gm_wrapped_sum(type a, type b)
{
    if constexpr (__is_same(type, int) || __is_same(type, long) || __is_same(type, long long)) {
        return (type)((unsigned long long)a + (unsigned long long)b);
    } else {
        return a + b;
    }
}

template <typename type> static __forceinline__ type gm_wrapped_difference(type a, type b)
{
    if constexpr (__is_same(type, int) || __is_same(type, long) || __is_same(type, long long)) {
        return (type)((unsigned long long)a - (unsigned long long)b);
    } else {
        return a - b;
    }
}

GM_ATOMIC_OPERATION(add, gm_wrapped_sum(old, value))
GM_ATOMIC_OPERATION(sub, gm_wrapped_difference(old, value))
GM_ATOMIC_OPERATION(exch, value)
GM_ATOMIC_OPERATION(min, value < old ? value : old)
GM_ATOMIC_OPERATION(max, old < value ? value : old)
GM_ATOMIC_OPERATION(inc, old >= value ? 0 : old + 1)
GM_ATOMIC_OPERATION(dec, old == 0 || old > value ? value : old - 1)
GM_ATOMIC_OPERATION(and, old &value)
GM_ATOMIC_OPERATION(or, old | value)
GM_ATOMIC_OPERATION(xor, old ^ value)

/* ---- with their report ------------------------------------------------------------------ */

template <typename type>
static __forceinline__ type gm_atomic_load(const volatile type *address, gm_order order,
                                           gm_scope scope, const char *file, int line)
{
    gm_sim_atomic((const void *)address, sizeof(type), GM_ATOMIC_LOAD, order, scope, file, line);
    return gm_load_step(address);
}

template <typename type>
static __forceinline__ void gm_atomic_store(volatile type *address, type value, gm_order order,
                                            gm_scope scope, const char *file, int line)
{
    gm_sim_atomic((const void *)address, sizeof(type), GM_ATOMIC_STORE, order, scope, file, line);
    gm_store_step(address, value);
}

/* Shared memory exchanges 4 and 8 bytes, and computes with integers of 4; all else is a loop.
 * Whether the value is a constant is known once this is inlined into the kernel. */
template <typename operation, typename type>
static __forceinline__ gm_atomic_kind gm_kind_of_update([[maybe_unused]] type value)
{
    if constexpr (__is_same(type, int) || __is_same(type, unsigned)) {
        return __is_same(operation, gm_atomic_add) && __builtin_constant_p(value) && value == 1
                   ? GM_ATOMIC_COUNT
                   : GM_ATOMIC_UPDATE;
    } else {
        return __is_same(operation, gm_atomic_exch) && sizeof(type) >= 4 ? GM_ATOMIC_UPDATE
                                                                         : GM_ATOMIC_LOOP;
    }
}

template <typename operation, typename type>
static __forceinline__ type gm_atomic_update(volatile type *address, type value, gm_order order,
                                             gm_scope scope, const char *file, int line)
{
    const gm_atomic_kind kind = gm_kind_of_update<operation>(value);
    gm_sim_atomic((const void *)address, sizeof(type), kind, order, scope, file, line);
    return gm_update_step<operation>(address, value);
}

/* An update, whether or not it changes anything. */
template <typename type>
static __forceinline__ bool gm_atomic_exchange_if(volatile type *address, type *expected,
                                                  type desired, gm_order order, gm_scope scope,
                                                  const char *file, int line)
{
    const gm_atomic_kind kind = sizeof(type) >= 4 ? GM_ATOMIC_EXCHANGE_IF : GM_ATOMIC_LOOP;
    gm_sim_atomic((const void *)address, sizeof(type), kind, order, scope, file, line);
    return gm_exchange_step(address, expected, desired);
}

#endif
