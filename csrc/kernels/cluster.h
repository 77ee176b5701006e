/*
 * Clusters: blocks on neighbouring multiprocessors, which reach each other's shared memory, and to
 * which the tensor copy engine brings a box that all of them need at once. From compute capability
 * 9.0 on; the simulator has none, so kernels have no body there.
 */
#ifndef GPUMEM_CLUSTER_H
#define GPUMEM_CLUSTER_H

#include "tensor.h"

/* GM_KERNEL for clusters of `blocks` blocks, of which the grid is a multiple. */
#if !defined(__CUDACC__) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900)
#define GM_KERNEL_CLUSTERED(name, args_type, blocks) GM_KERNEL(name, args_type)
#define GM_KERNEL_CLUSTERED_BOUNDED(name, args_type, blocks, threads, resident)                    \
    GM_KERNEL_BOUNDED(name, args_type, threads, resident)
#else
#define GM_KERNEL_CLUSTERED(name, args_type, blocks)                                               \
    extern "C" __global__ void __cluster_dims__(blocks, 1, 1)                                      \
        name(const __grid_constant__ args_type a)
#define GM_KERNEL_CLUSTERED_BOUNDED(name, args_type, blocks, threads, resident)                    \
    extern "C" __global__ void __cluster_dims__(blocks, 1, 1) __launch_bounds__(threads, resident) \
        name(const __grid_constant__ args_type a)
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GM_HAS_CLUSTERS 1

/* Where block `owner` of the cluster has what this block has at an address of its shared memory. */
GM_DEVICE uint32_t gm_cluster_address(const void *shared, uint32_t owner)
{
    uint32_t remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(remote)
        : "r"(gm_shared_address(shared)), "r"(owner));
    return remote;
}

GM_DEVICE uint32_t gm_cluster_load(uint32_t address)
{
    uint32_t found;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(found) : "r"(address) : "memory");
    return found;
}

GM_DEVICE float4 gm_cluster_load4(uint32_t address)
{
    float4 found;
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(found.x), "=f"(found.y), "=f"(found.z), "=f"(found.w)
                 : "r"(address)
                 : "memory");
    return found;
}

/* All threads of the cluster arrive here before any leaves. */
GM_DEVICE void gm_cluster_barrier(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* The same in two steps, for a block that begins: no thread passes gm_cluster_wait before all of
 * the cluster have arrived, so that the other blocks run. Of what they did before, only
 * initialisations of mbarriers are seen, for which there is gm_cluster_mbarrier_fence: a release
 * would be a fence of the whole device (MEMBAR.ALL.GPU). */
GM_DEVICE void gm_cluster_arrive(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

GM_DEVICE void gm_cluster_wait(void)
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* ---- mbarriers that blocks of a cluster share: see bulk.h and wgmma.h --------------------------
 */

/* After a thread's initialisations, and before the barrier of the cluster: makes them visible to
 * the other blocks and to what their copy engines bring. */
GM_DEVICE void gm_cluster_mbarrier_fence(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* Stores a number of 4 or 8 bytes at an address in the cluster; then the mbarrier of that block,
 * also at its address in the cluster, has that many of the bytes that it expects. */
template <typename number>
GM_DEVICE void gm_cluster_send(uint32_t address, number value, uint32_t barrier)
{
    static_assert(sizeof value == 4 || sizeof value == 8, "there is no other st.async");
#define STORE(type)                                                                                \
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes" type " [%0], %1, [%2];"
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    if constexpr (sizeof value == 4) {
        asm volatile(STORE(".b32")::"r"(address), "r"((uint32_t)bits), "r"(barrier) : "memory");
    } else {
        asm volatile(STORE(".b64")::"r"(address), "l"(bits), "r"(barrier) : "memory");
    }
#undef STORE
}

/* Arrives at the mbarrier of any block, at its address in the cluster, and says that the thread has
 * read: with .release.cluster its writes would be seen there too, for a fence of the whole device
 * (MEMBAR.ALL.GPU) each time. */
GM_DEVICE void gm_cluster_mbarrier_arrive(uint32_t address)
{
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(address) : "memory");
}

/* Loads a box as gm_tensor_load does, to the same place in each block whose bit of `blocks` is set.
 * The barrier at this place in each of them gets the bytes of the box. */
GM_DEVICE void gm_tensor_load_multicast(void *shared, const gm_tensor_map *map, int x, int y,
                                        gm_mbarrier *barrier, uint16_t blocks)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(gm_shared_address(shared)),
        "l"(map), "r"(x), "r"(y), "r"(gm_shared_address(barrier)), "h"(blocks)
        : "memory");
}
#endif

#endif
