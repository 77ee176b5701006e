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

#endif
