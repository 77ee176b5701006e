/* A range of addresses. */
#ifndef GPUMEM_SIM_REGION_H
#define GPUMEM_SIM_REGION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gm_region {
    uintptr_t begin, end;
} gm_region;

static inline bool gm_region_holds(gm_region region, uintptr_t address)
{
    return address - region.begin < region.end - region.begin;
}

static inline bool gm_regions_meet(gm_region a, gm_region b)
{
    return a.begin < b.end && b.begin < a.end;
}

/* So that it holds the other one too; empty ones hold nothing. */
static inline void gm_region_extend(gm_region *region, gm_region other)
{
    if (region->begin == region->end) {
        *region = other;
    } else if (other.begin < other.end) {
        region->begin = other.begin < region->begin ? other.begin : region->begin;
        region->end = other.end > region->end ? other.end : region->end;
    }
}

#endif
