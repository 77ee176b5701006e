/* Barriers, shuffles, votes, matches and reductions of a warp. */
#ifndef GPUMEM_CUDA_WARP_H
#define GPUMEM_CUDA_WARP_H

#include "sim/cuda/calls.h"

static __forceinline__ void __syncthreads(GM_PLACE)
{
    gm_sim_barrier(file, line);
}

static __forceinline__ int __syncthreads_count(int predicate, GM_PLACE)
{
    return gm_sim_barrier_reduce(predicate, GM_COUNT, file, line);
}

static __forceinline__ int __syncthreads_and(int predicate, GM_PLACE)
{
    return gm_sim_barrier_reduce(predicate, GM_ALL, file, line);
}

static __forceinline__ int __syncthreads_or(int predicate, GM_PLACE)
{
    return gm_sim_barrier_reduce(predicate, GM_ANY, file, line);
}

static __forceinline__ void __syncwarp(unsigned mask = 0xffffffffu, GM_PLACE)
{
    gm_sim_exchange(mask, 0, file, line);
}

/* ---- lanes ------------------------------------------------------------------------------ */

static __forceinline__ unsigned gm_lanes_below(unsigned lane)
{
    return lane < 32 ? (1u << lane) - 1 : ~0u;
}

/* The number of this thread in its block. */
static __forceinline__ unsigned gm_thread_number(void)
{
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

static __forceinline__ unsigned gm_block_threads(void)
{
    return blockDim.x * blockDim.y * blockDim.z;
}

/* The lanes that this thread's warp has: the last warp of a block may have less than 32. */
static __forceinline__ unsigned gm_lanes_present(void)
{
    unsigned threads = gm_block_threads();
    return threads % 32 == 0 ? ~0u : gm_lanes_below(threads - (gm_thread_number() & ~31u));
}

static __forceinline__ unsigned __activemask(GM_PLACE)
{
    return gm_sim_active_lanes(file, line);
}

/* ---- shuffles --------------------------------------------------------------------------- */

/* Does the source lane take part? Absent lanes are above all that are there. A lane that its own
 * mask leaves out fails when it meets the others. */
static __forceinline__ bool gm_takes_part(unsigned mask, unsigned source, unsigned lane)
{
    return source == lane || !(mask >> lane & 1) ||
           (mask >> source & 1 && (source < lane || gm_lanes_present() >> source & 1));
}

static inline void gm_fail_source(const char *file, int line)
{
    gm_sim_fault_of(GM_RULE_WARP, file, line,
                    "a shuffle reads a lane that does not take part: the mask does not name it, or "
                    "the block has no such thread");
}

/* Any type is exchanged in words of 64 bits. */
template <typename type>
GM_STEP type gm_shuffle_words(unsigned mask, type value, unsigned source, const char *file,
                              int line)
{
    uint64_t words[(sizeof(type) + 7) / 8] = {};
    __builtin_memcpy(words, (const void *)&value, sizeof value);
    for (uint64_t &word : words) {
        gm_sim_exchange(mask, word, file, line);
        word = gm_sim_exchanged(source);
    }
    __builtin_memcpy((void *)&value, words, sizeof value);
    return value;
}

template <typename type>
static __forceinline__ type gm_shuffle(unsigned mask, type value, unsigned source, const char *file,
                                       int line)
{
    if constexpr (sizeof(type) > sizeof(uint64_t)) {
        return gm_shuffle_words(mask, value, source, file, line);
    } else {
        uint64_t bits = gm_bytes_as<uint64_t>(value);
        gm_sim_exchange(mask, bits, file, line);
        bits = gm_sim_exchanged(source);
        __builtin_memcpy((void *)&value, &bits, sizeof value);
        return value;
    }
}

static __forceinline__ unsigned gm_segment(unsigned lane, int width, const char *file, int line)
{
    if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
        gm_sim_fault(file, line, "the width of a shuffle has to be a power of two up to 32");
    }
    return lane & ~(unsigned)(width - 1);
}

/* The source lanes of the four shuffles, each with its own rule for what lies outside. */

static inline unsigned gm_source_index(unsigned mask, int index, int width, const char *file,
                                       int line)
{
    unsigned lane = gm_sim_lane(), segment = gm_segment(lane, width, file, line);
    unsigned source = segment | ((unsigned)index & (unsigned)(width - 1));
    if (!gm_takes_part(mask, source, lane)) {
        gm_fail_source(file, line);
    }
    return source;
}

static inline unsigned gm_source_xor(unsigned mask, int lanes, int width, const char *file,
                                     int line)
{
    unsigned lane = gm_sim_lane(), segment = gm_segment(lane, width, file, line);
    unsigned source = (lane ^ (unsigned)lanes) & 31;
    source = source < segment + (unsigned)width ? source : lane;
    if (!gm_takes_part(mask, source, lane)) {
        gm_fail_source(file, line);
    }
    return source;
}

/*
 * A reduction over part of a warp shuffles down without a width, and drops what the upper lanes get
 * from beyond the mask. Only if the lowest lane, or one with other lanes above its source, gets
 * such a value, it is an error. Shuffles up have the same rule, mirrored.
 */
static inline unsigned gm_source_down(unsigned mask, unsigned delta, int width, const char *file,
                                      int line)
{
    unsigned lane = gm_sim_lane(), segment = gm_segment(lane, width, file, line);
    unsigned past = segment + (unsigned)width;
    unsigned source = delta < past - lane ? lane + delta : lane;
    if (gm_takes_part(mask, source, lane)) {
        return source;
    }
    unsigned members = mask & gm_lanes_present() & gm_lanes_below(past) & ~gm_lanes_below(segment);
    if (!(members & gm_lanes_below(lane)) || members & ~gm_lanes_below(source)) {
        gm_fail_source(file, line);
    }
    return lane;
}

static inline unsigned gm_source_up(unsigned mask, unsigned delta, int width, const char *file,
                                    int line)
{
    unsigned lane = gm_sim_lane(), segment = gm_segment(lane, width, file, line);
    unsigned past = segment + (unsigned)width;
    unsigned source = delta <= lane - segment ? lane - delta : lane;
    if (gm_takes_part(mask, source, lane)) {
        return source;
    }
    unsigned members = mask & gm_lanes_present() & gm_lanes_below(past) & ~gm_lanes_below(segment);
    if (!(members & ~gm_lanes_below(lane + 1)) || members & gm_lanes_below(source)) {
        gm_fail_source(file, line);
    }
    return lane;
}

#define GM_SHUFFLE(name, source, which)                                                            \
    template <typename type>                                                                       \
    static inline type name(unsigned mask, type value, which, int width = 32, GM_PLACE)            \
    {                                                                                              \
        static_assert(sizeof(type) <= 8, "shuffles move at most 8 bytes");                         \
        return gm_shuffle(mask, value, source(mask, from, width, file, line), file, line);         \
    }

GM_SHUFFLE(__shfl_sync, gm_source_index, int from)
GM_SHUFFLE(__shfl_up_sync, gm_source_up, unsigned from)
GM_SHUFFLE(__shfl_down_sync, gm_source_down, unsigned from)
GM_SHUFFLE(__shfl_xor_sync, gm_source_xor, int from)

/* ---- votes and matches ------------------------------------------------------------------ */

/* The lanes of the mask that gave this value. */
static inline unsigned gm_lanes_with(unsigned mask, uint64_t value)
{
    unsigned found = 0;
    for (unsigned rest = mask & gm_lanes_present(); rest; rest &= rest - 1) {
        unsigned lane = (unsigned)__builtin_ctz(rest);
        found |= (unsigned)(gm_sim_exchanged(lane) == value) << lane;
    }
    return found;
}

static inline unsigned __ballot_sync(unsigned mask, int predicate, GM_PLACE)
{
    gm_sim_exchange(mask, predicate != 0, file, line);
    return gm_lanes_with(mask, 1);
}

static inline int __any_sync(unsigned mask, int predicate, GM_PLACE)
{
    return __ballot_sync(mask, predicate, file, line) != 0;
}

static inline int __all_sync(unsigned mask, int predicate, GM_PLACE)
{
    return __ballot_sync(mask, predicate == 0, file, line) == 0;
}

template <typename type>
static inline unsigned __match_any_sync(unsigned mask, type value, GM_PLACE)
{
    static_assert(sizeof(type) <= 8, "matches compare at most 8 bytes");
    uint64_t bits = gm_bytes_as<uint64_t>(value);
    gm_sim_exchange(mask, bits, file, line);
    return gm_lanes_with(mask, bits);
}

template <typename type>
static inline unsigned __match_all_sync(unsigned mask, type value, int *all, GM_PLACE)
{
    bool same = __match_any_sync(mask, value, file, line) == (mask & gm_lanes_present());
    *all = same;
    return same ? mask : 0;
}

/* ---- reductions ------------------------------------------------------------------------- */

#define GM_REDUCE_SYNC(operation, type, combined)                                                  \
    static inline type __reduce_##operation##_sync(unsigned mask, type value, GM_PLACE)            \
    {                                                                                              \
        gm_sim_exchange(mask, (unsigned)value, file, line);                                        \
        unsigned rest = mask & gm_lanes_present() & ~(1u << gm_sim_lane());                        \
        for (; rest; rest &= rest - 1) {                                                           \
            type other = (type)(unsigned)gm_sim_exchanged((unsigned)__builtin_ctz(rest));          \
            value = combined;                                                                      \
        }                                                                                          \
        return value;                                                                              \
    }

GM_REDUCE_SYNC(add, unsigned, value + other)
GM_REDUCE_SYNC(add, int, (int)((unsigned)value + (unsigned)other))
GM_REDUCE_SYNC(min, unsigned, other < value ? other : value)
GM_REDUCE_SYNC(min, int, other < value ? other : value)
GM_REDUCE_SYNC(max, unsigned, other > value ? other : value)
GM_REDUCE_SYNC(max, int, other > value ? other : value)
GM_REDUCE_SYNC(and, unsigned, value &other)
GM_REDUCE_SYNC(or, unsigned, value | other)
GM_REDUCE_SYNC(xor, unsigned, value ^ other)

/* ---- as before compute capability 7.0 --------------------------------------------------- */

#define GM_REFUSE_LEGACY(name)                                                                     \
    GM_REFUSE_FUNCTION(name, "gone since compute capability 7.0: use " #name                       \
                             "_sync with a mask of the lanes that take part")

GM_REFUSE_LEGACY(__shfl)
GM_REFUSE_LEGACY(__shfl_up)
GM_REFUSE_LEGACY(__shfl_down)
GM_REFUSE_LEGACY(__shfl_xor)
GM_REFUSE_LEGACY(__ballot)
GM_REFUSE_LEGACY(__any)
GM_REFUSE_LEGACY(__all)

#endif
