/*
 * The functions that the compiler's thread-sanitizer instrumentation calls before each access
 * of a traced kernel. libtsan itself is never linked: these are ours, and they feed the
 * access stream. Hidden, so that a process that does run under libtsan is not disturbed.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim/hooks.h"

#define HOOK __attribute__((visibility("hidden"), used)) void

#define ACCESS(name, bytes, is_store)                                                              \
    HOOK name(void *address);                                                                      \
    HOOK name(void *address)                                                                       \
    {                                                                                              \
        gm_sim_access(__builtin_return_address(0), (uintptr_t)address, bytes, is_store, NULL, 0);  \
    }

#define WIDTHS(prefix, is_store)                                                                   \
    ACCESS(prefix##1, 1, is_store)                                                                 \
    ACCESS(prefix##2, 2, is_store)                                                                 \
    ACCESS(prefix##4, 4, is_store)                                                                 \
    ACCESS(prefix##8, 8, is_store)                                                                 \
    ACCESS(prefix##16, 16, is_store)

WIDTHS(__tsan_read, 0)
WIDTHS(__tsan_write, 1)
WIDTHS(__tsan_unaligned_read, 0)
WIDTHS(__tsan_unaligned_write, 1)
WIDTHS(__tsan_volatile_read, 0)
WIDTHS(__tsan_volatile_write, 1)
WIDTHS(__tsan_unaligned_volatile_read, 0)
WIDTHS(__tsan_unaligned_volatile_write, 1)

#define RANGE(name, is_store)                                                                      \
    HOOK name(void *address, unsigned long bytes);                                                 \
    HOOK name(void *address, unsigned long bytes)                                                  \
    {                                                                                              \
        gm_sim_access(__builtin_return_address(0), (uintptr_t)address, (uint32_t)bytes, is_store,  \
                      NULL, 0);                                                                    \
    }

RANGE(__tsan_read_range, 0)
RANGE(__tsan_write_range, 1)

/* Clang calls these where GCC moves structures itself. */
HOOK *__tsan_memcpy(void *to, const void *from, size_t bytes);
HOOK *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    const void *code = __builtin_return_address(0);
    gm_sim_access(code, (uintptr_t)from, (uint32_t)bytes, 0, NULL, 0);
    gm_sim_access(code, (uintptr_t)to, (uint32_t)bytes, 1, NULL, 0);
    return memcpy(to, from, bytes);
}

HOOK *__tsan_memmove(void *to, const void *from, size_t bytes);
HOOK *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    const void *code = __builtin_return_address(0);
    gm_sim_access(code, (uintptr_t)from, (uint32_t)bytes, 0, NULL, 0);
    gm_sim_access(code, (uintptr_t)to, (uint32_t)bytes, 1, NULL, 0);
    return memmove(to, from, bytes);
}

HOOK *__tsan_memset(void *to, int byte, size_t bytes);
HOOK *__tsan_memset(void *to, int byte, size_t bytes)
{
    gm_sim_access(__builtin_return_address(0), (uintptr_t)to, (uint32_t)bytes, 1, NULL, 0);
    return memset(to, byte, bytes);
}

HOOK __tsan_init(void);
HOOK __tsan_init(void)
{
}

HOOK __tsan_func_entry(void *caller);
HOOK __tsan_func_entry(void *caller)
{
    (void)caller;
}

HOOK __tsan_func_exit(void);
HOOK __tsan_func_exit(void)
{
}
