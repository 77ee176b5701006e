/*
 * Hopper's bulk copy engine, in thin wrappers: one thread requests a copy, the engine moves the
 * bytes, and an mbarrier in shared memory completes when they have arrived. Needs compute
 * capability 9.0; the simulator copies at once. Addresses and sizes are multiples of 16 bytes.
 */
#ifndef GPUMEM_BULK_H
#define GPUMEM_BULK_H

#include "device.h"

typedef uint64_t gm_mbarrier;

#ifdef __CUDACC__

/* For one arrival per phase; visible to the copy engine afterwards. */
GM_DEVICE void gm_mbarrier_init(gm_mbarrier *barrier)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
                 "fence.proxy.async.shared::cta;" ::"r"(gm_shared_address(barrier))
                 : "memory");
#endif
}

/* Arrives, and adds to the bytes that have to arrive before the phase completes. */
GM_DEVICE void gm_mbarrier_expect(gm_mbarrier *barrier, uint32_t bytes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(gm_shared_address(barrier)),
        "r"(bytes)
        : "memory");
#endif
}

/* Waits until the phase of this parity is complete; phases count from 0. */
GM_DEVICE void gm_mbarrier_wait(gm_mbarrier *barrier, uint32_t parity)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{\n\t"
                 ".reg .pred done;\n\t"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra again;\n\t"
                 "}" ::"r"(gm_shared_address(barrier)),
                 "r"(parity)
                 : "memory");
#endif
}

/* A cache policy for data that is used once: the L2 evicts its lines first. */
GM_DEVICE uint64_t gm_evict_first(void)
{
    uint64_t policy = 0;
#if __CUDA_ARCH__ >= 900
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}

GM_DEVICE void gm_bulk_load(void *shared, const void *global, uint32_t bytes, gm_mbarrier *barrier,
                            uint64_t policy)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(gm_shared_address(shared)),
                 "l"(global), "r"(bytes), "r"(gm_shared_address(barrier)), "l"(policy)
                 : "memory");
#endif
}

/* Each store is a group of its own for gm_bulk_wait_read. */
GM_DEVICE void gm_bulk_store(void *global, const void *shared, uint32_t bytes, uint64_t policy)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;"
                 "\n\tcp.async.bulk.commit_group;" ::"l"(global),
                 "r"(gm_shared_address(shared)), "r"(bytes), "l"(policy)
                 : "memory");
#endif
}

/* Waits until the shared memory that this thread's stores read may be written again. */
GM_DEVICE void gm_bulk_wait_read(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

/* Between accesses of a thread to shared memory and those of the engine: its writes are visible to
 * the engine, and its reads have ended. Every thread that accessed it calls this before the barrier
 * after which one of them requests a copy. */
GM_DEVICE void gm_bulk_fence(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* Prefetches bytes to the L2. */
GM_DEVICE void gm_bulk_prefetch(const void *global, uint32_t bytes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(global),
                 "r"(bytes), "l"(gm_evict_last())
                 : "memory");
#endif
}

#else

#define gm_mbarrier_init(barrier) gm_sim_mbarrier_init(barrier)
#define gm_mbarrier_expect(barrier, bytes) gm_sim_mbarrier_expect(barrier, bytes)
#define gm_mbarrier_wait(barrier, parity) gm_sim_mbarrier_wait(barrier, parity, __FILE__, __LINE__)
#define gm_evict_first() UINT64_C(0)
#define gm_bulk_load(shared, global, bytes, barrier, policy)                                       \
    ((void)(policy), gm_sim_bulk_load(shared, global, bytes, barrier, __FILE__, __LINE__))
#define gm_bulk_store(global, shared, bytes, policy)                                               \
    ((void)(policy), gm_sim_bulk_store(global, shared, bytes, __FILE__, __LINE__))
#define gm_bulk_wait_read() gm_sim_bulk_wait_read()
#define gm_bulk_fence() gm_sim_bulk_fence()
#define gm_bulk_prefetch(global, bytes) gm_sim_bulk_prefetch(global, bytes, __FILE__, __LINE__)

#endif

#endif
