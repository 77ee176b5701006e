/*
 * Atomic functions, fences, and relaxed loads and stores, for the families whose kernels use them:
 * CUDA's own, or the simulator's, without which the other kernels compile faster.
 */
#ifndef GPUMEM_ATOMICS_H
#define GPUMEM_ATOMICS_H

#include "device.h"

#ifndef __CUDACC__
#include <sched.h>

#include "sim/cuda/atomics.h"
#include "sim/cuda/fences.h"
#endif

/* Loads and stores of words that blocks hand to each other. They are relaxed: seen whole and by the
 * whole device, but they order nothing else. */
#ifdef __CUDACC__
GM_DEVICE unsigned long long gm_load_relaxed(const unsigned long long *from)
{
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                 : "=l"(word)
                 : "l"(__cvta_generic_to_global(from))
                 : "memory");
    return word;
}

GM_DEVICE void gm_store_relaxed(unsigned long long *to, unsigned long long word)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)),
                 "l"(word)
                 : "memory");
}

/* For a thread that has asked for another block's word so many times, in vain. */
GM_DEVICE void gm_wait_a_little(int times)
{
    (void)times;
    __nanosleep(20);
}
#else
#define gm_load_relaxed(from)                                                                      \
    gm_atomic_load((from), GM_ORDER_RELAXED, GM_SCOPE_DEVICE, __FILE__, __LINE__)
#define gm_store_relaxed(to, word)                                                                 \
    gm_atomic_store((to), (word), GM_ORDER_RELAXED, GM_SCOPE_DEVICE, __FILE__, __LINE__)
/* The other block usually runs on another thread of the host, and is soon done. Giving way begins
 * further blocks, which costs more, but lets the run be interrupted. */
#ifdef GM_BUILD_TRACED
#define gm_wait_a_little(times) ((void)(times), gm_sim_yield(__FILE__, __LINE__))
#else
#define gm_wait_a_little(times)                                                                    \
    ((times) % 1024 != 0 ? (void)sched_yield() : gm_sim_yield(__FILE__, __LINE__))
#endif
#endif

#endif
