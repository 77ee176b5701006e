/* Which memory space an address of a traced kernel belongs to. */
#ifndef GPUMEM_SIM_SPACES_H
#define GPUMEM_SIM_SPACES_H

#include "gpumem.h"
#include "sim/fiber.h"
#include "sim/memory.h"
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

/* Memory of a block, on the host thread that runs it. */
typedef struct gm_block_memory {
    gm_region shared_static, shared_dynamic;
    gm_region lane;
    const gm_fiber_pool *stacks;
} gm_block_memory;

/* Where a launch, and the block that runs now, keep what. */
typedef struct gm_spaces {
    const gm_module *module;
    gm_region *global;     /* allocations and __device__ variables, in ascending order */
    gm_memory_area *areas; /* what is known of each */
    int global_count;
    int heap;        /* index of the region of the whole heap; -1: none */
    int last_global; /* index of the region of the last global access; -1: none yet */
    gm_block_memory block;
    uintptr_t shared_span;  /* every gm_shared_offset is below it */
    uintptr_t shared_first; /* start of shared_static of the launch's first block */
    gm_region arguments;
} gm_spaces;

/* The launch fills module and arguments; this adds the rest but for the block. */
gm_status gm_spaces_open(gm_spaces *spaces, size_t shared_dynamic_bytes);
void gm_spaces_close(gm_spaces *spaces);

/* The memory of the block that the calling host thread is about to run. */
gm_block_memory gm_spaces_of_block(const gm_module *module, gm_region shared_dynamic,
                                   const gm_fiber_pool *stacks);

/*
 * The space of an address, and a region around it in which the answer is the same; an empty region
 * if there is none. The running thread asks, on its own stack. For GM_SPACE_GLOBAL, last_global is
 * then the index of the region.
 */
gm_space gm_spaces_find(gm_spaces *spaces, uintptr_t address, gm_region *region);

/* The allocation or variable that holds an address of the region of the last global access. */
gm_region gm_spaces_object(const gm_spaces *spaces, uintptr_t address);

/* "global" */
const char *gm_space_name(gm_space space);

/* Shared memory as one array of bytes, the dynamic part first. Keeps addresses modulo 16. */
static inline uintptr_t gm_shared_offset(const gm_spaces *spaces, uintptr_t address)
{
    const gm_block_memory *block = &spaces->block;
    uintptr_t dynamic = block->shared_dynamic.end - block->shared_dynamic.begin;
    if (address - block->shared_dynamic.begin < dynamic) {
        return address - block->shared_dynamic.begin;
    }
    return ((dynamic + 15) & ~(uintptr_t)15) + address -
           (block->shared_static.begin & ~(uintptr_t)15);
}

/* Finds the offset of a range if it lies in one part of shared memory. */
static inline bool gm_shared_range(const gm_spaces *spaces, uintptr_t begin, uintptr_t end,
                                   uintptr_t *offset)
{
    *offset = gm_shared_offset(spaces, begin);
    return gm_shared_offset(spaces, end - 1) - *offset == end - 1 - begin;
}

/* The address at which the launch's first block has what this block has at `address`: reports do
 * not depend on the host thread that runs a block. */
static inline uintptr_t gm_reported_address(const gm_spaces *spaces, uintptr_t address)
{
    gm_region variables = spaces->block.shared_static;
    bool variable = gm_region_holds(variables, address);
    return variable ? address - variables.begin + spaces->shared_first : address;
}

#endif
