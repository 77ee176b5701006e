/* Simulated device memory: allocations between guards, and memory of other libraries. */
#ifndef GPUMEM_SIM_MEMORY_H
#define GPUMEM_SIM_MEMORY_H

#include "gpumem.h"
#include "sim/region.h"
#include "sim/written.h"

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

/* Gives memory that is kept for later allocations back to the host. */
void gm_memory_trim(void);

/* The host, or another library, writes there, or may do so from now on. */
void gm_memory_note_write(const void *address, int64_t bytes);

/* Memory that kernels may use. */
typedef struct gm_memory_area {
    gm_region region;
    const char *name;    /* of a variable; NULL: it is not one */
    gm_written *written; /* NULL: counts as written; the list's owner drops it */
} gm_memory_area;

/* All memory that kernels may use, in ascending order, overlapping areas merged, with room for
 * `more`. The caller frees the list; NULL when memory ran out. */
gm_memory_area *gm_memory_snapshot(int *count, int more);

/* Was there an allocation at this address, which has been freed? */
bool gm_memory_was_freed(uintptr_t address, gm_region *freed);

/* Fails if something wrote just outside an allocation since the last check, and repairs the
 * guards. */
gm_status gm_memory_check_guards(const char *kernel);

#endif
