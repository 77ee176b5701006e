/*
 * Memory of devices, which the host may touch only while work of the device runs; page-locked and
 * managed memory; pools.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/sim_kernels.h"

enum { UNIT = 512, PAGE = 4096 };

static const size_t arena_bytes = (size_t)1 << 30;

/* A piece of an arena, or host memory. */
typedef struct block {
    struct block *next; /* of an arena: by address */
    char *begin;
    size_t bytes, asked;
    bool used, pooled;
    enum cudaMemoryType kind;
    int device;
    fake_point freed; /* where on a stream */
    uint64_t when;    /* number of the release */
} block;

static block *arenas[FAKE_DEVICES], *host_blocks;
static char *arena_begin[FAKE_DEVICES];
static bool is_open[FAKE_DEVICES], reaches[FAKE_DEVICES][FAKE_DEVICES];
static uint64_t releases;
static bool protects; /* slow, where much memory is in use */

typedef struct fake_pool {
    uint64_t reserved, used, threshold;
} fake_pool;

static fake_pool pools[FAKE_DEVICES];
static uint64_t unpooled[FAKE_DEVICES]; /* bytes in use */

/* ---- who may touch it ---------------------------------------------------------------------- */

static void protect(int device, bool open)
{
    open = open || !protects;
    if (arena_begin[device] && is_open[device] != open) {
        mprotect(arena_begin[device], arena_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
        is_open[device] = open;
    }
}

void fake_open_memory(int device, int other)
{
    for (int i = 0; i < FAKE_DEVICES; i++) {
        protect(i, i == device || i == other || reaches[device][i]);
    }
}

void fake_close_memory(void)
{
    for (int i = 0; i < FAKE_DEVICES; i++) {
        protect(i, false);
    }
}

__attribute__((visibility("default"))) void fake_cuda_protect(int on)
{
    protects = on != 0;
    fake_close_memory();
}

/* ---- blocks -------------------------------------------------------------------------------- */

static block *open_arena(int device)
{
    if (!arenas[device]) {
        block *all = calloc(1, sizeof *all);
        void *begin =
            mmap(NULL, arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (!all || begin == MAP_FAILED) {
            abort();
        }
        *all = (block){.begin = begin, .bytes = arena_bytes, .device = device};
        arena_begin[device] = begin;
        arenas[device] = all;
        protect(device, false);
    }
    return arenas[device];
}

/* A free block that the stream may use: the one freed last, whose old users are likeliest to be
 * still at work. */
static block *choose(int device, size_t bytes, struct CUstream_st *stream)
{
    block *best = NULL;
    for (block *at = open_arena(device); at; at = at->next) {
        bool ordered = fake_is_done(at->freed) || (stream && at->freed.stream == stream);
        if (!at->used && at->bytes >= bytes && ordered && (!best || at->when > best->when)) {
            best = at;
        }
    }
    return best;
}

static block *take(int device, size_t asked, struct CUstream_st *stream)
{
    size_t bytes = (asked + UNIT - 1) / UNIT * UNIT;
    block *found = choose(device, bytes, stream);
    if (!found) {
        return NULL;
    }
    if (found->bytes > bytes) {
        block *rest = calloc(1, sizeof *rest);
        if (!rest) {
            return NULL;
        }
        *rest = *found;
        rest->begin += bytes;
        rest->bytes -= bytes;
        found->next = rest;
        found->bytes = bytes;
    }
    found->used = true;
    found->asked = asked;
    found->kind = cudaMemoryTypeDevice;
    return found;
}

static bool may_join(const block *at, const block *next)
{
    return next && !at->used && !next->used && fake_is_done(at->freed) &&
           fake_is_done(next->freed) && at->begin + at->bytes == next->begin;
}

static void give(block *gone, fake_point freed)
{
    gone->used = false;
    gone->freed = freed;
    gone->when = ++releases;
    for (block *at = arenas[gone->device]; at; at = at->next) {
        while (may_join(at, at->next)) {
            block *next = at->next;
            at->bytes += next->bytes;
            at->next = next->next;
            free(next);
        }
    }
}

static block *find_in(block *list, const void *address)
{
    for (block *at = list; at; at = at->next) {
        if (at->used && (const char *)address >= at->begin &&
            (const char *)address < at->begin + at->bytes) {
            return at;
        }
    }
    return NULL;
}

static block *find(const void *address)
{
    block *found = find_in(host_blocks, address);
    for (int i = 0; !found && i < FAKE_DEVICES; i++) {
        found = find_in(arenas[i], address);
    }
    return found;
}

static bool in_arena(const void *address)
{
    for (int i = 0; i < FAKE_DEVICES; i++) {
        uintptr_t offset = (uintptr_t)address - (uintptr_t)arena_begin[i];
        if (arena_begin[i] && offset < arena_bytes) {
            return true;
        }
    }
    return false;
}

bool fake_find(const void *address, size_t bytes, enum cudaMemoryType *kind, int *device)
{
    const gm_module *module = gm_sim_kernels();
    block *found = find(address);
    *kind = found ? found->kind : cudaMemoryTypeUnregistered;
    *device = found ? found->device : 0;
    if (gm_region_holds(module->constant, (uintptr_t)address) ||
        gm_region_holds(module->variables, (uintptr_t)address)) {
        *kind = cudaMemoryTypeDevice;
        return true;
    }
    if (found ? (const char *)address + bytes > found->begin + found->asked : in_arena(address)) {
        fake_complain("bytes outside of an allocation");
        return false;
    }
    return true;
}

int64_t fake_live_memory(bool of_host)
{
    int64_t count = 0;
    for (int i = 0; i < FAKE_DEVICES; i++) {
        for (block *at = of_host ? NULL : arenas[i]; at; at = at->next) {
            count += at->used;
        }
    }
    for (block *at = of_host ? host_blocks : NULL; at; at = at->next) {
        count++;
    }
    return count;
}

/* ---- device memory ------------------------------------------------------------------------- */

typedef struct junk_work {
    fake_work work;
    char *begin;
    size_t bytes;
} junk_work;

static void run_junk(fake_work *work)
{
    junk_work *junk = (junk_work *)work;
    memset(junk->begin, FAKE_JUNK, junk->bytes);
}

static bool push_junk(struct CUstream_st *stream, const block *at)
{
    junk_work *junk = fake_new_work(sizeof *junk, run_junk);
    if (junk) {
        junk->work.device = junk->work.other = at->device;
        junk->begin = at->begin;
        junk->bytes = at->bytes;
        fake_push(stream, &junk->work);
    }
    return junk != NULL;
}

/* Allocations on the default stream, for which all other streams wait. */
static int64_t default_allocations;

__attribute__((visibility("default"))) int64_t fake_cuda_default_allocations(void)
{
    return default_allocations;
}

cudaError_t cudaMallocAsync(void **address, size_t bytes, cudaStream_t on)
{
    FAKE_BEGIN();
    default_allocations += on == NULL || on == cudaStreamLegacy;
    int device = fake_current_device();
    struct CUstream_st *stream = fake_stream(on);
    block *made = stream ? take(device, bytes, stream) : NULL;
    if (!made || !push_junk(stream, made)) {
        return fake_leave(cudaErrorMemoryAllocation);
    }
    fake_pool *pool = &pools[device];
    made->pooled = true;
    pool->used += made->bytes;
    pool->reserved = pool->reserved > pool->used ? pool->reserved : pool->used;
    *address = made->begin;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaFreeAsync(void *address, cudaStream_t on)
{
    cudaError_t error = fake_enter(__func__);
    struct CUstream_st *stream = fake_stream(on);
    block *gone = find(address);
    if (!stream || !gone || gone->begin != address || !gone->pooled) {
        return fake_leave(fake_complain("cudaFreeAsync of what is not allocated so"));
    }
    if (fake_current_device() != gone->device) {
        return fake_leave(fake_complain("cudaFreeAsync on the stream of another device"));
    }
    if (!fake_is_lost()) {
        push_junk(stream, gone);
    }
    pools[gone->device].used -= gone->bytes;
    give(gone, fake_latest(stream));
    return fake_leave(error);
}

cudaError_t cudaMalloc(void **address, size_t bytes)
{
    FAKE_BEGIN();
    int device = fake_current_device();
    block *made = take(device, bytes, NULL);
    if (!made) {
        return fake_leave(cudaErrorMemoryAllocation);
    }
    made->pooled = false;
    unpooled[device] += made->bytes;
    *address = made->begin;
    return fake_leave(cudaSuccess);
}

/* ---- host memory --------------------------------------------------------------------------- */

static cudaError_t make_host(void **address, size_t bytes, enum cudaMemoryType kind)
{
    size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    block *made = calloc(1, sizeof *made);
    char *begin = made ? aligned_alloc(PAGE, whole) : NULL;
    if (!begin) {
        free(made);
        return cudaErrorMemoryAllocation;
    }
    memset(begin, FAKE_JUNK, whole);
    *made = (block){.next = host_blocks,
                    .begin = begin,
                    .bytes = whole,
                    .asked = bytes,
                    .used = true,
                    .kind = kind,
                    .device = fake_current_device()};
    host_blocks = made;
    *address = begin;
    return cudaSuccess;
}

static void free_host(block *gone)
{
    block **at = &host_blocks;
    while (*at != gone) {
        at = &(*at)->next;
    }
    *at = gone->next;
    free(gone->begin);
    free(gone);
}

cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned flags)
{
    FAKE_BEGIN();
    (void)flags;
    return fake_leave(make_host(address, bytes, cudaMemoryTypeHost));
}

cudaError_t cudaMallocManaged(void **address, size_t bytes, unsigned flags)
{
    FAKE_BEGIN();
    (void)flags;
    return fake_leave(make_host(address, bytes, cudaMemoryTypeManaged));
}

/* Waits for the device, as CUDA does. */
cudaError_t cudaFree(void *address)
{
    cudaError_t error = fake_enter(__func__);
    block *gone = find(address);
    if (!gone || gone->begin != address || gone->kind == cudaMemoryTypeHost) {
        return fake_leave(fake_complain("cudaFree of what is not allocated so"));
    }
    fake_finish_all(-1);
    if (gone->kind == cudaMemoryTypeManaged) {
        free_host(gone);
        return fake_leave(error);
    }
    fake_open_memory(gone->device, gone->device);
    memset(gone->begin, FAKE_JUNK, gone->bytes);
    fake_close_memory();
    *(gone->pooled ? &pools[gone->device].used : &unpooled[gone->device]) -= gone->bytes;
    give(gone, (fake_point){NULL, 0});
    return fake_leave(error);
}

cudaError_t cudaFreeHost(void *address)
{
    cudaError_t error = fake_enter(__func__);
    block *gone = find(address);
    if (!gone || gone->begin != address || gone->kind != cudaMemoryTypeHost) {
        return fake_leave(fake_complain("cudaFreeHost of what is not allocated so"));
    }
    fake_finish_all(-1);
    free_host(gone);
    return fake_leave(error);
}

cudaError_t cudaMemPrefetchAsync(const void *address, size_t bytes, struct cudaMemLocation to,
                                 unsigned flags, cudaStream_t on)
{
    FAKE_BEGIN();
    (void)flags, (void)to;
    enum cudaMemoryType kind;
    int device;
    bool known = fake_find(address, bytes, &kind, &device) && kind == cudaMemoryTypeManaged;
    return fake_leave(known && fake_stream(on) ? cudaSuccess : cudaErrorInvalidValue);
}

/* ---- what there is ------------------------------------------------------------------------- */

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *found, const void *address)
{
    FAKE_BEGIN();
    const block *at = find(address);
    enum cudaMemoryType kind = at ? at->kind : cudaMemoryTypeUnregistered;
    *found = (struct cudaPointerAttributes){.type = kind, .device = at ? at->device : -1};
    found->devicePointer = at ? (void *)(uintptr_t)address : NULL;
    found->hostPointer = kind == cudaMemoryTypeDevice ? NULL : (void *)(uintptr_t)address;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    FAKE_BEGIN();
    int device = fake_current_device();
    *total = arena_bytes;
    *available = arena_bytes - pools[device].reserved - unpooled[device];
    return fake_leave(cudaSuccess);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    FAKE_BEGIN();
    *pool = (cudaMemPool_t)&pools[device];
    return fake_leave(cudaSuccess);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value)
{
    FAKE_BEGIN();
    if (which != cudaMemPoolAttrReleaseThreshold) {
        return fake_leave(cudaErrorInvalidValue);
    }
    ((fake_pool *)pool)->threshold = *(uint64_t *)value;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, enum cudaMemPoolAttr which, void *value)
{
    FAKE_BEGIN();
    const fake_pool *pool = (const fake_pool *)handle;
    *(uint64_t *)value = which == cudaMemPoolAttrReservedMemCurrent ? pool->reserved
                         : which == cudaMemPoolAttrUsedMemCurrent   ? pool->used
                                                                    : pool->threshold;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t bytes)
{
    FAKE_BEGIN();
    fake_pool *pool = (fake_pool *)handle;
    uint64_t kept = pool->used > bytes ? pool->used : bytes;
    pool->reserved = pool->reserved < kept ? pool->reserved : kept;
    return fake_leave(cudaSuccess);
}

/* ---- other devices ------------------------------------------------------------------------- */

cudaError_t cudaDeviceCanAccessPeer(int *able, int device, int other)
{
    FAKE_BEGIN();
    *able = device != other;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
                                 struct cudaMemLocation *location)
{
    FAKE_BEGIN();
    bool on = reaches[location->id][(fake_pool *)pool - pools];
    *flags = on ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *wanted,
                                 size_t count)
{
    FAKE_BEGIN();
    for (size_t i = 0; i < count; i++) {
        bool on = wanted[i].flags == cudaMemAccessFlagsProtReadWrite;
        reaches[wanted[i].location.id][(fake_pool *)pool - pools] = on;
    }
    return fake_leave(cudaSuccess);
}
