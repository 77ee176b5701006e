/* Barriers, shuffles and votes. */
#ifndef GPUMEM_CUDA_WARP_H
#define GPUMEM_CUDA_WARP_H

#include <string.h>

#include "sim/cuda/language.h"

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

#endif
