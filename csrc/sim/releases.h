/*
 * What threads hand on through atomic operations: for each address, what one learns who reads there
 * by an atomic operation.
 */
#ifndef GPUMEM_SIM_RELEASES_H
#define GPUMEM_SIM_RELEASES_H

#include <stddef.h>

#include "sim/view.h"

typedef struct gm_release {
    uintptr_t address; /* 0: a free slot of the table */
    gm_view *device;   /* what threads of every block learn */
    gm_view *block;    /* what threads of the block with this number learn */
    int64_t block_number;
} gm_release;

typedef struct gm_releases {
    gm_release *table;
    size_t size, count; /* size: a power of two */
} gm_releases;

/* The release at an address; NULL: none. */
gm_release *gm_releases_find(gm_releases *releases, uintptr_t address);
/* The same, and makes it if there is none; NULL when memory ran out. */
gm_release *gm_releases_make(gm_releases *releases, uintptr_t address);
void gm_release_clear(gm_release *release);
void gm_releases_free(gm_releases *releases);

#endif
