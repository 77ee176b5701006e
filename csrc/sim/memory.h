/* Simulated device memory: allocations between guards, and memory of other libraries. */
#ifndef GPUMEM_SIM_MEMORY_H
#define GPUMEM_SIM_MEMORY_H

#include "gpumem.h"
#include "sim/region.h"

gm_status gm_memory_allocate(int64_t bytes, void **address);
/* Returns the size of the allocation that it frees; 0: there is none at the address. */
int64_t gm_memory_release(void *address);
/* Lets kernels use memory that another library allocated. The same memory may be adopted several
 * times, and is disowned as often. */
gm_status gm_memory_adopt(void *address, int64_t bytes);
void gm_memory_disown(void *address, int64_t bytes);
/* Bytes allocated here, without adopted memory. */
int64_t gm_memory_used(void);
gm_status gm_memory_sizes(int64_t *free_bytes, int64_t *total_bytes);

/* The regions that kernels may use, in ascending order, overlapping ones merged, with room for one
 * more. The caller frees the list; NULL when memory ran out. */
gm_region *gm_memory_snapshot(int *count);

/* Fails if something wrote just outside an allocation since the last check, and repairs the
 * guards. */
gm_status gm_memory_check_guards(const char *kernel);

#endif
