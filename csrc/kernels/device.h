/*
 * The only place where CUDA and the simulator differ.
 *
 * A kernel file includes this header, through its family's, and is plain CUDA C otherwise. nvcc
 * compiles it with CUDA's own definitions; the host compiler uses sim/simt.h instead, twice: once
 * for speed and once with every access traced.
 */
#ifndef GPUMEM_DEVICE_H
#define GPUMEM_DEVICE_H

#include <stdint.h>

#include "texture_object.h"

#ifdef __CUDACC__

#include <cuda_pipeline.h>

/* Every kernel has one argument, a struct by value, so that one launch path serves all. */
#define GM_KERNEL(name, args_type)                                                                 \
    extern "C" __global__ void name(const __grid_constant__ args_type a)

/* The same with launch bounds: at most `threads` per block, and at least `blocks` resident on a
 * multiprocessor, which limits the registers of a thread. */
#define GM_KERNEL_BOUNDED(name, args_type, threads, blocks)                                        \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                  \
        name(const __grid_constant__ args_type a)

/* Dynamic shared memory, aligned for the copy engines. */
#define GM_DYNAMIC_SHARED(type, name)                                                              \
    extern __shared__ __align__(1024) unsigned char gm_dynamic_shared[];                           \
    type *const name = reinterpret_cast<type *>(gm_dynamic_shared)

/* A device variable: its definition in a kernel file, and a line SYMBOL in the ladder. The function
 * returns what the runtime identifies it by; for a managed one that is its address. */
#define GM_DEFINE_SYMBOL(qualifiers, type, name, count)                                            \
    static qualifiers type name[count];                                                            \
    extern "C" void *name##_symbol(void)                                                           \
    {                                                                                              \
        return (void *)name;                                                                       \
    }
#define GM_CONSTANT(type, name, count) GM_DEFINE_SYMBOL(__constant__, type, name, count)
#define GM_VARIABLE(type, name, count) GM_DEFINE_SYMBOL(__device__, type, name, count)
#define GM_MANAGED(type, name, count) GM_DEFINE_SYMBOL(__device__ __managed__, type, name, count)

#else
#include "sim/simt.h"
#endif

#define GM_DEVICE static __device__ __forceinline__

/* First index and step of this thread in a grid-stride loop over one dimension. In 64 bits: 2^31
 * blocks of threads do not fit in 32. */
GM_DEVICE int64_t gm_grid_index(void)
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

GM_DEVICE int64_t gm_grid_stride(void)
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* The pointer is worked out here, not anew in each access that adds to it. */
template <typename type> GM_DEVICE void gm_settle(type *&pointer)
{
#ifdef __CUDACC__
    asm("" : "+l"(pointer));
#else
    (void)pointer;
#endif
}

/* Waits until all but the last `pending` groups of this thread's asynchronous copies are complete.
 * The toolkit's __pipeline_wait_prior handles up to 8 pending groups, and waits for all beyond. */
template <int pending> GM_DEVICE void gm_pipeline_wait_prior(void)
{
#ifndef __CUDACC__
    __pipeline_wait_prior(pending);
#elif __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

#ifdef __CUDACC__
/* An address in the shared window, which PTX instructions take. */
GM_DEVICE uint32_t gm_shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}
#endif

/* An asynchronous copy of 4 or 16 bytes to shared memory, of which the first `there` are read and
 * the rest become zeros. The toolkit's __pipeline_memcpy_async needs that number at compile time.
 */
#ifdef __CUDACC__
template <int bytes> GM_DEVICE void gm_copy_async(void *shared, const void *global, int there)
{
#if __CUDA_ARCH__ >= 800
    const uint64_t from = __cvta_generic_to_global(global);
    if (bytes == 16) { /* .cg: bypasses the L1 */
        asm volatile(
            "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(gm_shared_address(shared)),
            "l"(from), "r"(there)
            : "memory");
    } else {
        asm volatile(
            "cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(gm_shared_address(shared)),
            "l"(from), "n"(bytes), "r"(there)
            : "memory");
    }
#endif
}
#else
template <int bytes>
GM_DEVICE void gm_copy_async(void *shared, const void *global, int there,
                             const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    gm_sim_pipeline_copy(shared, global, bytes, bytes - there, file, line);
}
#endif

/* A cache policy: the L2 evicts the lines last. On an H200 it gains 1 to 3 % in a kernel that moves
 * more than the L2 holds. */
GM_DEVICE uint64_t gm_evict_last(void)
{
    uint64_t policy = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}

/* A load of 4, 8 or 16 bytes with this policy, and one of 4 bytes that makes the L2 fetch the whole
 * line of 128. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <typename type> GM_DEVICE type gm_load_kept(const type *from)
{
    const uint64_t at = __cvta_generic_to_global(from), policy = gm_evict_last();
    uint32_t words[sizeof(type) / 4];
    type found;

    if constexpr (sizeof(type) == 16) {
        asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "l"(at), "l"(policy));
    } else if constexpr (sizeof(type) == 8) {
        asm volatile("ld.global.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
                     : "=r"(words[0]), "=r"(words[1])
                     : "l"(at), "l"(policy));
    } else {
        asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;"
                     : "=r"(words[0])
                     : "l"(at), "l"(policy));
    }
    memcpy(&found, words, sizeof found);
    return found;
}

GM_DEVICE uint32_t gm_load_kept_line(const uint32_t *from)
{
    uint32_t found;
    asm volatile("ld.global.L2::cache_hint.L2::128B.u32 %0, [%1], %2;"
                 : "=r"(found)
                 : "l"(__cvta_generic_to_global(from)), "l"(gm_evict_last()));
    return found;
}
#else
#define gm_load_kept(from) (*(from))
#define gm_load_kept_line(from) (*(from))
#endif

/* gm_copy_async of 16 bytes with this policy. Where the shared address is a sum with a uniform
 * register, the ptxas of CUDA 13.0 drops the policy, which makes an illegal instruction. The xor
 * hides the sum from it: blockDim.z is 1 in every kernel here. */
#ifdef __CUDACC__
GM_DEVICE void gm_copy_async_kept(void *shared, const void *global)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t place = gm_shared_address(shared) ^ (blockDim.z - 1);
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(place),
                 "l"(__cvta_generic_to_global(global)), "l"(gm_evict_last())
                 : "memory");
#endif
}
#else
GM_DEVICE void gm_copy_async_kept(void *shared, const void *global,
                                  const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    gm_sim_pipeline_copy(shared, global, 16, 0, file, line);
}
#endif

/* Prefetches the sector of an address to the L2. */
#ifdef __CUDACC__
GM_DEVICE void gm_prefetch_l2(const void *global)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(global)));
}
#else
#define gm_prefetch_l2(global) gm_sim_prefetch(global, __FILE__, __LINE__)
#endif

/* The filtered texture at these coordinates, whose integers are the centres of texels; the
 * hardware's integers are their corners. */
#ifdef __CUDACC__
GM_DEVICE float gm_texture_fetch(const gm_texture &texture, float x, float y)
{
    return tex2D<float>((cudaTextureObject_t)texture.object, x + 0.5f, y + 0.5f);
}
#else
#define gm_texture_fetch(texture, x, y) gm_sim_texture_fetch(&(texture), x, y)
#endif

/* For a kernel whose row says `programmatic_launch`: its blocks may start before the previous
 * kernel of the stream has ended, and must not touch global memory before this. */
#ifdef __CUDACC__
GM_DEVICE void gm_wait_for_previous(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
#else
#define gm_wait_for_previous() gm_sim_wait_for_previous(__FILE__, __LINE__)
#endif

/* For such a kernel, after it has waited: the blocks of the next one may start as soon as all
 * blocks of this one have, and wait beside them, which hides the launch. */
GM_DEVICE void gm_let_next_start(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#endif
