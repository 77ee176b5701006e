/*
 * The only seam between CUDA and the simulator.
 *
 * A kernel file includes this (through its family's header) and is then plain CUDA C. nvcc
 * sees CUDA; the host compiler sees sim/simt.h, once for plain speed and once traced.
 */
#ifndef GPUMEM_DEVICE_H
#define GPUMEM_DEVICE_H

#include <stdint.h>

#ifdef __CUDACC__

#include <cuda_pipeline.h>

/* One struct by value is every kernel's argument list, so that one launch path serves all. */
#define GM_KERNEL(name, args_type)                                                                 \
    extern "C" __global__ void name(const __grid_constant__ args_type a)

/* The same for blocks of so many threads, that many of which share a multiprocessor: the compiler
 * is held to the registers that they have. */
#define GM_KERNEL_BOUNDED(name, args_type, threads, blocks)                                        \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                  \
        name(const __grid_constant__ args_type a)

/* Dynamic shared memory, aligned for the copy engines. */
#define GM_DYNAMIC_SHARED(type, name)                                                              \
    extern __shared__ __align__(1024) unsigned char gm_dynamic_shared[];                           \
    type *const name = reinterpret_cast<type *>(gm_dynamic_shared)

#else
#include "sim/simt.h"
#endif

#define GM_DEVICE static __device__ __forceinline__

/* First element of this thread, and the step to its next, in a grid-stride loop over one
 * dimension. 64 bits: a grid of 2^31 blocks times its threads does not fit in 32. */
GM_DEVICE int64_t gm_grid_index(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

GM_DEVICE int64_t gm_grid_stride(void)
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* Until all but the last `pending` groups of this thread's asynchronous copies are there. The
 * toolkit's __pipeline_wait_prior knows no more than 8, and waits for all others. */
template <int pending> GM_DEVICE void gm_pipeline_wait_prior(void)
{
#ifndef __CUDACC__
    __pipeline_wait_prior(pending);
#elif __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

/* Ask the L2 for the sector of an address. */
#ifdef __CUDACC__
GM_DEVICE void gm_prefetch_l2(const void *global)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(global)));
}
#else
#define gm_prefetch_l2(global) gm_sim_prefetch(global, __FILE__, __LINE__)
#endif

/* First act of a kernel whose row says `early`: its blocks may be there before the kernel
 * ahead of it in the stream has ended, and must not touch memory before that. */
GM_DEVICE void gm_wait_for_previous(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
