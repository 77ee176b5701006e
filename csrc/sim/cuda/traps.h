/* What stops a kernel, what converts addresses, and clocks. */
#ifndef GPUMEM_CUDA_TRAPS_H
#define GPUMEM_CUDA_TRAPS_H

#include <stdio.h>
#include <time.h>

#include "sim/cuda/language.h"

#define __trap() gm_sim_fault_of(GM_RULE_TRAP, __FILE__, __LINE__, "__trap()")
#define __brkpt() gm_sim_fault_of(GM_RULE_TRAP, __FILE__, __LINE__, "__brkpt()")
#define __prof_trigger(counter) ((void)(counter))
/* A promise that is not kept is not noticed, as on a device. */
#define __assume(condition) ((condition) ? (void)0 : __builtin_unreachable())
#define __builtin_assume(condition) __assume(condition)
#define __nanosleep(nanoseconds) ((void)(nanoseconds), gm_sim_yield(__FILE__, __LINE__))

/* <assert.h> calls this where an assertion fails. The module's own hides the host's, which would
 * end the process. */
extern "C" __attribute__((weak, visibility("hidden"), noreturn)) GM_UNTRACED void __assert_fail(
    const char *assertion, const char *file, unsigned line, const char *) noexcept
{
    char what[200];
    snprintf(what, sizeof what, "assertion failed: %s", assertion);
    gm_sim_fault_of(GM_RULE_ASSERT, file, (int)line, what);
}

/* There is one space of addresses: what only PTX takes is the address itself. */
#define __cvta_generic_to_shared(pointer) ((size_t)(pointer))
#define __cvta_generic_to_global(pointer) ((size_t)(pointer))
#define __cvta_generic_to_local(pointer) ((size_t)(pointer))
#define __cvta_generic_to_constant(pointer) ((size_t)(pointer))
#define __cvta_shared_to_generic(address) ((void *)(size_t)(address))
#define __cvta_global_to_generic(address) ((void *)(size_t)(address))
#define __cvta_local_to_generic(address) ((void *)(size_t)(address))
#define __cvta_constant_to_generic(address) ((void *)(size_t)(address))

/* Nanoseconds, as if the clock ran at 1 GHz. clock() is the host's. */
static inline long long clock64(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

#endif
