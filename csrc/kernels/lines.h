/* Accesses that keep their lines in the L2, as those of device.h, and make it fetch whole lines. */
#ifndef GPUMEM_LINES_H
#define GPUMEM_LINES_H

#include "device.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/* A load of 8 or 16 bytes; device.h has that of 4. */
template <typename type> GM_DEVICE type gm_load_kept_line(const type *from)
{
    const uint64_t at = __cvta_generic_to_global(from), policy = gm_evict_last();
    uint32_t words[sizeof(type) / 4];
    type found;

    if constexpr (sizeof(type) == 16) {
        asm volatile("ld.global.L2::cache_hint.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "l"(at), "l"(policy));
    } else {
        static_assert(sizeof(type) == 8, "the sizes that tiles load");
        asm volatile("ld.global.L2::cache_hint.L2::128B.v2.u32 {%0, %1}, [%2], %3;"
                     : "=r"(words[0]), "=r"(words[1])
                     : "l"(at), "l"(policy));
    }
    memcpy(&found, words, sizeof found);
    return found;
}
#endif

/* gm_copy_async of 16 bytes. The xor is for ptxas: see gm_copy_async_kept. */
#ifdef __CUDACC__
GM_DEVICE void gm_copy_async_kept_line(void *shared, const void *global)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t place = gm_shared_address(shared) ^ (blockDim.z - 1);
    asm volatile(
        "cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2;" ::"r"(place),
        "l"(__cvta_generic_to_global(global)), "l"(gm_evict_last())
        : "memory");
#endif
}
#else
#define gm_copy_async_kept_line gm_copy_async_kept
#endif

#endif
