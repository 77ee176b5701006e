/*
 * The heap of a device: memory that kernels get from malloc and new, and give back.
 *
 * Like a context's heap on a device it outlives a launch and is of a fixed size. Allocations lie
 * apart from each other, and addresses are not used again while a launch is traced, so that an
 * access beside an allocation, or to freed memory, is known as such.
 */
#ifndef GPUMEM_SIM_HEAP_H
#define GPUMEM_SIM_HEAP_H

#include "gpumem.h"
#include "sim/region.h"
#include "sim/written.h"

/* All addresses that the heap may use; empty if it cannot be reserved. */
gm_region gm_heap_arena(void);
/* Which bytes of it something has written; the caller drops it. */
gm_written *gm_heap_written(void);

/* A launch begins. Returns its number. */
int64_t gm_heap_begin(bool traced);
/* It has ended; what a failed one has allocated is freed. */
void gm_heap_end(int64_t launch, bool traced, bool failed);

/* NULL: the heap is exhausted. The alignment is a power of two. */
void *gm_heap_allocate(size_t bytes, size_t alignment, int64_t launch);

typedef enum gm_heap_state {
    GM_HEAP_NONE,
    GM_HEAP_TAKEN,
    GM_HEAP_FREED,
} gm_heap_state;

/* The allocation that begins at the address. */
gm_heap_state gm_heap_begins(const void *address, gm_region *region);
/* The allocation that holds the address. */
gm_heap_state gm_heap_holds(uintptr_t address, gm_region *region);
/* The taken allocation that is nearest to an address of the arena; false: there is none. */
bool gm_heap_nearest(uintptr_t address, gm_region *region);
/* Frees a taken allocation. */
void gm_heap_release(const void *address);

#endif
