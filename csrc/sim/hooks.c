/*
 * The functions that the compiler's thread-sanitizer instrumentation calls before each access of a
 * traced kernel. libtsan itself is never linked: these functions report to the trace instead. They
 * are hidden, so as not to disturb a process that does run under libtsan.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim/hooks.h"
#include "sim/lane.h"
#include "sim/thread.h"
#include "sim/trace.h"

#define HOOK __attribute__((visibility("hidden"), used)) void

/* The short way of most accesses of most kernels. It calls nothing but at its end, so as to need
 * no stack. */
static inline void access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind)
{
    gm_trace *trace = gm_thread_claimed_trace();
    gm_step *step = trace ? gm_trace_repeats(trace, code, address) : NULL;
    if (step && !(trace->loud >> step->space & 1)) {
        return;
    }
    if (step) {
        gm_thread_repeated(step, address);
    } else if (!trace || !gm_trace_ignores(trace, address)) {
        gm_sim_access(code, address, bytes, kind, NULL, 0);
    }
}

#define ACCESS(name, bytes, kind)                                                                  \
    HOOK name(void *address);                                                                      \
    HOOK name(void *address)                                                                       \
    {                                                                                              \
        access(__builtin_return_address(0), (uintptr_t)address, bytes, kind);                      \
    }

#define VOLATILE(name, bytes_, kind_)                                                              \
    HOOK name(void *address);                                                                      \
    HOOK name(void *address)                                                                       \
    {                                                                                              \
        gm_access_call call = {.code = __builtin_return_address(0),                                \
                               .address = (uintptr_t)address,                                      \
                               .bytes = bytes_,                                                    \
                               .kind = kind_,                                                      \
                               .strength = GM_VOLATILE,                                            \
                               .scope = GM_SCOPE_SYSTEM};                                          \
        gm_sim_strong_access(&call, GM_ORDER_RELAXED);                                             \
    }

/* The compiler knows of no alignment: a device would move single bytes. */
#define UNALIGNED(name, bytes, kind)                                                               \
    HOOK name(void *address);                                                                      \
    HOOK name(void *address)                                                                       \
    {                                                                                              \
        gm_sim_bytes_access(__builtin_return_address(0), (uintptr_t)address, bytes, kind, NULL,    \
                            0);                                                                    \
    }

#define WIDTHS(hook, prefix, kind)                                                                 \
    hook(prefix##1, 1, kind) hook(prefix##2, 2, kind) hook(prefix##4, 4, kind)                     \
        hook(prefix##8, 8, kind) hook(prefix##16, 16, kind)

WIDTHS(ACCESS, __tsan_read, GM_LOAD)
WIDTHS(ACCESS, __tsan_write, GM_STORE)
WIDTHS(UNALIGNED, __tsan_unaligned_read, GM_LOAD)
WIDTHS(UNALIGNED, __tsan_unaligned_write, GM_STORE)
WIDTHS(VOLATILE, __tsan_volatile_read, GM_LOAD)
WIDTHS(VOLATILE, __tsan_volatile_write, GM_STORE)
WIDTHS(UNALIGNED, __tsan_unaligned_volatile_read, GM_LOAD)
WIDTHS(UNALIGNED, __tsan_unaligned_volatile_write, GM_STORE)

#define RANGE(name, kind)                                                                          \
    HOOK name(void *address, unsigned long bytes);                                                 \
    HOOK name(void *address, unsigned long bytes)                                                  \
    {                                                                                              \
        gm_sim_bytes_access(__builtin_return_address(0), (uintptr_t)address, bytes, kind, NULL,    \
                            0);                                                                    \
    }

RANGE(__tsan_read_range, GM_LOAD)
RANGE(__tsan_write_range, GM_STORE)

/* Clang calls these where GCC copies structures inline. */
HOOK *__tsan_memcpy(void *to, const void *from, size_t bytes);
HOOK *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    const void *code = __builtin_return_address(0);
    gm_sim_bytes_access(code, (uintptr_t)from, bytes, GM_LOAD, NULL, 0);
    gm_sim_bytes_access(code, (uintptr_t)to, bytes, GM_STORE, NULL, 0);
    gm_thread_check_overlap(code, (uintptr_t)to, (uintptr_t)from, bytes);
    return memcpy(to, from, bytes);
}

HOOK *__tsan_memmove(void *to, const void *from, size_t bytes);
HOOK *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    const void *code = __builtin_return_address(0);
    gm_sim_bytes_access(code, (uintptr_t)from, bytes, GM_LOAD, NULL, 0);
    gm_sim_bytes_access(code, (uintptr_t)to, bytes, GM_STORE, NULL, 0);
    return memmove(to, from, bytes);
}

HOOK *__tsan_memset(void *to, int byte, size_t bytes);
HOOK *__tsan_memset(void *to, int byte, size_t bytes)
{
    gm_sim_bytes_access(__builtin_return_address(0), (uintptr_t)to, bytes, GM_STORE, NULL, 0);
    return memset(to, byte, bytes);
}

void gm_sim_prefetch(const void *address, const char *file, int line)
{
    gm_sim_access(__builtin_return_address(0), (uintptr_t)address, 1, GM_PREFETCH, file, line);
}

void gm_sim_wait_for_previous(const char *file, int line)
{
    gm_sim_sync(&(gm_sync){.kind = GM_PREVIOUS_WAIT, .file = file, .line = line});
}

void gm_sim_atomic(const void *address, uint32_t bytes, gm_atomic_kind kind, gm_order order,
                   gm_scope scope, const char *file, int line)
{
    static const struct {
        gm_kind kind;
        gm_service service;
    } made[] = {
        [GM_ATOMIC_LOAD] = {GM_LOAD, GM_TOGETHER},
        [GM_ATOMIC_STORE] = {GM_STORE, GM_TOGETHER},
        [GM_ATOMIC_UPDATE] = {GM_UPDATE, GM_IN_TURNS},
        [GM_ATOMIC_COUNT] = {GM_UPDATE, GM_TOGETHER},
        [GM_ATOMIC_EXCHANGE_IF] = {GM_UPDATE, GM_IN_LONG_TURNS},
        [GM_ATOMIC_LOOP] = {GM_UPDATE, GM_TOGETHER},
    };
    gm_access_call call = {.code = __builtin_return_address(0),
                           .address = (uintptr_t)address,
                           .bytes = bytes,
                           .kind = made[kind].kind,
                           .file = file,
                           .line = line,
                           .strength = GM_ATOMIC,
                           .scope = scope,
                           .service = made[kind].service};
    gm_sim_strong_access(&call, order);
}

/* Constructors and destructors of classes with virtual functions. */
HOOK __tsan_vptr_update(void *address, void *table);
HOOK __tsan_vptr_update(void *address, void *table)
{
    (void)table;
    gm_sim_access(__builtin_return_address(0), (uintptr_t)address, 8, GM_STORE, NULL, 0);
}

HOOK __tsan_vptr_read(void *address);
HOOK __tsan_vptr_read(void *address)
{
    gm_sim_access(__builtin_return_address(0), (uintptr_t)address, 8, GM_LOAD, NULL, 0);
}

HOOK __tsan_init(void);
HOOK __tsan_init(void)
{
}

HOOK __tsan_func_entry(void *caller);
HOOK __tsan_func_entry(void *caller)
{
    (void)caller;
    gm_sim_function(true);
}

HOOK __tsan_func_exit(void);
HOOK __tsan_func_exit(void)
{
    gm_sim_function(false);
}
