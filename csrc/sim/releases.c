/* Releases: a hash table by address. */
#include "sim/releases.h"

#include <stdlib.h>

static size_t slot_of(const gm_releases *releases, uintptr_t address)
{
    uint64_t hash = (uint64_t)address * UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(hash >> 32) & (releases->size - 1);
    while (releases->table[slot].address && releases->table[slot].address != address) {
        slot = (slot + 1) & (releases->size - 1);
    }
    return slot;
}

void gm_release_clear(gm_release *release)
{
    gm_view_drop(release->device);
    gm_view_drop(release->block);
    release->device = release->block = NULL;
}

gm_release *gm_releases_find(gm_releases *releases, uintptr_t address)
{
    if (releases->count == 0) {
        return NULL;
    }
    gm_release *found = &releases->table[slot_of(releases, address)];
    return found->address ? found : NULL;
}

static bool grow(gm_releases *releases)
{
    gm_releases wider = {.size = releases->size ? 2 * releases->size : 64};
    wider.table = calloc(wider.size, sizeof *wider.table);
    if (!wider.table) {
        return false;
    }
    for (size_t i = 0; i < releases->size; i++) {
        const gm_release *old = &releases->table[i];
        if (old->address) {
            wider.table[slot_of(&wider, old->address)] = *old;
        }
    }
    wider.count = releases->count;
    free(releases->table);
    *releases = wider;
    return true;
}

gm_release *gm_releases_make(gm_releases *releases, uintptr_t address)
{
    if (2 * releases->count >= releases->size && !grow(releases)) {
        return NULL;
    }
    gm_release *found = &releases->table[slot_of(releases, address)];
    if (!found->address) {
        releases->count++;
        *found = (gm_release){.address = address};
    }
    return found;
}

void gm_releases_free(gm_releases *releases)
{
    for (size_t i = 0; i < releases->size; i++) {
        gm_release_clear(&releases->table[i]);
    }
    free(releases->table);
    *releases = (gm_releases){.table = NULL};
}
