/* Which memory space an address of a traced kernel belongs to. */
#ifndef GPUMEM_SIM_SPACES_H
#define GPUMEM_SIM_SPACES_H

#include "gpumem.h"
#include "sim/fiber.h"
#include "sim/module.h"
#include "sim/region.h"

typedef enum gm_space {
    GM_SPACE_GLOBAL,
    GM_SPACE_SHARED,
    GM_SPACE_CONSTANT,
    GM_SPACE_UNKNOWN, /* in no allocation: always an error */
    GM_SPACE_PRIVATE, /* stack and arguments: not observed */
    GM_SPACES,
} gm_space;

/* Where a launch keeps what; valid on the host thread that opened it. */
typedef struct gm_spaces {
    const gm_module *module;
    gm_region *global; /* allocations and __device__ variables, in ascending order */
    int global_count;
    int last_global; /* index of the region of the last global access; -1: none yet */
    gm_region shared_static, shared_dynamic;
    uintptr_t shared_span; /* every gm_shared_offset is below it */
    gm_region arguments, lane;
    const gm_fiber_pool *stacks;
} gm_spaces;

/* The launch fills module, arguments, shared_dynamic and stacks; this adds the rest. */
gm_status gm_spaces_open(gm_spaces *spaces);
void gm_spaces_close(gm_spaces *spaces);

gm_space gm_spaces_search(gm_spaces *spaces, uintptr_t address);

/* The space of an address; for GM_SPACE_GLOBAL, last_global is then its region. */
static inline gm_space gm_spaces_find(gm_spaces *spaces, uintptr_t address)
{
    if (spaces->last_global >= 0 && gm_region_holds(spaces->global[spaces->last_global], address)) {
        return GM_SPACE_GLOBAL;
    }
    return gm_spaces_search(spaces, address);
}

/* "global" */
const char *gm_space_name(gm_space space);

/* Shared memory as one array of bytes, the dynamic part first. Keeps addresses modulo 16. */
static inline uintptr_t gm_shared_offset(const gm_spaces *spaces, uintptr_t address)
{
    uintptr_t dynamic = spaces->shared_dynamic.end - spaces->shared_dynamic.begin;
    if (address - spaces->shared_dynamic.begin < dynamic) {
        return address - spaces->shared_dynamic.begin;
    }
    return ((dynamic + 15) & ~(uintptr_t)15) + address -
           (spaces->shared_static.begin & ~(uintptr_t)15);
}

#endif
