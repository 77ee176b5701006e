/*
 * CUDA C for the host compiler: enough of it, under CUDA's names, that unmodified kernel sources
 * run as threads of the simulator.
 */
#ifndef GPUMEM_SIMT_H
#define GPUMEM_SIMT_H

#include <math.h>
#include <string.h>

#include "sim/bulk.h"
#include "sim/lane.h"
#include "sim/pipeline.h"
#include "sim/tensor.h"
#include "sim/texture.h"

#ifdef GM_BUILD_TRACED
#define GM_SYMBOL(name) gm_traced_##name
#define GM_UNTRACED __attribute__((no_sanitize_thread))
/* Hides a value from the optimiser, which would otherwise load only the members that are used. */
#define GM_WHOLE(value) __asm__("" : "+m"(value))
#define GM_THREAD_END() gm_sim_thread_end()
#else
#define GM_SYMBOL(name) gm_plain_##name
#define GM_UNTRACED
#define GM_WHOLE(value) ((void)0)
#define GM_THREAD_END() ((void)0)
#endif

/* The body takes its arguments by value, as on a device: they are private and never traced. */
#define GM_KERNEL(name, args_type)                                                                 \
    static void name(const args_type a, const gm_lane_state &gm_lane);                             \
    extern "C" GM_UNTRACED __attribute__((visibility("hidden"))) void GM_SYMBOL(name)(             \
        const void *args, const gm_lane_state *lane)                                               \
    {                                                                                              \
        name(*static_cast<const args_type *>(args), *lane);                                        \
        GM_THREAD_END();                                                                           \
    }                                                                                              \
    static void name(const args_type a, [[maybe_unused]] const gm_lane_state &gm_lane)

#define GM_KERNEL_BOUNDED(name, args_type, threads, blocks) GM_KERNEL(name, args_type)

/* In sections, so that the trace can tell their addresses from others. */
#define GM_DEFINE_SYMBOL(kind, type, name, count)                                                  \
    static type name[count] __attribute__((section(kind), used));                                  \
    extern "C" GM_HIDDEN void *GM_SYMBOL(name##_symbol)(void)                                      \
    {                                                                                              \
        return name;                                                                               \
    }
#define GM_CONSTANT(type, name, count) GM_DEFINE_SYMBOL("gm_constant", type, name, count)
#define GM_VARIABLE(type, name, count) GM_DEFINE_SYMBOL("gm_variable", type, name, count)
#define GM_MANAGED GM_VARIABLE

#define GM_DYNAMIC_SHARED(type, name)                                                              \
    type *const name = reinterpret_cast<type *>(gm_lane.dynamic_shared)

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
/* A copy per host thread, since a host thread runs one block at a time. */
#define __shared__ static thread_local
#ifndef __restrict__
#define __restrict__ __restrict
#endif

#define threadIdx (gm_lane.thread_index)
#define blockIdx (gm_lane.block_index)
#define blockDim (gm_lane.block_dim)
#define gridDim (gm_lane.grid_dim)
#define warpSize 32

typedef gm_index uint3;
typedef gm_index dim3;

/* ---- vector types: loaded and stored in one access ------------------------------------- */

template <typename type, int count> struct gm_members;
template <typename type> struct gm_members<type, 1> {
    type x;
};
template <typename type> struct gm_members<type, 2> {
    type x, y;
};
template <typename type> struct gm_members<type, 4> {
    type x, y, z, w;
};

template <typename type, int count>
struct __attribute__((aligned(sizeof(type) * count))) gm_vector : gm_members<type, count> {
    typedef type whole_type __attribute__((vector_size(sizeof(type) * count),
                                           aligned(sizeof(type) * count), may_alias));

    /* constexpr, so that __shared__ arrays need no code to initialise them: GCC would keep a flag
     * beside them that says whether the code has run. */
    constexpr gm_vector() : gm_members<type, count>()
    {
    }
    __forceinline__ gm_vector(const gm_vector &other)
    {
        *this = other;
    }
    __forceinline__ gm_vector &operator=(const gm_vector &other)
    {
        whole_type whole = *reinterpret_cast<const whole_type *>(&other);
        GM_WHOLE(whole);
        *reinterpret_cast<whole_type *>(this) = whole;
        return *this;
    }
};

#define GM_VECTOR_TYPES(name, type)                                                                \
    typedef gm_vector<type, 1> name##1;                                                            \
    typedef gm_vector<type, 2> name##2;                                                            \
    typedef gm_vector<type, 4> name##4;                                                            \
    static inline name##2 make_##name##2(type x, type y)                                           \
    {                                                                                              \
        name##2 made;                                                                              \
        made.x = x, made.y = y;                                                                    \
        return made;                                                                               \
    }                                                                                              \
    static inline name##4 make_##name##4(type x, type y, type z, type w)                           \
    {                                                                                              \
        name##4 made;                                                                              \
        made.x = x, made.y = y, made.z = z, made.w = w;                                            \
        return made;                                                                               \
    }

GM_VECTOR_TYPES(char, signed char)
GM_VECTOR_TYPES(uchar, unsigned char)
GM_VECTOR_TYPES(short, short)
GM_VECTOR_TYPES(ushort, unsigned short)
GM_VECTOR_TYPES(int, int)
GM_VECTOR_TYPES(uint, unsigned)
GM_VECTOR_TYPES(float, float)

typedef gm_vector<long long, 2> longlong2;
typedef gm_vector<unsigned long long, 2> ulonglong2;
typedef gm_vector<double, 2> double2;

static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y)
{
    ulonglong2 made;
    made.x = x;
    made.y = y;
    return made;
}

static inline double2 make_double2(double x, double y)
{
    double2 made;
    made.x = x, made.y = y;
    return made;
}

/* ---- loads and stores with a cache hint: the same access without one ------------------- */

#define GM_LOAD(name)                                                                              \
    template <typename type> static __forceinline__ type name(const type *address)                 \
    {                                                                                              \
        return *address;                                                                           \
    }
#define GM_STORE(name)                                                                             \
    template <typename type> static __forceinline__ void name(type *address, type value)           \
    {                                                                                              \
        *address = value;                                                                          \
    }

GM_LOAD(__ldg)
GM_LOAD(__ldca)
GM_LOAD(__ldcg)
GM_LOAD(__ldcs)
GM_LOAD(__ldlu)
GM_LOAD(__ldcv)
GM_STORE(__stwb)
GM_STORE(__stcg)
GM_STORE(__stcs)
GM_STORE(__stwt)

/* ---- barriers, shuffles and votes ------------------------------------------------------- */

#define __syncthreads() gm_sim_barrier(__FILE__, __LINE__)

/* Default arguments are evaluated at the call, and so name its line. */
static inline void __syncwarp(unsigned mask = 0xffffffffu, const char *file = __builtin_FILE(),
                              int line = __builtin_LINE())
{
    gm_sim_exchange(mask, 0, file, line);
}

/* Any type of up to 8 bytes is exchanged as 64 bits. */
template <typename type>
static inline type gm_shuffle(unsigned mask, type value, unsigned source, bool valid,
                              const char *file, int line)
{
    static_assert(sizeof(type) <= sizeof(uint64_t), "shuffles move at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(type));
    gm_sim_exchange(mask, bits, file, line);
    if (valid) {
        bits = gm_sim_exchanged(source);
        memcpy(&value, &bits, sizeof(type));
    }
    return value;
}

template <typename type>
static inline type gm_shuffle_index(const char *file, int line, unsigned mask, type value,
                                    int index, int width = warpSize)
{
    unsigned lane = gm_sim_lane();
    unsigned source = (lane & ~(unsigned)(width - 1)) | ((unsigned)index & (unsigned)(width - 1));
    return gm_shuffle(mask, value, source, true, file, line);
}

template <typename type>
static inline type gm_shuffle_up(const char *file, int line, unsigned mask, type value,
                                 unsigned delta, int width = warpSize)
{
    unsigned lane = gm_sim_lane();
    bool valid = (lane & (unsigned)(width - 1)) >= delta;
    return gm_shuffle(mask, value, lane - delta, valid, file, line);
}

template <typename type>
static inline type gm_shuffle_down(const char *file, int line, unsigned mask, type value,
                                   unsigned delta, int width = warpSize)
{
    unsigned lane = gm_sim_lane();
    bool valid = (lane & (unsigned)(width - 1)) + delta < (unsigned)width;
    return gm_shuffle(mask, value, lane + delta, valid, file, line);
}

template <typename type>
static inline type gm_shuffle_xor(const char *file, int line, unsigned mask, type value, int lanes,
                                  int width = warpSize)
{
    unsigned lane = gm_sim_lane();
    unsigned source = lane ^ (unsigned)lanes;
    bool valid = source < (lane & ~(unsigned)(width - 1)) + (unsigned)width;
    return gm_shuffle(mask, value, source, valid, file, line);
}

static inline unsigned gm_ballot(const char *file, int line, unsigned mask, int predicate)
{
    gm_sim_exchange(mask, predicate != 0, file, line);
    unsigned votes = 0;
    for (unsigned lane = 0; lane < warpSize; lane++) {
        if (mask >> lane & 1 && gm_sim_exchanged(lane)) {
            votes |= 1u << lane;
        }
    }
    return votes;
}

#define __shfl_sync(...) gm_shuffle_index(__FILE__, __LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) gm_shuffle_up(__FILE__, __LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) gm_shuffle_down(__FILE__, __LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) gm_shuffle_xor(__FILE__, __LINE__, __VA_ARGS__)
#define __ballot_sync(mask, predicate) gm_ballot(__FILE__, __LINE__, mask, predicate)
#define __any_sync(mask, predicate) (gm_ballot(__FILE__, __LINE__, mask, predicate) != 0)
#define __all_sync(mask, predicate) (gm_ballot(__FILE__, __LINE__, mask, predicate) == (mask))

/* ---- bits ------------------------------------------------------------------------------- */

/* Four of the eight bytes of b:a, selected by the hexadecimal digits of the selector. */
static __forceinline__ unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned picked = 0;
    for (int i = 0; i < 4; i++) {
        picked |= (unsigned)(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    }
    return picked;
}

/* The low word of high:low shifted right by 0 to 31 bits. */
static __forceinline__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (bits & 31));
}

/* The high word of high:low shifted left by 0 to 31 bits. */
static __forceinline__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned bits)
{
    return (unsigned)((((uint64_t)high << 32 | low) << (bits & 31)) >> 32);
}

/* ---- asynchronous copies: <cuda_pipeline.h> --------------------------------------------- */

static __forceinline__ void __pipeline_memcpy_async(void *shared, const void *global, size_t size,
                                                    size_t zfill = 0,
                                                    const char *file = __builtin_FILE(),
                                                    int line = __builtin_LINE())
{
    gm_sim_pipeline_copy(shared, global, size, zfill, file, line);
}

static __forceinline__ void __pipeline_commit(const char *file = __builtin_FILE(),
                                              int line = __builtin_LINE())
{
    gm_sim_pipeline_commit(file, line);
}

static __forceinline__ void __pipeline_wait_prior(size_t pending,
                                                  const char *file = __builtin_FILE(),
                                                  int line = __builtin_LINE())
{
    gm_sim_pipeline_wait(pending, file, line);
}

/* ---- arithmetic ------------------------------------------------------------------------- */

template <typename type> static __forceinline__ type min(type a, type b)
{
    return b < a ? b : a;
}

template <typename type> static __forceinline__ type max(type a, type b)
{
    return a < b ? b : a;
}

#endif
