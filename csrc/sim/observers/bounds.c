/* Observer: accesses that do not lie inside one allocation. */
#include "sim/observer.h"

enum { NEAR = 4096 }; /* bytes: an address this near to a region belongs to it by mistake */

/* The allocation whose edge is nearest to the address; -1 when there is none. */
static int nearest(const gm_trace *trace, uintptr_t address, uintptr_t *distance, bool *before)
{
    int found = -1;
    for (int i = 0; i < trace->spaces.global_count; i++) {
        gm_region region = trace->spaces.global[i];
        bool is_before = address < region.begin;
        uintptr_t gap =
            is_before ? region.begin - address : (address < region.end ? 0 : address - region.end);
        if (found < 0 || gap < *distance) {
            found = i;
            *distance = gap;
            *before = is_before;
        }
    }
    return found;
}

static gm_status bounds_access(void *state, gm_trace *trace, const gm_access *access)
{
    (void)state;
    const gm_site *site = &trace->sites.list[access->site];
    const char *what = gm_kind_name(site->kind);
    uintptr_t distance = 0;
    bool before = false;

    if (site->space == GM_SPACE_UNKNOWN) {
        gm_region shared = trace->spaces.block.shared_dynamic;
        if (shared.end > shared.begin && access->address - shared.end < NEAR) {
            return gm_fail(GM_ERROR_SIMULATION,
                           "%s of %u bytes out of bounds, %llu bytes past the end of %llu bytes of "
                           "dynamic shared memory",
                           what, access->bytes, (unsigned long long)(access->address - shared.end),
                           (unsigned long long)(shared.end - shared.begin));
        }
        int at = nearest(trace, access->address, &distance, &before);
        if (access->address < NEAR) {
            return gm_fail(GM_ERROR_SIMULATION, "%s of %u bytes at address %llu, a null pointer",
                           what, access->bytes, (unsigned long long)access->address);
        }
        if (at < 0 || distance > INT64_MAX) {
            return gm_fail(GM_ERROR_SIMULATION, "%s of %u bytes outside every allocation", what,
                           access->bytes);
        }
        return gm_fail(
            GM_ERROR_SIMULATION,
            "%s of %u bytes out of bounds, %llu bytes %s an allocation of %llu bytes", what,
            access->bytes, (unsigned long long)distance,
            before ? "before the start of" : "past the end of",
            (unsigned long long)(trace->spaces.global[at].end - trace->spaces.global[at].begin));
    }
    if (site->space == GM_SPACE_GLOBAL) {
        gm_region region = trace->spaces.global[trace->spaces.last_global];
        if (access->bytes > region.end - access->address) {
            return gm_fail(GM_ERROR_SIMULATION,
                           "%s of %u bytes out of bounds, begins %llu bytes before the end of an "
                           "allocation of %llu bytes",
                           what, access->bytes, (unsigned long long)(region.end - access->address),
                           (unsigned long long)(region.end - region.begin));
        }
    }
    return GM_OK;
}

const gm_observer gm_observer_bounds = {
    .name = "bounds",
    .accesses = GM_SEES(GM_SPACE_GLOBAL) | GM_SEES(GM_SPACE_UNKNOWN) | GM_SEES_PREFETCHES,
    .unusual = true,
    .access = bounds_access,
};
