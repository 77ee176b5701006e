/*
 * Which bytes of an allocation something has written since it was allocated: host copies, fills and
 * traced kernels are followed byte by byte; a plain kernel may have written anything.
 */
#ifndef GPUMEM_SIM_WRITTEN_H
#define GPUMEM_SIM_WRITTEN_H

#include <stdatomic.h>

#include "sim/region.h"

typedef struct gm_written {
    gm_region region;
    atomic_int users;
    bool all;
    int64_t plain_launches; /* so many before it was allocated */
    uintptr_t prefix;       /* all before it is written: most arrays are from start to end */
    unsigned char *bits;    /* of what else is: one per byte; NULL: nothing */
} gm_written;

/* NULL when memory ran out. The caller is its user. */
gm_written *gm_written_create(gm_region region);
gm_written *gm_written_keep(gm_written *written);
void gm_written_drop(gm_written *written);

/* Bytes outside the region are left out. When memory runs out, all counts as written. */
void gm_written_add(gm_written *written, uintptr_t begin, uintptr_t end);
/* How many of these bytes nothing has written; they lie in the region. */
uint32_t gm_written_missing(const gm_written *written, uintptr_t begin, uintptr_t end);

/* A plain kernel runs: it may write to all memory that there is. */
void gm_written_by_plain_launch(void);

#endif
