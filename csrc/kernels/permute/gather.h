/* Vectors of a result that are gathered unit by unit from rows in shared memory, which lie there as
 * in memory: of gathered_tile.h and joined_tile.h. */
#ifndef GPUMEM_PERMUTE_GATHER_H
#define GPUMEM_PERMUTE_GATHER_H

#include "permute.h"

/* A vector from the places of its units. */
GM_DEVICE uint4 permute_gather(const char *tile, const uint32_t (&at)[16])
{
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t unit[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            unit[j] = *(const uint8_t *)(tile + at[4 * i + j]);
        }
        words[i] = __byte_perm(__byte_perm(unit[0], unit[1], 0x0040),
                               __byte_perm(unit[2], unit[3], 0x0040), 0x5410);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

GM_DEVICE uint4 permute_gather(const char *tile, const uint32_t (&at)[8])
{
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t low = *(const uint16_t *)(tile + at[2 * i]);
        const uint32_t high = *(const uint16_t *)(tile + at[2 * i + 1]);
        words[i] = __byte_perm(low, high, 0x5410);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

GM_DEVICE uint4 permute_gather(const char *tile, const uint32_t (&at)[4])
{
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        words[i] = *(const uint32_t *)(tile + at[i]);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

GM_DEVICE uint4 permute_gather(const char *tile, const uint32_t (&at)[2])
{
    const uint2 low = *(const uint2 *)(tile + at[0]), high = *(const uint2 *)(tile + at[1]);
    return make_uint4(low.x, low.y, high.x, high.y);
}

GM_DEVICE uint4 permute_gather(const char *tile, const uint32_t (&at)[1])
{
    return *(const uint4 *)(tile + at[0]);
}

/* What of a vector is in the input's memory. */
GM_DEVICE void permute_load_bytes(const char *begin, const char *end, const char *from, char *to)
{
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
        if (from + i >= begin && from + i < end) {
            to[i] = from[i];
        }
    }
}

/* So many units are between a place in memory and the begin of a sector behind it. */
template <typename unit> GM_DEVICE uint32_t permute_to_sector(const char *place)
{
    return (0u - (uint32_t)(uintptr_t)place) % TRANSPOSE_SECTOR / sizeof(unit);
}

#endif
