/* The list of source lines: finds the site of an access, and the line of a new site. */
#include "sim/sites.h"

#include <stdlib.h>

const char *gm_kind_name(gm_kind kind)
{
    static const char *const names[] = {"load", "store", "prefetch", "atomic"};
    return names[kind];
}

const char *gm_actor_name(gm_actor actor)
{
    static const char *const names[] = {"thread", "thread", "engine", "pipeline"};
    return names[actor];
}

/* A linear search: it runs once per site. */
static const gm_site_record *find_record(const gm_module *module, const void *address)
{
    for (const gm_site_record *record = module->sites; record < module->sites_end; record++) {
        if (record->address == address) {
            return record;
        }
    }
    return NULL;
}

/* Doubles list and table. */
static bool grow(gm_sites *sites)
{
    int size = sites->table_size ? 2 * sites->table_size : 256;
    int32_t *table = calloc((size_t)size, sizeof *table);
    gm_site *list = realloc(sites->list, (size_t)size / 2 * sizeof *list);
    if (list) {
        sites->list = list;
    }
    if (!table || !list) {
        free(table);
        return false;
    }
    for (int i = 0; i < sites->count; i++) {
        uint32_t slot = gm_site_slot(list[i].address, list[i].space, list[i].kind);
        while (table[slot & (uint32_t)(size - 1)]) {
            slot++;
        }
        table[slot & (uint32_t)(size - 1)] = i + 1;
    }
    free(sites->table);
    sites->table = table;
    sites->table_size = size;
    sites->room = size / 2;
    return true;
}

int gm_sites_add(gm_sites *sites, const gm_module *module, gm_space space,
                 const gm_access_call *call)
{
    if (sites->count == sites->room && !grow(sites)) {
        return -1;
    }
    char *counters = calloc(1, sites->counter_bytes + 1);
    if (!counters) {
        return -1;
    }
    uint32_t mask = (uint32_t)sites->table_size - 1;
    uint32_t slot = gm_site_slot(call->code, space, call->kind) & mask;
    while (sites->table[slot]) {
        slot = (slot + 1) & mask;
    }
    const gm_site_record *record = call->file ? NULL : find_record(module, call->code);
    sites->list[sites->count] = (gm_site){
        .address = call->code,
        .file = record ? record->file : call->file,
        .line = record ? record->line : call->line,
        .space = space,
        .kind = call->kind,
        .vector = record && record->vector,
        .actor = call->actor,
        .service = call->service,
        .counters = counters,
    };
    sites->table[slot] = ++sites->count;
    return sites->count - 1;
}

void gm_sites_free(gm_sites *sites)
{
    for (int i = 0; i < sites->count; i++) {
        free(sites->list[i].counters);
    }
    free(sites->list);
    free(sites->table);
}
