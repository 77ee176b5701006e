/*
 * Simulated device memory.
 *
 * An allocation lies between two guards, and far from others (see slots.h). Traced kernels report a
 * stray access where it happens; for plain kernels the only check is here: a guard that has changed
 * after a launch.
 */
#define _GNU_SOURCE
#include "sim/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fork_lock.h"
#include "sim/slots.h"

enum {
    ALIGNMENT = 256, /* as cudaMalloc */
    GUARD_BYTES = 64,
    GUARD_BYTE = 0xC3,
    /* Offsets in a page, several, as one would share a few sets of the cache. Host arrays begin
     * near the start of a page: a copy from there stalls if its stores hit the same offset in a
     * page as the loads that follow within some 2 KiB. */
    FIRST_OFFSET = 2560,
    OFFSETS = 6,
    OVERHEAD = FIRST_OFFSET + OFFSETS * ALIGNMENT,
};

typedef struct allocation {
    gm_region region;
    bool adopted;        /* without guards */
    gm_slot *slot;       /* NULL: the address space has no more room for slots, or adopted */
    void *block;         /* what malloc returned then */
    gm_written *written; /* NULL: counts as written */
} allocation;

GM_FORK_LOCK(lock);
static allocation *allocations; /* sorted by address */
static int allocation_count, allocation_room;

/* Index of the first allocation that begins at or after the address. */
static int lower_bound(uintptr_t address)
{
    int low = 0, high = allocation_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (allocations[middle].region.begin < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

gm_status gm_memory_sizes(int64_t *free_bytes, int64_t *total_bytes)
{
    int64_t page = sysconf(_SC_PAGESIZE);
    *total_bytes = sysconf(_SC_PHYS_PAGES) * page;
    *free_bytes = sysconf(_SC_AVPHYS_PAGES) * page;

    /* Linux's own estimate of available memory includes caches that it can drop. */
    FILE *file = fopen("/proc/meminfo", "re");
    if (file) {
        char line[128];
        while (fgets(line, sizeof line, file)) {
            if (strncmp(line, "MemAvailable:", 13) == 0) {
                *free_bytes = strtoll(line + 13, NULL, 10) * 1024; /* in KiB */
                break;
            }
        }
        fclose(file);
    }
    return GM_OK;
}

static gm_status remember(allocation made)
{
    pthread_mutex_lock(&lock);
    if (allocation_count == allocation_room) {
        int room = allocation_room ? 2 * allocation_room : 64;
        allocation *grown = realloc(allocations, (size_t)room * sizeof *grown);
        if (!grown) {
            pthread_mutex_unlock(&lock);
            return gm_fail(GM_ERROR_MEMORY, "out of memory for the list of allocations");
        }
        allocations = grown;
        allocation_room = room;
    }
    int at = lower_bound(made.region.begin);
    memmove(&allocations[at + 1], &allocations[at],
            (size_t)(allocation_count - at) * sizeof *allocations);
    allocations[at] = made;
    allocation_count++;
    pthread_mutex_unlock(&lock);
    return GM_OK;
}

/* Under the lock. */
static void forget(int at)
{
    allocation_count--;
    memmove(&allocations[at], &allocations[at + 1],
            (size_t)(allocation_count - at) * sizeof *allocations);
}

static gm_status out_of_memory(int64_t bytes)
{
    int64_t free_bytes, total_bytes;
    gm_memory_sizes(&free_bytes, &total_bytes);
    return gm_fail(GM_ERROR_MEMORY,
                   "out of simulated device memory: asked for %lld bytes, %lld are free",
                   (long long)bytes, (long long)free_bytes);
}

void gm_memory_trim(void)
{
    pthread_mutex_lock(&lock);
    gm_slots_trim();
    pthread_mutex_unlock(&lock);
}

/* The host gives out more address space than it has memory: large sizes are checked first. */
static bool fits(int64_t bytes)
{
    enum { LARGE = 64 * 1024 * 1024 };
    int64_t free_bytes, total_bytes;
    if (bytes < LARGE) {
        return true;
    }
    gm_memory_sizes(&free_bytes, &total_bytes);
    if (bytes > free_bytes - LARGE) {
        gm_memory_trim();
        gm_memory_sizes(&free_bytes, &total_bytes);
    }
    return bytes <= free_bytes - LARGE;
}

/* Room for `bytes` at an aligned address with a guard on either side. */
static bool place(allocation *made, int64_t bytes)
{
    static unsigned offset;
    const size_t padded = (size_t)bytes + OVERHEAD;
    uintptr_t begin;
    pthread_mutex_lock(&lock);
    made->slot = gm_slot_take(padded);
    if (made->slot) {
        begin = made->slot->address + FIRST_OFFSET + (size_t)(offset++ % OFFSETS) * ALIGNMENT;
        made->slot->held = (gm_region){begin, begin + (uintptr_t)bytes};
    }
    pthread_mutex_unlock(&lock);
    if (!made->slot) {
        made->block = malloc(padded);
        begin = ((uintptr_t)made->block + GUARD_BYTES + ALIGNMENT - 1) & -(uintptr_t)ALIGNMENT;
    }
    made->region = (gm_region){begin, begin + (uintptr_t)bytes};
    return made->slot || made->block;
}

/* Under the lock. */
static void give_back(allocation freed)
{
    gm_written_drop(freed.written);
    if (freed.slot) {
        gm_slot_give(freed.slot);
    }
    free(freed.block);
}

gm_status gm_memory_allocate(int64_t bytes, void **address)
{
    allocation made = {.adopted = false};
    int64_t padded;
    if (!gm_add(bytes, OVERHEAD, &padded) || !fits(bytes) || !place(&made, bytes)) {
        return out_of_memory(bytes);
    }
    memset((char *)made.region.begin - GUARD_BYTES, GUARD_BYTE, GUARD_BYTES);
    memset((char *)made.region.end, GUARD_BYTE, GUARD_BYTES);
    made.written = gm_written_create(made.region);

    gm_status status = remember(made);
    if (status != GM_OK) {
        pthread_mutex_lock(&lock);
        give_back(made);
        pthread_mutex_unlock(&lock);
        return status;
    }
    *address = (void *)made.region.begin;
    return GM_OK;
}

gm_status gm_memory_adopt(void *address, int64_t bytes)
{
    if (bytes <= 0) {
        return GM_OK;
    }
    uintptr_t begin = (uintptr_t)address;
    gm_memory_note_write(address, bytes); /* if it is an allocation of ours that comes back */
    return remember((allocation){.region = {begin, begin + (uintptr_t)bytes}, .adopted = true});
}

int64_t gm_memory_release(void *address)
{
    if (!address) {
        return 0;
    }
    int64_t bytes = 0;
    pthread_mutex_lock(&lock);
    int at = lower_bound((uintptr_t)address);
    while (at < allocation_count && allocations[at].region.begin == (uintptr_t)address &&
           allocations[at].adopted) {
        at++;
    }
    if (at < allocation_count && allocations[at].region.begin == (uintptr_t)address) {
        bytes = (int64_t)(allocations[at].region.end - allocations[at].region.begin);
        give_back(allocations[at]);
        forget(at);
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

void gm_memory_disown(void *address, int64_t bytes)
{
    uintptr_t begin = (uintptr_t)address, end = begin + (uintptr_t)bytes;
    pthread_mutex_lock(&lock);
    for (int at = lower_bound(begin);
         at < allocation_count && allocations[at].region.begin == begin; at++) {
        if (allocations[at].adopted && allocations[at].region.end == end) {
            forget(at);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

void gm_memory_note_write(const void *address, int64_t bytes)
{
    uintptr_t begin = (uintptr_t)address;
    pthread_mutex_lock(&lock);
    /* Allocations do not overlap; adopted ones overlap anything, and have no record. */
    for (int at = lower_bound(begin + 1); at-- > 0;) {
        if (allocations[at].written) {
            gm_written_add(allocations[at].written, begin, begin + (uintptr_t)bytes);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

int64_t gm_memory_used(void)
{
    int64_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < allocation_count; i++) {
        gm_region region = allocations[i].region;
        bytes += allocations[i].adopted ? 0 : (int64_t)(region.end - region.begin);
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

gm_memory_area *gm_memory_snapshot(int *count, int more)
{
    int found = 0;
    pthread_mutex_lock(&lock);
    gm_memory_area *areas = malloc((size_t)(allocation_count + more + 1) * sizeof *areas);
    for (int i = 0; areas && i < allocation_count; i++) {
        gm_region region = allocations[i].region;
        gm_memory_area *last = found > 0 ? &areas[found - 1] : NULL;
        if (last && region.begin < last->region.end) { /* two views of one array */
            last->region.end = region.end > last->region.end ? region.end : last->region.end;
            gm_written_drop(last->written);
            last->written = NULL;
        } else {
            areas[found++] = (gm_memory_area){
                .region = region,
                .written = gm_written_keep(allocations[i].written),
            };
        }
    }
    pthread_mutex_unlock(&lock);
    *count = found;
    return areas;
}

bool gm_memory_was_freed(uintptr_t address, gm_region *freed)
{
    pthread_mutex_lock(&lock);
    const gm_slot *slot = gm_slot_at(address);
    bool was = slot && !slot->taken && gm_region_holds(slot->held, address);
    *freed = was ? slot->held : (gm_region){0, 0};
    pthread_mutex_unlock(&lock);
    return was;
}

static bool guard_intact(const unsigned char *guard)
{
    for (int i = 0; i < GUARD_BYTES; i++) {
        if (guard[i] != GUARD_BYTE) {
            return false;
        }
    }
    return true;
}

gm_status gm_memory_check_guards(const char *kernel)
{
    gm_status status = GM_OK;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < allocation_count; i++) {
        gm_region region = allocations[i].region;
        if (allocations[i].adopted) {
            continue;
        }
        unsigned char *front = (unsigned char *)region.begin - GUARD_BYTES;
        unsigned char *back = (unsigned char *)region.end;
        bool front_intact = guard_intact(front);
        if (front_intact && guard_intact(back)) {
            continue;
        }
        memset(front, GUARD_BYTE, GUARD_BYTES);
        memset(back, GUARD_BYTE, GUARD_BYTES);
        if (status == GM_OK) {
            status = gm_find(GM_RULE_OUT_OF_BOUNDS,
                             "kernel %s wrote just %s an allocation of %llu bytes; "
                             "gpumem.traffic with the same arguments names the source line",
                             kernel, front_intact ? "past the end of" : "before the start of",
                             (unsigned long long)(region.end - region.begin));
            gm_error *error = gm_error_record();
            if (error) {
                error->kernel = kernel;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}
