/* The heap of a device: allocations in ascending order of addresses, those that are freed too. */
#define _GNU_SOURCE
#include "sim/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fork_lock.h"

enum {
    HEAP_BYTES = 8 * 1024 * 1024, /* what cudaLimitMallocHeapSize is unless it is set */
    ARENA_BYTES = 1024 * 1024 * 1024,
    PLAIN_BYTES = 64 * 1024 * 1024, /* at full speed nobody asks what was freed */
    LEAST_GAP = 64,
    MOST_GAP = 1024,
    GRAIN = 16,
    MANY_FREED = 4096,
};

typedef struct record {
    gm_region region;
    int64_t launch;
    bool taken;
} record;

GM_FORK_LOCK(lock);
static gm_region arena;
static gm_written *written;
static record *records;
static int count, room, taken;
static uintptr_t next; /* behind all records */
static int64_t bytes_taken, launches;
static int running, tracing; /* launches */

/* ---- under the lock -------------------------------------------------------------------------- */

static bool reserve(void)
{
    if (!arena.end) {
        void *base = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) {
            return false;
        }
        next = (uintptr_t)base;
        arena = (gm_region){next, next + ARENA_BYTES};
        written = gm_written_create(arena);
    }
    return true;
}

/* Index of the first record that begins behind the address. */
static int above(uintptr_t address)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (records[middle].region.begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void forget_freed(void)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (records[i].taken) {
            records[kept++] = records[i];
        }
    }
    count = kept;
}

/* All addresses may be used again. */
static void start_over(void)
{
    count = 0;
    next = arena.begin;
}

static uintptr_t gap_behind(uintptr_t bytes)
{
    return bytes < LEAST_GAP ? LEAST_GAP : bytes < MOST_GAP ? bytes : MOST_GAP;
}

static uintptr_t round_up(uintptr_t address, size_t alignment)
{
    return (address + alignment - 1) & -(uintptr_t)alignment;
}

/* Behind the last record, or else, once the addresses are used up, between two. */
static uintptr_t place(size_t bytes, size_t alignment)
{
    uintptr_t limit = tracing > 0 ? arena.end : arena.begin + PLAIN_BYTES;
    uintptr_t begin = round_up(next, alignment), end = begin + bytes + gap_behind(bytes);
    if (end <= limit) {
        next = end;
        return begin;
    }
    forget_freed();
    begin = round_up(arena.begin, alignment);
    for (int i = 0; i < count; i++) {
        if (begin + bytes + LEAST_GAP <= records[i].region.begin) {
            return begin;
        }
        begin = round_up(records[i].region.end + LEAST_GAP, alignment);
    }
    return begin + bytes <= limit ? begin : 0;
}

static bool make_room(void)
{
    if (count == room && count - taken > MANY_FREED && 2 * taken < count && tracing == 0) {
        forget_freed();
    }
    if (count < room) {
        return true;
    }
    int more = room ? 2 * room : 64;
    record *grown = realloc(records, (size_t)more * sizeof *grown);
    if (grown) {
        records = grown;
        room = more;
    }
    return grown;
}

static void release(record *one)
{
    one->taken = false;
    taken--;
    bytes_taken -= (int64_t)round_up(one->region.end - one->region.begin, GRAIN) + GRAIN;
    if (taken == 0 && tracing == 0) {
        start_over();
    }
}

static record *find(const void *address)
{
    int at = above((uintptr_t)address) - 1;
    return at >= 0 && records[at].region.begin == (uintptr_t)address ? &records[at] : NULL;
}

static gm_heap_state state_of(const record *one, gm_region *region)
{
    *region = one ? one->region : (gm_region){0, 0};
    return !one ? GM_HEAP_NONE : one->taken ? GM_HEAP_TAKEN : GM_HEAP_FREED;
}

/* ---- for others ------------------------------------------------------------------------------ */

gm_region gm_heap_arena(void)
{
    pthread_mutex_lock(&lock);
    reserve();
    gm_region found = arena;
    pthread_mutex_unlock(&lock);
    return found;
}

gm_written *gm_heap_written(void)
{
    pthread_mutex_lock(&lock);
    gm_written *found = gm_written_keep(written);
    pthread_mutex_unlock(&lock);
    return found;
}

int64_t gm_heap_begin(bool traced)
{
    pthread_mutex_lock(&lock);
    if (running == 0 && taken == 0 && arena.end) {
        start_over();
        gm_written_drop(written);
        written = gm_written_create(arena);
    }
    running++;
    tracing += traced;
    int64_t number = ++launches;
    pthread_mutex_unlock(&lock);
    return number;
}

void gm_heap_end(int64_t launch, bool traced, bool failed)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; failed && i < count; i++) {
        if (records[i].taken && records[i].launch == launch) {
            release(&records[i]);
        }
    }
    running--;
    tracing -= traced;
    pthread_mutex_unlock(&lock);
}

void *gm_heap_allocate(size_t bytes, size_t alignment, int64_t launch)
{
    uintptr_t begin = 0;
    pthread_mutex_lock(&lock);
    alignment = alignment > GRAIN ? alignment : GRAIN;
    bool fits = bytes <= HEAP_BYTES && alignment <= HEAP_BYTES &&
                bytes_taken + (int64_t)round_up(bytes, GRAIN) + GRAIN <= HEAP_BYTES;
    if (fits && reserve() && make_room() && (begin = place(bytes, alignment))) {
        int at = above(begin);
        memmove(&records[at + 1], &records[at], (size_t)(count - at) * sizeof *records);
        records[at] = (record){{begin, begin + bytes}, launch, true};
        count++;
        taken++;
        bytes_taken += (int64_t)round_up(bytes, GRAIN) + GRAIN;
    }
    pthread_mutex_unlock(&lock);
    return (void *)begin;
}

gm_heap_state gm_heap_begins(const void *address, gm_region *region)
{
    pthread_mutex_lock(&lock);
    gm_heap_state state = state_of(find(address), region);
    pthread_mutex_unlock(&lock);
    return state;
}

gm_heap_state gm_heap_holds(uintptr_t address, gm_region *region)
{
    pthread_mutex_lock(&lock);
    int at = above(address) - 1;
    bool held = at >= 0 && gm_region_holds(records[at].region, address);
    gm_heap_state state = state_of(held ? &records[at] : NULL, region);
    pthread_mutex_unlock(&lock);
    return state;
}

bool gm_heap_nearest(uintptr_t address, gm_region *region)
{
    pthread_mutex_lock(&lock);
    int past = above(address), before = past - 1;
    while (before >= 0 && !records[before].taken) {
        before--;
    }
    while (past < count && !records[past].taken) {
        past++;
    }
    bool first = before >= 0, second = past < count;
    if (first && second) {
        uintptr_t from = address - records[before].region.end;
        first = from <= records[past].region.begin - address;
    }
    *region = first ? records[before].region : second ? records[past].region : (gm_region){0, 0};
    pthread_mutex_unlock(&lock);
    return first || second;
}

void gm_heap_release(const void *address)
{
    pthread_mutex_lock(&lock);
    record *one = find(address);
    if (one && one->taken) {
        release(one);
    }
    pthread_mutex_unlock(&lock);
}
