/* What tells host threads apart. */
#ifndef GPUMEM_SIM_HOST_THREAD_H
#define GPUMEM_SIM_HOST_THREAD_H

#include <stdint.h>

/* A number of the calling host thread, which no other has at the time; 0 where that takes longer
 * than to read a register. */
static inline uintptr_t gm_host_thread(void)
{
    uintptr_t number = 0;
#if defined(__x86_64__) && defined(__linux__)
    __asm__ volatile("mov %%fs:0, %0" : "=r"(number));
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, tpidr_el0" : "=r"(number));
#endif
    return number;
}

#endif
