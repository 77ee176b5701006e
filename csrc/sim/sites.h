/* The source lines at which traced kernels access memory. */
#ifndef GPUMEM_SIM_SITES_H
#define GPUMEM_SIM_SITES_H

#include "sim/hooks.h"
#include "sim/module.h"
#include "sim/spaces.h"

/* One instruction that accesses one space; several may stand on one source line. */
typedef struct gm_site {
    const void *address; /* return address of the call that reports the access */
    const char *file;
    int line;
    gm_space space;
    gm_kind kind;
    gm_actor actor;
    gm_service service;
    bool vector;    /* moves a vector as a whole, which has no padding */
    int width;      /* bytes of the widest access in a request; 0: not part of any request */
    char *counters; /* of every observer, see observer.h */
} gm_site;

typedef struct gm_sites {
    gm_site *list; /* in the order of their first accesses */
    int count, room;
    int32_t *table; /* hash of (address, space, kind) to index in list + 1 */
    int table_size;
    size_t counter_bytes; /* per site */
} gm_sites;

/* Adds a site, of which this is the first access. Returns its index; -1 when memory ran out. */
int gm_sites_add(gm_sites *sites, const gm_module *module, gm_space space,
                 const gm_access_call *call);
void gm_sites_free(gm_sites *sites);

/* Where the search of the table begins. */
static inline uint32_t gm_site_slot(const void *address, gm_space space, gm_kind kind)
{
    uint64_t key = (uint64_t)(uintptr_t)address * 16 + (uint64_t)space * 4 + (uint64_t)kind;
    return (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

/* Index of an access's site, which is added if it is new; -1 when memory ran out. */
static inline int gm_sites_find(gm_sites *sites, const gm_module *module, gm_space space,
                                const gm_access_call *call)
{
    uint32_t mask = (uint32_t)sites->table_size - 1;
    uint32_t slot = gm_site_slot(call->code, space, call->kind) & mask;
    for (; sites->table_size && sites->table[slot]; slot = (slot + 1) & mask) {
        const gm_site *site = &sites->list[sites->table[slot] - 1];
        /* Two calls of a simulator's function may share a return address, but give their lines. */
        if (site->address == call->code && site->space == space && site->kind == call->kind &&
            site->service == call->service && (!call->file || site->line == call->line)) {
            return sites->table[slot] - 1;
        }
    }
    return gm_sites_add(sites, module, space, call);
}

/* "load", "store", "prefetch", "atomic" */
const char *gm_kind_name(gm_kind kind);
/* "thread", "engine", "pipeline" */
const char *gm_actor_name(gm_actor actor);

#endif
