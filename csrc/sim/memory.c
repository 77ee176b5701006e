/*
 * Simulated device memory.
 *
 * An allocation lies between two guards. Traced kernels report a stray access where it happens;
 * for plain kernels the only check is here: a guard that has changed after a launch.
 */
#define _GNU_SOURCE
#include "sim/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fork_lock.h"

enum {
    ALIGNMENT = 256, /* as cudaMalloc */
    GUARD_BYTES = 64,
    GUARD_BYTE = 0xC3,
};

typedef struct allocation {
    gm_region region;
    char *block; /* what malloc returned; NULL: adopted memory, which has no guards */
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
        long long kib;
        while (fgets(line, sizeof line, file)) {
            if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1) {
                *free_bytes = kib * 1024;
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

gm_status gm_memory_allocate(int64_t bytes, void **address)
{
    enum { LARGE = 64 * 1024 * 1024 };
    int64_t free_bytes, total_bytes, padded;
    /* malloc may succeed for memory that the host does not have: check large sizes first. */
    if (!gm_add(bytes, 3 * ALIGNMENT, &padded) || padded >= LARGE) {
        gm_memory_sizes(&free_bytes, &total_bytes);
        if (bytes > free_bytes - LARGE) {
            return gm_fail(GM_ERROR_MEMORY,
                           "out of simulated device memory: asked for %lld bytes, %lld are free",
                           (long long)bytes, (long long)free_bytes);
        }
    }
    char *block = malloc((size_t)padded);
    if (!block) {
        gm_memory_sizes(&free_bytes, &total_bytes);
        return gm_fail(GM_ERROR_MEMORY,
                       "out of simulated device memory: asked for %lld bytes, %lld are free",
                       (long long)bytes, (long long)free_bytes);
    }
    uintptr_t begin = ((uintptr_t)block + GUARD_BYTES + ALIGNMENT - 1) & -(uintptr_t)ALIGNMENT;
    allocation made = {{begin, begin + (uintptr_t)bytes}, block};
    memset((char *)made.region.begin - GUARD_BYTES, GUARD_BYTE, GUARD_BYTES);
    memset((char *)made.region.end, GUARD_BYTE, GUARD_BYTES);

    gm_status status = remember(made);
    if (status != GM_OK) {
        free(block);
        return status;
    }
    *address = (void *)begin;
    return GM_OK;
}

gm_status gm_memory_adopt(void *address, int64_t bytes)
{
    uintptr_t begin = (uintptr_t)address;
    return bytes > 0 ? remember((allocation){{begin, begin + (uintptr_t)bytes}, NULL}) : GM_OK;
}

int64_t gm_memory_release(void *address)
{
    if (!address) {
        return 0;
    }
    char *block = NULL;
    int64_t bytes = 0;
    pthread_mutex_lock(&lock);
    int at = lower_bound((uintptr_t)address);
    while (at < allocation_count && allocations[at].region.begin == (uintptr_t)address &&
           !allocations[at].block) {
        at++;
    }
    if (at < allocation_count && allocations[at].region.begin == (uintptr_t)address) {
        block = allocations[at].block;
        bytes = (int64_t)(allocations[at].region.end - allocations[at].region.begin);
        forget(at);
    }
    pthread_mutex_unlock(&lock);
    free(block);
    return bytes;
}

void gm_memory_disown(void *address, int64_t bytes)
{
    uintptr_t begin = (uintptr_t)address, end = begin + (uintptr_t)bytes;
    pthread_mutex_lock(&lock);
    for (int at = lower_bound(begin);
         at < allocation_count && allocations[at].region.begin == begin; at++) {
        if (!allocations[at].block && allocations[at].region.end == end) {
            forget(at);
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
        bytes += allocations[i].block ? (int64_t)(region.end - region.begin) : 0;
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

gm_region *gm_memory_snapshot(int *count)
{
    int found = 0;
    pthread_mutex_lock(&lock);
    gm_region *regions = malloc((size_t)(allocation_count + 1) * sizeof *regions);
    for (int i = 0; regions && i < allocation_count; i++) {
        gm_region region = allocations[i].region;
        if (found > 0 && region.begin < regions[found - 1].end) { /* two views of one array */
            gm_region *last = &regions[found - 1];
            last->end = region.end > last->end ? region.end : last->end;
        } else {
            regions[found++] = region;
        }
    }
    pthread_mutex_unlock(&lock);
    *count = found;
    return regions;
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
        if (!allocations[i].block) {
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
            status = gm_fail(GM_ERROR_SIMULATION,
                             "kernel %s wrote just %s an allocation of %llu bytes; "
                             "gpumem.traffic with the same arguments names the source line",
                             kernel, front_intact ? "past the end of" : "before the start of",
                             (unsigned long long)(region.end - region.begin));
            gm_last_error()->kernel = kernel;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}
