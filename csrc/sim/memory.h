/* Simulated device memory: the list of its allocations, guards around each, and memory of others.
 */
#ifndef GPUMEM_SIM_MEMORY_H
#define GPUMEM_SIM_MEMORY_H

#include "gpumem.h"

typedef struct gm_region {
    uintptr_t begin, end;
} gm_region;

gm_status gm_memory_allocate(int64_t bytes, void **address);
int64_t gm_memory_release(void *address); /* its bytes */
/* Memory of others, of which kernels may use so much; the same may be adopted several times. */
gm_status gm_memory_adopt(void *address, int64_t bytes);
void gm_memory_disown(void *address, int64_t bytes);
int64_t gm_memory_used(void); /* bytes allocated here */
gm_status gm_memory_figures(int64_t *free_bytes, int64_t *total_bytes);

/* All that kernels may use, by address and apart from each other, and room for one more, for the
 * caller to free; NULL when memory ran out. */
gm_region *gm_memory_snapshot(int *count);

/* Did something write just outside an allocation? Mends the guards and says which. */
gm_status gm_memory_check_guards(const char *kernel);

#endif
