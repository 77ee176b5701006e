/* Which memory space an address belongs to: sorts a launch's memory, and looks addresses up. */
#include "sim/spaces.h"

#include <stdlib.h>

#include "sim/heap.h"
#include "sim/lane.h"

const char *gm_space_name(gm_space space)
{
    static const char *const names[] = {"global", "shared", "constant", "unknown", "private"};
    return names[space];
}

/* Adds an area to those in order of addresses. */
static void insert(gm_spaces *spaces, gm_memory_area area)
{
    int at = spaces->global_count++;
    for (; at > 0 && spaces->areas[at - 1].region.begin > area.region.begin; at--) {
        spaces->areas[at] = spaces->areas[at - 1];
    }
    spaces->areas[at] = area;
}

/* Allocations, and the module's __device__ variables, one by one where they are known. */
static gm_status list_global(gm_spaces *spaces)
{
    const gm_region variables = spaces->module->variables;
    const gm_extents extents = spaces->module->variable_extents;
    spaces->areas = gm_memory_snapshot(&spaces->global_count, extents.count + 2);
    gm_region heap = spaces->module->loaded ? gm_heap_arena() : (gm_region){0, 0};
    if (spaces->areas && heap.end > heap.begin) {
        insert(spaces, (gm_memory_area){.region = heap, .written = gm_heap_written()});
    }
    if (spaces->areas && extents.list) {
        for (int i = 0; i < extents.count; i++) {
            uintptr_t begin = variables.begin + extents.list[i].offset;
            insert(spaces, (gm_memory_area){.region = {begin, begin + extents.list[i].bytes},
                                            .name = extents.list[i].name});
        }
    } else if (spaces->areas && variables.end > variables.begin) {
        insert(spaces, (gm_memory_area){.region = variables});
    }
    spaces->global = malloc((size_t)(spaces->global_count + 1) * sizeof *spaces->global);
    if (!spaces->areas || !spaces->global) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the list of allocations");
    }
    for (int i = 0; i < spaces->global_count; i++) {
        spaces->global[i] = spaces->areas[i].region;
        spaces->heap = spaces->global[i].begin == heap.begin ? i : spaces->heap;
    }
    return GM_OK;
}

gm_status gm_spaces_open(gm_spaces *spaces, size_t shared_dynamic_bytes)
{
    spaces->shared_span = shared_dynamic_bytes + spaces->module->shared_bytes + 64;
    spaces->shared_first = spaces->module->shared_begin();
    spaces->last_global = spaces->heap = -1;
    return list_global(spaces);
}

gm_block_memory gm_spaces_of_block(const gm_module *module, gm_region shared_dynamic,
                                   const gm_fiber_pool *stacks)
{
    uintptr_t shared = module->shared_begin(), lane = (uintptr_t)module->lane();
    return (gm_block_memory){
        .shared_static = {shared, shared + module->shared_bytes},
        .shared_dynamic = shared_dynamic,
        .lane = {lane, lane + sizeof(gm_lane_state)},
        .stacks = stacks,
    };
}

void gm_spaces_close(gm_spaces *spaces)
{
    for (int i = 0; spaces->areas && i < spaces->global_count; i++) {
        gm_written_drop(spaces->areas[i].written);
    }
    free(spaces->areas);
    free(spaces->global);
    spaces->areas = NULL;
    spaces->global = NULL;
}

/* Index of the global region that holds the address; -1: none. */
static int find_global(const gm_spaces *spaces, uintptr_t address)
{
    int low = 0, high = spaces->global_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (spaces->global[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < spaces->global_count && gm_region_holds(spaces->global[low], address) ? low : -1;
}

/* The part of a region that holds the address and nothing of the hole, in which it is not. */
static gm_region without(gm_region region, gm_region hole, uintptr_t address)
{
    if (hole.end > hole.begin && address >= hole.end && region.begin < hole.end) {
        region.begin = hole.end;
    } else if (hole.end > hole.begin && address < hole.begin && region.end > hole.begin) {
        region.end = hole.begin;
    }
    return region;
}

/* Does it hold the address? Then it is the region to return. */
static bool holds(gm_region candidate, uintptr_t address, gm_region *region)
{
    *region = candidate;
    return gm_region_holds(candidate, address);
}

/* Leaves of a region only the variable that holds the address; none: an empty region. */
static gm_region variable_at(gm_region region, gm_extents extents, uintptr_t address)
{
    gm_region variable;
    for (int i = 0; i < extents.count; i++) {
        uintptr_t begin = region.begin + extents.list[i].offset;
        if (holds((gm_region){begin, begin + extents.list[i].bytes}, address, &variable)) {
            return variable;
        }
    }
    return (gm_region){address, address};
}

gm_region gm_spaces_object(const gm_spaces *spaces, uintptr_t address)
{
    gm_region region = spaces->global[spaces->last_global];
    if (spaces->last_global == spaces->heap && gm_heap_holds(address, &region) != GM_HEAP_TAKEN) {
        return (gm_region){address, address};
    }
    return region;
}

gm_space gm_spaces_find(gm_spaces *spaces, uintptr_t address, gm_region *region)
{
    const gm_module *module = spaces->module;
    const gm_block_memory *block = &spaces->block;
    int last = spaces->last_global;
    if (last >= 0 && last != spaces->heap && holds(spaces->global[last], address, region)) {
        return GM_SPACE_GLOBAL;
    }
    /* gm_lane is thread-local like the __shared__ variables, so it is asked for first. */
    if (holds(block->lane, address, region) || holds(spaces->arguments, address, region)) {
        return GM_SPACE_PRIVATE;
    }
    if (holds(block->shared_static, address, region)) {
        *region = module->shared_extents.list
                      ? variable_at(*region, module->shared_extents, address)
                      : without(*region, block->lane, address);
        return GM_SPACE_SHARED;
    }
    if (holds(block->shared_dynamic, address, region)) {
        return GM_SPACE_SHARED;
    }
    if (holds(module->constant, address, region)) {
        if (module->constant_extents.list) {
            *region = variable_at(*region, module->constant_extents, address);
        }
        return GM_SPACE_CONSTANT;
    }
    if (gm_fiber_owns(block->stacks, address, region)) {
        if (gm_region_holds(*region, (uintptr_t)__builtin_frame_address(0))) {
            return GM_SPACE_PRIVATE;
        }
        *region = (gm_region){address, address}; /* of another thread */
        return GM_SPACE_UNKNOWN;
    }
    /* __device__ variables lie in the image too, but are global memory. */
    if (!gm_region_holds(module->variables, address) && holds(module->image, address, region)) {
        *region = without(without(*region, module->constant, address), module->variables, address);
        return GM_SPACE_PRIVATE;
    }
    int found = find_global(spaces, address);
    if (found < 0) {
        *region = (gm_region){address, address};
        return GM_SPACE_UNKNOWN;
    }
    spaces->last_global = found;
    *region = gm_spaces_object(spaces, address);
    if (region->begin == region->end) {
        *region = (gm_region){address, address};
        return GM_SPACE_UNKNOWN;
    }
    return GM_SPACE_GLOBAL;
}
