/* <cuda/atomic>: atomic and atomic_ref with a scope, and fences with an order. */
#ifndef GPUMEM_CUDA_ATOMIC_OBJECTS_H
#define GPUMEM_CUDA_ATOMIC_OBJECTS_H

#include "sim/cuda/atomic_steps.h"
#include "sim/cuda/fences.h"

namespace cuda {

enum thread_scope {
    thread_scope_system,
    thread_scope_device,
    thread_scope_block,
    thread_scope_thread = 10,
};

namespace std {
enum memory_order {
    memory_order_relaxed,
    memory_order_consume,
    memory_order_acquire,
    memory_order_release,
    memory_order_acq_rel,
    memory_order_seq_cst,
};
} // namespace std

using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

} // namespace cuda

static constexpr gm_order gm_order_of(cuda::memory_order order)
{
    switch (order) {
    case cuda::memory_order_relaxed: return GM_ORDER_RELAXED;
    case cuda::memory_order_consume:
    case cuda::memory_order_acquire: return GM_ORDER_ACQUIRE;
    case cuda::memory_order_release: return GM_ORDER_RELEASE;
    case cuda::memory_order_acq_rel: return GM_ORDER_ACQUIRE_RELEASE;
    default: return GM_ORDER_SEQUENTIAL;
    }
}

static constexpr gm_scope gm_scope_of(cuda::thread_scope scope)
{
    return scope == cuda::thread_scope_system   ? GM_SCOPE_SYSTEM
           : scope == cuda::thread_scope_device ? GM_SCOPE_DEVICE
                                                : GM_SCOPE_BLOCK;
}

/* An operand that knows the line of the operator, which has no parameters to spare. */
template <typename type> struct gm_operand {
    type value;
    const char *file;
    int line;

    __forceinline__ gm_operand(type operand, const char *at_file = __builtin_FILE(),
                               int at_line = __builtin_LINE())
        : value(operand), file(at_file), line(at_line)
    {
    }
};

/* What both kinds of objects can do. The object says where its value is. Operators without an
 * operand give no line: the trace finds it by the address of the call. */
template <typename object, typename type, cuda::thread_scope scope> class gm_atomic_interface {
    static_assert(sizeof(type) == 1 || sizeof(type) == 2 || sizeof(type) == 4 || sizeof(type) == 8,
                  "the simulator's atomic objects hold 1, 2, 4 or 8 bytes");
    typedef cuda::memory_order order_type;

    __forceinline__ volatile type *place() const volatile
    {
        return static_cast<const volatile object *>(this)->gm_address();
    }

    template <typename operation>
    __forceinline__ type update(type value, order_type order, const char *file, int line) const
        volatile
    {
        return gm_atomic_update<operation>(place(), value, gm_order_of(order), gm_scope_of(scope),
                                           file, line);
    }

  public:
    typedef type value_type;

    __forceinline__ type load(order_type order = cuda::memory_order_seq_cst, GM_PLACE) const
        volatile
    {
        return gm_atomic_load<type>(place(), gm_order_of(order), gm_scope_of(scope), file, line);
    }

    __forceinline__ operator type() const volatile
    {
        return load(cuda::memory_order_seq_cst, nullptr, 0);
    }

    __forceinline__ void store(type value, order_type order = cuda::memory_order_seq_cst,
                               GM_PLACE) const volatile
    {
        gm_atomic_store<type>(place(), value, gm_order_of(order), gm_scope_of(scope), file, line);
    }

    __forceinline__ type exchange(type value, order_type order = cuda::memory_order_seq_cst,
                                  GM_PLACE) const volatile
    {
        return update<gm_atomic_exch>(value, order, file, line);
    }

    __forceinline__ bool compare_exchange_strong(type &expected, type desired,
                                                 order_type order = cuda::memory_order_seq_cst,
                                                 GM_PLACE) const volatile
    {
        return gm_atomic_exchange_if<type>(place(), &expected, desired, gm_order_of(order),
                                           gm_scope_of(scope), file, line);
    }

    __forceinline__ bool compare_exchange_strong(type &expected, type desired, order_type order,
                                                 order_type, GM_PLACE) const volatile
    {
        return compare_exchange_strong(expected, desired, order, file, line);
    }

    __forceinline__ bool compare_exchange_weak(type &expected, type desired,
                                               order_type order = cuda::memory_order_seq_cst,
                                               GM_PLACE) const volatile
    {
        return compare_exchange_strong(expected, desired, order, file, line);
    }

    __forceinline__ bool compare_exchange_weak(type &expected, type desired, order_type order,
                                               order_type, GM_PLACE) const volatile
    {
        return compare_exchange_strong(expected, desired, order, file, line);
    }

#define GM_FETCH(name)                                                                             \
    __forceinline__ type fetch_##name(type value, order_type order = cuda::memory_order_seq_cst,   \
                                      GM_PLACE) const volatile                                     \
    {                                                                                              \
        return update<gm_atomic_##name>(value, order, file, line);                                 \
    }
    GM_FETCH(add)
    GM_FETCH(sub)
    GM_FETCH(and)
    GM_FETCH(or)
    GM_FETCH(xor)
    GM_FETCH(min)
    GM_FETCH(max)
#undef GM_FETCH

#define GM_ASSIGNING(symbol, name)                                                                 \
    __forceinline__ type operator symbol##=(gm_operand<type> by) const volatile                    \
    {                                                                                              \
        type old =                                                                                 \
            update<gm_atomic_##name>(by.value, cuda::memory_order_seq_cst, by.file, by.line);      \
        return gm_atomic_##name::of(old, by.value);                                                \
    }
    GM_ASSIGNING(+, add)
    GM_ASSIGNING(-, sub)
    GM_ASSIGNING(&, and)
    GM_ASSIGNING(|, or)
    GM_ASSIGNING(^, xor)
#undef GM_ASSIGNING

    __forceinline__ type operator++() const volatile
    {
        return (type)(fetch_add(1, cuda::memory_order_seq_cst, nullptr, 0) + 1);
    }

    __forceinline__ type operator++(int) const volatile
    {
        return fetch_add(1, cuda::memory_order_seq_cst, nullptr, 0);
    }

    __forceinline__ type operator--() const volatile
    {
        return (type)(fetch_sub(1, cuda::memory_order_seq_cst, nullptr, 0) - 1);
    }

    __forceinline__ type operator--(int) const volatile
    {
        return fetch_sub(1, cuda::memory_order_seq_cst, nullptr, 0);
    }

    __forceinline__ void wait(type old, order_type order = cuda::memory_order_seq_cst,
                              GM_PLACE) const volatile
    {
        while (load(order, file, line) == old) {
            gm_sim_yield(file, line);
        }
    }

    /* Whoever waits looks again by itself. */
    __forceinline__ void notify_one() const volatile
    {
    }

    __forceinline__ void notify_all() const volatile
    {
    }

    __forceinline__ bool is_lock_free() const volatile
    {
        return true;
    }

    static constexpr bool is_always_lock_free = true;
};

namespace cuda {

template <typename type, thread_scope scope = thread_scope_system>
class atomic_ref : public gm_atomic_interface<atomic_ref<type, scope>, type, scope> {
    type *address;

  public:
    __forceinline__ explicit atomic_ref(type &value) : address(&value)
    {
    }

    __forceinline__ type operator=(type to) const volatile
    {
        this->store(to, memory_order_seq_cst, nullptr, 0);
        return to;
    }

    __forceinline__ volatile type *gm_address() const volatile
    {
        return address;
    }

    static constexpr size_t required_alignment = sizeof(type);
};

template <typename type, thread_scope scope = thread_scope_system>
class atomic : public gm_atomic_interface<atomic<type, scope>, type, scope> {
    alignas(sizeof(type)) type value;

  public:
    atomic() = default;
    atomic(const atomic &) = delete;
    atomic &operator=(const atomic &) = delete;

    constexpr atomic(type initial) : value(initial)
    {
    }

    __forceinline__ type operator=(type to)
    {
        this->store(to, memory_order_seq_cst, nullptr, 0);
        return to;
    }

    __forceinline__ type operator=(type to) volatile
    {
        this->store(to, memory_order_seq_cst, nullptr, 0);
        return to;
    }

    /* Atomic objects change when they are const for the interface that they share. */
    __forceinline__ volatile type *gm_address() const volatile
    {
        return const_cast<volatile type *>(&value);
    }
};

static __forceinline__ void atomic_thread_fence(memory_order order,
                                                thread_scope scope = thread_scope_system, GM_PLACE)
{
    gm_fence(gm_order_of(order), gm_scope_of(scope), file, line);
}

namespace std {
template <typename type> using atomic = ::cuda::atomic<type, thread_scope_system>;
template <typename type> using atomic_ref = ::cuda::atomic_ref<type, thread_scope_system>;
typedef atomic<int> atomic_int;
typedef atomic<unsigned> atomic_uint;
typedef atomic<long long> atomic_llong;
typedef atomic<unsigned long long> atomic_ullong;
typedef atomic<bool> atomic_bool;

static __forceinline__ void atomic_thread_fence(memory_order order, GM_PLACE)
{
    gm_fence(gm_order_of(order), GM_SCOPE_SYSTEM, file, line);
}
} // namespace std

} // namespace cuda

#endif
