/* Fences. */
#ifndef GPUMEM_CUDA_FENCES_H
#define GPUMEM_CUDA_FENCES_H

#include "sim/cuda/calls.h"

/* In a plain run blocks run on several processors. */
GM_STEP void gm_fence_step(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static __forceinline__ void gm_fence(gm_order order, gm_scope scope, const char *file, int line)
{
    gm_sim_fence(order, scope, file, line);
    gm_fence_step();
}

static __forceinline__ void __threadfence_block(GM_PLACE)
{
    gm_fence(GM_ORDER_SEQUENTIAL, GM_SCOPE_BLOCK, file, line);
}

static __forceinline__ void __threadfence(GM_PLACE)
{
    gm_fence(GM_ORDER_SEQUENTIAL, GM_SCOPE_DEVICE, file, line);
}

static __forceinline__ void __threadfence_system(GM_PLACE)
{
    gm_fence(GM_ORDER_SEQUENTIAL, GM_SCOPE_SYSTEM, file, line);
}

#endif
