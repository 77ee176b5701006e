/*
 * Clusters: blocks on neighbouring multiprocessors, which reach each other's shared memory. From
 * compute capability 9.0 on; the simulator has none, so kernels have no body there.
 */
#ifndef GPUMEM_CLUSTER_H
#define GPUMEM_CLUSTER_H

#include "device.h"

/* GM_KERNEL for clusters of `blocks` blocks, of which the grid is a multiple. */
#if !defined(__CUDACC__) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900)
#define GM_KERNEL_CLUSTERED(name, args_type, blocks) GM_KERNEL(name, args_type)
#else
#define GM_KERNEL_CLUSTERED(name, args_type, blocks)                                               \
    extern "C" __global__ void __cluster_dims__(blocks, 1, 1)                                      \
        name(const __grid_constant__ args_type a)
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GM_HAS_CLUSTERS 1

/* Where block `owner` of the cluster has what this block has at an address of its shared memory. */
template <int owner> GM_DEVICE uint32_t gm_cluster_address(const void *shared)
{
    uint32_t remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(remote)
        : "r"(gm_shared_address(shared)), "n"(owner));
    return remote;
}

GM_DEVICE uint32_t gm_cluster_load(uint32_t address)
{
    uint32_t found;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(found) : "r"(address) : "memory");
    return found;
}

/* All threads of the cluster arrive here before any leaves. */
GM_DEVICE void gm_cluster_barrier(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}
#endif

#endif
