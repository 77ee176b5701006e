/* Observer: accesses that do not lie inside one allocation or one variable of the module. */
#include <stdio.h>

#include "sim/heap.h"
#include "sim/observer.h"

enum { NEAR = 4096 }; /* bytes: an address this near to memory belongs to it by mistake */

/* Memory that an access may be meant for, and how far it is from there. */
typedef struct aim {
    gm_region region;
    const char *what, *name; /* name NULL: it has none */
    uintptr_t distance;      /* 0: inside; 1: the byte before it, or the one behind it */
    bool before;
} aim;

static void consider(aim *best, uintptr_t address, gm_region region, const char *what,
                     const char *name)
{
    bool before = address < region.begin, behind = !before && address >= region.end;
    uintptr_t distance = before ? region.begin - address : behind ? address - region.end + 1 : 0;
    if (!best->what || distance < best->distance) {
        *best = (aim){region, what, name, distance, before};
    }
}

/* The variables of the module in a region, one by one where they are known. */
static void consider_variables(aim *best, uintptr_t address, gm_extents extents, gm_region region,
                               const char *one, const char *all)
{
    for (int i = 0; i < extents.count; i++) {
        uintptr_t begin = region.begin + extents.list[i].offset;
        gm_region variable = {begin, begin + extents.list[i].bytes};
        consider(best, address, variable, one, extents.list[i].name);
    }
    if (!extents.list && region.end > region.begin) {
        consider(best, address, region, all, NULL);
    }
}

static void consider_shared(aim *best, const gm_trace *trace, uintptr_t address)
{
    const gm_block_memory *block = &trace->spaces.block;
    if (block->shared_dynamic.end > block->shared_dynamic.begin) {
        consider(best, address, block->shared_dynamic, "dynamic shared memory", NULL);
    }
    consider_variables(best, address, trace->spaces.module->shared_extents, block->shared_static,
                       "shared variable", "shared variables");
}

static void consider_constant(aim *best, const gm_trace *trace, uintptr_t address)
{
    const gm_module *module = trace->spaces.module;
    consider_variables(best, address, module->constant_extents, module->constant,
                       "__constant__ variable", "__constant__ variables");
}

/* The memory whose edge is nearest; of shared memory only if it is near. */
static aim find_aim(const gm_trace *trace, uintptr_t address, gm_space space)
{
    aim best = {.what = NULL};
    if (space == GM_SPACE_SHARED || space == GM_SPACE_UNKNOWN) {
        consider_shared(&best, trace, address);
        if (space == GM_SPACE_SHARED || (best.what && best.distance < NEAR)) {
            return best;
        }
        best.what = NULL;
    }
    if (space == GM_SPACE_CONSTANT || space == GM_SPACE_UNKNOWN) {
        consider_constant(&best, trace, address);
    }
    for (int i = 0; space == GM_SPACE_UNKNOWN && i < trace->spaces.global_count; i++) {
        const gm_memory_area *area = &trace->spaces.areas[i];
        gm_region taken;
        if (i == trace->spaces.heap) {
            if (gm_region_holds(area->region, address) && gm_heap_nearest(address, &taken)) {
                consider(&best, address, taken, "allocation", NULL);
            }
            continue;
        }
        consider(&best, address, area->region, area->name ? "__device__ variable" : "allocation",
                 area->name);
    }
    return best;
}

/* "an allocation of 4096 bytes" */
static const char *describe(const aim *at, char text[160])
{
    unsigned long long bytes = at->region.end - at->region.begin;
    if (at->name) {
        snprintf(text, 160, "%s '%.80s' of %llu bytes", at->what, at->name, bytes);
    } else if (at->what[0] == 'a') {
        snprintf(text, 160, "an %s of %llu bytes", at->what, bytes);
    } else {
        snprintf(text, 160, "%llu bytes of %s", bytes, at->what);
    }
    return text;
}

static gm_status ends_outside(const char *what, const gm_access *access, const aim *at)
{
    char text[160];
    return gm_find(GM_RULE_OUT_OF_BOUNDS,
                   "%s of %u bytes out of bounds, begins %llu bytes before the end of %s", what,
                   access->bytes, (unsigned long long)(at->region.end - access->address),
                   describe(at, text));
}

static gm_status outside(const gm_trace *trace, const char *what, const gm_access *access,
                         gm_space space)
{
    gm_region freed, stack;
    char text[160];
    if (access->address < NEAR) {
        return gm_find(GM_RULE_NULL_POINTER, "%s of %u bytes at address %llu, a null pointer", what,
                       access->bytes, (unsigned long long)access->address);
    }
    if (gm_memory_was_freed(access->address, &freed) ||
        gm_heap_holds(access->address, &freed) == GM_HEAP_FREED) {
        return gm_find(GM_RULE_FREED,
                       "%s of %u bytes of freed memory, %llu bytes into what was an allocation of "
                       "%llu bytes",
                       what, access->bytes, (unsigned long long)(access->address - freed.begin),
                       (unsigned long long)(freed.end - freed.begin));
    }
    if (gm_fiber_owns(trace->spaces.block.stacks, access->address, &stack)) {
        return gm_find(GM_RULE_OUT_OF_BOUNDS,
                       "%s of %u bytes outside of the thread's memory: in a local variable of "
                       "another thread, whose address means nothing here",
                       what, access->bytes);
    }
    aim at = find_aim(trace, access->address, space);
    if (!at.what || at.distance > INT64_MAX) {
        return gm_find(GM_RULE_OUT_OF_BOUNDS, "%s of %u bytes outside every allocation", what,
                       access->bytes);
    }
    return gm_find(GM_RULE_OUT_OF_BOUNDS, "%s of %u bytes out of bounds, %llu bytes %s %s", what,
                   access->bytes, (unsigned long long)(at.before ? at.distance : at.distance - 1),
                   at.before ? "before the start of" : "past the end of", describe(&at, text));
}

static gm_status bounds_access(void *state, gm_trace *trace, const gm_access *access)
{
    (void)state;
    const gm_site *site = &trace->sites.list[access->site];
    const char *what = gm_kind_name(site->kind);
    aim at;
    if (site->space == GM_SPACE_GLOBAL) {
        gm_region region = gm_spaces_object(&trace->spaces, access->address);
        if (access->bytes <= region.end - access->address) {
            return GM_OK;
        }
        const char *name = trace->spaces.areas[trace->spaces.last_global].name;
        at = (aim){region, name ? "__device__ variable" : "allocation", name, 0, false};
        return ends_outside(what, access, &at);
    }
    if (site->space == GM_SPACE_UNKNOWN) {
        return outside(trace, what, access, site->space);
    }
    at = find_aim(trace, access->address, site->space);
    if (!at.what || (at.distance == 0 && gm_region_holds(at.region, access->address) &&
                     access->bytes <= at.region.end - access->address)) {
        return GM_OK;
    }
    return gm_region_holds(at.region, access->address) ? ends_outside(what, access, &at)
                                                       : outside(trace, what, access, site->space);
}

const gm_observer gm_observer_bounds = {
    .name = "bounds",
    .accesses = GM_SEES(GM_SPACE_GLOBAL) | GM_SEES(GM_SPACE_SHARED) | GM_SEES(GM_SPACE_CONSTANT) |
                GM_SEES(GM_SPACE_UNKNOWN) | GM_SEES_PREFETCHES,
    .unusual = true,
    .access = bounds_access,
};
