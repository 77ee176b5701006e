/* Blocks of host memory: the list of all, and the pool of free ones. */
#include "memory/host.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fork_lock.h"

const char *const gm_memory_kind_names[GM_MEMORY_KINDS + 1] = {
    [GM_PAGEABLE] = "pageable", [GM_PINNED] = "pinned",   [GM_WRITE_COMBINED] = "write_combined",
    [GM_MAPPED] = "mapped",     [GM_MANAGED] = "managed", [GM_DEVICE] = "device",
};

enum { PAGE = 4096 };

typedef struct block {
    uintptr_t begin;
    int64_t bytes; /* of its size class, all allocated */
    const gm_backend *backend;
    gm_memory_kind kind;
    bool used;
    uint64_t freed; /* number of the release that freed it */
} block;

GM_FORK_LOCK(lock);
static block *blocks; /* sorted by address */
static int block_count, block_room;
static uint64_t events;

/* Index of the first block that begins after the address. */
static int upper_bound(uintptr_t address)
{
    int low = 0, high = block_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (blocks[middle].begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static block *find(uintptr_t address)
{
    int at = upper_bound(address) - 1;
    bool inside = at >= 0 && address - blocks[at].begin < (uintptr_t)blocks[at].bytes;
    return inside ? &blocks[at] : NULL;
}

static void forget(block *gone)
{
    int at = (int)(gone - blocks);
    block_count--;
    memmove(gone, gone + 1, (size_t)(block_count - at) * sizeof *gone);
}

/* Eight size classes per power of two: at most an eighth is wasted, and blocks are reusable. */
static bool round_up(int64_t bytes, int64_t *rounded)
{
    int64_t step = PAGE;
    while (step < bytes / 8) {
        if (!gm_multiply(step, 2, &step)) {
            return false;
        }
    }
    if (!gm_add(bytes > 0 ? bytes : 1, step - 1, rounded)) {
        return false;
    }
    *rounded -= *rounded % step;
    return true;
}

/* Managed memory is not page-locked, and its pages may be on either side: it is not pooled. */
static bool is_pooled(gm_memory_kind kind)
{
    return kind != GM_MANAGED;
}

/* Asked once: it is a system call, and every release needs it. */
static int64_t limit(void)
{
    static _Atomic int64_t known;
    int64_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes == 0) {
        bytes = sysconf(_SC_PHYS_PAGES) / 4 * sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&known, bytes, memory_order_relaxed);
    }
    return bytes;
}

/* ---- the pool: callers hold the lock ----------------------------------------------------- */

static void count(const gm_backend *backend, gm_pool_sizes *sizes)
{
    *sizes = (gm_pool_sizes){.limit_bytes = limit()};
    for (int i = 0; i < block_count; i++) {
        if (blocks[i].backend == backend && is_pooled(blocks[i].kind)) {
            sizes->reserved_bytes += blocks[i].bytes;
            sizes->used_bytes += blocks[i].used ? blocks[i].bytes : 0;
        }
    }
}

/* Takes the block that has been free longest out of the list; NULL if none is free. */
static void *take_oldest(const gm_backend *backend, gm_memory_kind *kind, int64_t *bytes)
{
    block *oldest = NULL;
    for (int i = 0; i < block_count; i++) {
        if (!blocks[i].used && blocks[i].backend == backend &&
            (!oldest || blocks[i].freed < oldest->freed)) {
            oldest = &blocks[i];
        }
    }
    if (!oldest) {
        return NULL;
    }
    void *address = (void *)oldest->begin;
    *kind = oldest->kind;
    *bytes = oldest->bytes;
    forget(oldest);
    return address;
}

static void *reuse(const gm_backend *backend, gm_memory_kind kind, int64_t bytes)
{
    block *latest = NULL; /* the one most likely still in the caches */
    for (int i = 0; i < block_count; i++) {
        block *it = &blocks[i];
        if (!it->used && it->backend == backend && it->kind == kind && it->bytes == bytes &&
            (!latest || it->freed > latest->freed)) {
            latest = it;
        }
    }
    if (!latest) {
        return NULL;
    }
    latest->used = true;
    return (void *)latest->begin;
}

static gm_status remember(const gm_backend *backend, gm_memory_kind kind, int64_t bytes,
                          void *address)
{
    if (block_count == block_room) {
        int room = block_room ? 2 * block_room : 64;
        block *grown = realloc(blocks, (size_t)room * sizeof *grown);
        if (!grown) {
            return gm_fail(GM_ERROR_MEMORY, "out of memory for the list of blocks");
        }
        blocks = grown;
        block_room = room;
    }
    int at = upper_bound((uintptr_t)address);
    memmove(&blocks[at + 1], &blocks[at], (size_t)(block_count - at) * sizeof *blocks);
    blocks[at] = (block){(uintptr_t)address, bytes, backend, kind, true, 0};
    block_count++;
    return GM_OK;
}

/* ---- the interface ----------------------------------------------------------------------- */

gm_status gm_host_allocate(const gm_backend *backend, gm_memory_kind kind, int64_t bytes,
                           void **address)
{
    int64_t rounded;
    *address = NULL;
    if (bytes < 0 || !round_up(bytes, &rounded)) {
        return gm_fail(GM_ERROR_VALUE, "cannot allocate %lld bytes", (long long)bytes);
    }
    gm_status status = backend->open(); /* fails in a forked child of a process that uses CUDA */
    if (status != GM_OK) {
        return status;
    }
    pthread_mutex_lock(&lock);
    *address = is_pooled(kind) ? reuse(backend, kind, rounded) : NULL;
    pthread_mutex_unlock(&lock);
    if (*address) {
        return GM_OK;
    }
    status = backend->host_allocate(kind, rounded, address);
    if (status == GM_ERROR_MEMORY && gm_host_pool_trim(backend) > 0) {
        status = backend->host_allocate(kind, rounded, address);
    }
    if (status != GM_OK) {
        *address = NULL;
        return status;
    }
    pthread_mutex_lock(&lock);
    status = remember(backend, kind, rounded, *address);
    pthread_mutex_unlock(&lock);
    if (status != GM_OK) {
        backend->host_release(kind, *address);
        *address = NULL;
    }
    return status;
}

void gm_host_release(void *address)
{
    const gm_backend *backend = NULL;
    gm_memory_kind kind = GM_PAGEABLE;
    bool keeps = false;

    pthread_mutex_lock(&lock);
    block *it = find((uintptr_t)address);
    if (it) {
        backend = it->backend;
        kind = it->kind;
        keeps = is_pooled(kind);
        if (keeps) {
            it->used = false;
            it->freed = ++events;
        } else {
            forget(it);
        }
    }
    pthread_mutex_unlock(&lock);
    if (!backend) {
        return;
    }
    if (!keeps) {
        backend->host_release(kind, address);
        return;
    }
    for (;;) { /* page-locked memory is unavailable to everything else on the machine */
        gm_pool_sizes sizes;
        void *extra = NULL;
        int64_t bytes;
        pthread_mutex_lock(&lock);
        count(backend, &sizes);
        if (sizes.reserved_bytes > sizes.limit_bytes) {
            extra = take_oldest(backend, &kind, &bytes);
        }
        pthread_mutex_unlock(&lock);
        if (!extra) {
            return;
        }
        backend->host_release(kind, extra);
    }
}

gm_memory_kind gm_host_kind(const void *address, const gm_backend **backend)
{
    pthread_mutex_lock(&lock);
    block *it = find((uintptr_t)address);
    gm_memory_kind kind = it ? it->kind : GM_PAGEABLE;
    *backend = it ? it->backend : NULL;
    pthread_mutex_unlock(&lock);
    return kind;
}

void gm_host_pool_sizes(const gm_backend *backend, gm_pool_sizes *sizes)
{
    pthread_mutex_lock(&lock);
    count(backend, sizes);
    pthread_mutex_unlock(&lock);
}

int64_t gm_host_pool_trim(const gm_backend *backend)
{
    int64_t total = 0, bytes = 0;
    for (;;) {
        gm_memory_kind kind = GM_PINNED;
        pthread_mutex_lock(&lock);
        void *address = take_oldest(backend, &kind, &bytes);
        pthread_mutex_unlock(&lock);
        if (!address) {
            return total;
        }
        backend->host_release(kind, address);
        total += bytes;
    }
}
