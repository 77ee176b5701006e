/* Asynchronous copies to shared memory with a cache policy of the L2: see gm_copy_async. */
#ifndef GPUMEM_COPY_POLICY_H
#define GPUMEM_COPY_POLICY_H

#include "device.h"

/* The xor is for ptxas: see gm_copy_async_kept. Before compute capability 9.0 there is no policy of
 * bulk.h, and the copy is a plain one. */
#ifdef __CUDACC__
template <int bytes>
GM_DEVICE void gm_copy_async_by(void *shared, const void *global, int there, uint64_t policy)
{
#if __CUDA_ARCH__ >= 900
    const uint32_t place = gm_shared_address(shared) ^ (blockDim.z - 1);
    const uint64_t from = __cvta_generic_to_global(global);
    if (bytes == 16) {
        asm volatile(
            "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(place),
            "l"(from), "r"(there), "l"(policy)
            : "memory");
    } else {
        asm volatile(
            "cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3, %4;" ::"r"(place),
            "l"(from), "n"(bytes), "r"(there), "l"(policy)
            : "memory");
    }
#else
    gm_copy_async<bytes>(shared, global, there);
#endif
}
#else
template <int bytes>
GM_DEVICE void gm_copy_async_by(void *shared, const void *global, int there, uint64_t,
                                const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    gm_sim_pipeline_copy(shared, global, bytes, bytes - there, file, line);
}
#endif

#endif
