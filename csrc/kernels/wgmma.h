/*
 * Hopper's warp group products, in thin wrappers: 128 threads multiply 64 x 8 TF32 numbers in
 * registers by 8 x 128 in shared memory, or 64 x 16 halves by 16 x 192, and continue while the
 * tensor cores work. Only compute capability 9.0 has them. The barriers here count several
 * arrivals.
 */
#ifndef GPUMEM_WGMMA_H
#define GPUMEM_WGMMA_H

#include "bulk.h"

#ifdef __CUDACC__

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define GM_HAS_WGMMA 1
#else
#define GM_HAS_WGMMA 0
#endif

/* An mbarrier whose phase completes after `count` arrivals and the expected bytes. */
GM_DEVICE void gm_mbarrier_init_count(gm_mbarrier *barrier, uint32_t count)
{
#if GM_HAS_WGMMA
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\t"
                 "fence.proxy.async.shared::cta;" ::"r"(gm_shared_address(barrier)),
                 "r"(count)
                 : "memory");
#endif
}

GM_DEVICE void gm_mbarrier_arrive(gm_mbarrier *barrier)
{
#if GM_HAS_WGMMA
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(gm_shared_address(barrier))
                 : "memory");
#endif
}

/* Barriers for some warps of a block: 16 of them, of which __syncthreads() is number 0. Those that
 * arrive do not wait. */
GM_DEVICE void gm_barrier_sync(int barrier, int threads)
{
#if GM_HAS_WGMMA
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
#endif
}

GM_DEVICE void gm_barrier_arrive(int barrier, int threads)
{
#if GM_HAS_WGMMA
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
#endif
}

/* Warp groups that need few registers give some to those that need many. */
template <int count> GM_DEVICE void gm_fewer_registers(void)
{
#if GM_HAS_WGMMA
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
#endif
}

template <int count> GM_DEVICE void gm_more_registers(void)
{
#if GM_HAS_WGMMA
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
#endif
}

/* Describes an operand in shared memory: rows of 128 bytes, swizzled, in groups of eight. */
GM_DEVICE uint64_t gm_wgmma_describe(const void *shared)
{
#if GM_HAS_WGMMA
    return (uint64_t)(gm_shared_address(shared) & 0x3ffff) >> 4 | (uint64_t)1 << 16 |
           (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
#else
    return 0;
#endif
}

/* Before the first product of a sequence: orders earlier register writes before its reads. */
GM_DEVICE void gm_wgmma_fence(void)
{
#if GM_HAS_WGMMA
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

GM_DEVICE void gm_wgmma_commit(void)
{
#if GM_HAS_WGMMA
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/* Waits until all products but those of the last `pending` commits are complete. */
template <int pending> GM_DEVICE void gm_wgmma_wait(void)
{
#if GM_HAS_WGMMA
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
#endif
}

/* Makes the compiler keep these registers up to here, and not move their uses across. */
template <int count> GM_DEVICE void gm_wgmma_hold(float (&value)[count])
{
#pragma unroll
    for (int i = 0; i < count; i++) {
        asm volatile("" : "+f"(value[i])::"memory");
    }
}

/* d (64 x 128) = or += a (64 x 8, in registers) times b (8 x 128, in shared memory), in TF32: the
 * low 13 bits of each number are ignored. */
GM_DEVICE void gm_wgmma_tf32(float (&d)[64], const float (&a)[4], uint64_t b, int accumulate)
{
#if GM_HAS_WGMMA
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "setp.ne.b32 p, %69, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, "
                 "%24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, p, 1, 1;\n\t"
                 "}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                   "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                   "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
                   "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                   "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
                   "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
                   "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                   "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]),
                   "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
                   "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])),
                   "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])), "l"(b), "r"(accumulate));
#endif
}

/* d (64 x 192) = or += a (64 x 16) times b (16 x 192), halves, both in shared memory with the depth
 * contiguous. */
GM_DEVICE void gm_wgmma_half(float (&d)[96], uint64_t a, uint64_t b, int accumulate)
{
#if GM_HAS_WGMMA
    asm volatile(
        "{\n\t"
        ".reg .pred p;\n\t"
        "setp.ne.b32 p, %98, 0;\n\t"
        "wgmma.mma_async.sync.aligned.m64n192k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, "
        "%40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, "
        "%72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, "
        "%88, %89, %90, %91, %92, %93, %94, %95}, "
        "%96, %97, p, 1, 1, 0, 0;\n\t"
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
          "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
          "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
          "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
          "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
        : "l"(a), "l"(b), "r"(accumulate));
#endif
}

#else

#define GM_HAS_WGMMA 0 /* the simulator has no tensor cores */

#endif

#endif
