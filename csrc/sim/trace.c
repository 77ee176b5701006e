/*
 * The access stream: sorts addresses into spaces, finds the source line of each access, and
 * lines up the accesses of a warp's lanes into requests.
 */
#define _GNU_SOURCE
#include "sim/trace.h"
#include "sim/requests.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fiber.h"
#include "sim/lane.h"

/* The builder writes one record per instrumented access of the traced kernels. */
typedef struct site_record {
    const void *address;
    const char *file;
    int32_t line;
    int32_t reserved;
} site_record;

extern const site_record __start_gm_sites[] __attribute__((weak, visibility("hidden")));
extern const site_record __stop_gm_sites[] __attribute__((weak, visibility("hidden")));

/* In this order they are asked. What names a cause stands before what names a symptom. */
static const gm_observer *const observers[] = {
    &gm_bounds_observer,       &gm_alignment_observer, &gm_pipeline_observer,
    &gm_engine_observer,       &gm_races_observer,     &gm_uninitialised_observer,
    &gm_global_races_observer, &gm_banks_observer,     &gm_sectors_observer,
    &gm_samples_observer,      &gm_constants_observer,
};
enum { OBSERVERS = sizeof observers / sizeof *observers };
_Static_assert((int)OBSERVERS <= (int)GM_MAX_OBSERVERS, "room for every observer");

const char *gm_space_name(gm_space space)
{
    static const char *const names[] = {"global", "shared", "constant", "unknown", "private"};
    return names[space];
}

const char *gm_kind_name(gm_kind kind)
{
    static const char *const names[] = {"load", "store", "prefetch"};
    return names[kind];
}

const char *gm_actor_name(gm_actor actor)
{
    static const char *const names[] = {"thread", "engine", "pipeline"};
    return names[actor];
}

gm_dim gm_trace_thread(const gm_trace *trace, int number)
{
    unsigned n = (unsigned)number, x = trace->block.x, y = trace->block.y;
    return (gm_dim){n % x, n / x % y, n / x / y};
}

gm_dim gm_trace_block_index(const gm_trace *trace, int64_t number)
{
    int64_t x = trace->grid.x, y = trace->grid.y;
    return (gm_dim){(unsigned)(number % x), (unsigned)(number / x % y), (unsigned)(number / x / y)};
}

void gm_trace_place(gm_trace *trace, const char *file, int line, int thread)
{
    trace->fault.file = file;
    trace->fault.line = line;
    trace->fault.thread = thread;
}

/* ---- source lines ------------------------------------------------------------------------ */

static uint32_t hash_key(const void *address, gm_space space, gm_kind kind)
{
    uint64_t key = (uint64_t)(uintptr_t)address * 16 + (uint64_t)space * 4 + (uint64_t)kind;
    return (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

/* Linear: once per program counter and launch. */
static const site_record *find_record(const void *address)
{
    for (const site_record *record = __start_gm_sites; record < __stop_gm_sites; record++) {
        if (record->address == address) {
            return record;
        }
    }
    return NULL;
}

static bool table_grow(gm_trace *trace)
{
    int size = trace->table_size ? 2 * trace->table_size : 256;
    int32_t *table = calloc((size_t)size, sizeof *table);
    gm_site *sites = realloc(trace->sites, (size_t)size / 2 * sizeof *sites);
    if (sites) {
        trace->sites = sites;
    }
    if (!table || !sites) {
        free(table);
        return false;
    }
    for (int i = 0; i < trace->site_count; i++) {
        uint32_t slot = hash_key(sites[i].address, sites[i].space, sites[i].kind);
        while (table[slot & (uint32_t)(size - 1)]) {
            slot++;
        }
        table[slot & (uint32_t)(size - 1)] = i + 1;
    }
    free(trace->table);
    trace->table = table;
    trace->table_size = size;
    trace->site_room = size / 2;
    return true;
}

/* Index of the site, made at its first access; -1 when memory ran out. */
static int find_site(gm_trace *trace, gm_space space, const gm_trace_call *call)
{
    const void *address = call->code;
    gm_kind kind = call->kind;
    uint32_t mask = (uint32_t)trace->table_size - 1;
    uint32_t slot = hash_key(address, space, kind) & mask;
    for (; trace->table_size && trace->table[slot]; slot = (slot + 1) & mask) {
        const gm_site *site = &trace->sites[trace->table[slot] - 1];
        /* Two calls of the simulator may share a return address, but then name their lines. */
        if (site->address == address && site->space == space && site->kind == kind &&
            (!call->file || site->line == call->line)) {
            return trace->table[slot] - 1;
        }
    }
    if (trace->site_count == trace->site_room) {
        if (!table_grow(trace)) {
            return -1;
        }
        mask = (uint32_t)trace->table_size - 1;
        slot = hash_key(address, space, kind) & mask;
        while (trace->table[slot]) {
            slot = (slot + 1) & mask;
        }
    }
    const site_record *record = call->file ? NULL : find_record(address);
    trace->sites[trace->site_count] = (gm_site){
        .address = address,
        .file = record ? record->file : call->file,
        .line = record ? record->line : call->line,
        .space = space,
        .kind = kind,
        .actor = call->actor,
    };
    trace->table[slot] = ++trace->site_count;
    return trace->site_count - 1;
}

/* ---- spaces ------------------------------------------------------------------------------ */

static bool inside(gm_region region, uintptr_t address)
{
    return address - region.begin < region.end - region.begin;
}

/*
 * Where this module is, and where its thread-local variables are, told by the one that every thread
 * has: gm_lane. The loader tells, under a lock that a child of fork may find taken, so it is asked
 * once, while the module is loaded.
 */
static struct {
    gm_region image;
    uintptr_t lane_offset, shared_bytes; /* of gm_lane in the thread-local variables; of them all */
} module;

static int find_module(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)unused;
    gm_region image = {UINTPTR_MAX, 0};
    uintptr_t shared_bytes = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD) {
            uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
            image.begin = begin < image.begin ? begin : image.begin;
            image.end = begin + segment->p_memsz > image.end ? begin + segment->p_memsz : image.end;
        } else if (segment->p_type == PT_TLS) {
            shared_bytes = segment->p_memsz;
        }
    }
    if (!inside(image, (uintptr_t)&module)) {
        return 0;
    }
    module.image = image;
    bool told = size >= offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof info->dlpi_tls_data;
    if (told && info->dlpi_tls_data) {
        module.lane_offset = (uintptr_t)&gm_lane - (uintptr_t)info->dlpi_tls_data;
        module.shared_bytes = shared_bytes;
    }
    return 1;
}

static __attribute__((constructor)) void learn_module(void)
{
    gm_lane.dynamic_shared = NULL; /* touched: this thread has its own from now on */
    dl_iterate_phdr(find_module, NULL);
}

/* Of this thread. */
static gm_region static_shared(void)
{
    uintptr_t begin = (uintptr_t)&gm_lane - module.lane_offset;
    return (gm_region){begin, begin + module.shared_bytes};
}

/* The linker knows where sections begin and end; a module without such variables has none. */
extern GM_HIDDEN __attribute__((weak)) char __start_gm_constant[], __stop_gm_constant[];
extern GM_HIDDEN __attribute__((weak)) char __start_gm_variable[], __stop_gm_variable[];

static gm_region device_variables(void)
{
    return (gm_region){(uintptr_t)__start_gm_variable, (uintptr_t)__stop_gm_variable};
}

/* Allocations, and __device__ variables as one more, in order of addresses. */
static gm_status list_regions(gm_trace *trace)
{
    trace->regions = gm_memory_snapshot(&trace->region_count); /* with room for one more */
    if (!trace->regions) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the list of allocations");
    }
    gm_region variables = device_variables();
    if (variables.end > variables.begin) {
        int at = trace->region_count++;
        for (; at > 0 && trace->regions[at - 1].begin > variables.begin; at--) {
            trace->regions[at] = trace->regions[at - 1];
        }
        trace->regions[at] = variables;
    }
    return GM_OK;
}

static gm_space classify(gm_trace *trace, uintptr_t address)
{
    if (trace->last_region >= 0 && inside(trace->regions[trace->last_region], address)) {
        return GM_SPACE_GLOBAL;
    }
    if (inside(trace->lane, address) || inside(trace->arguments, address)) {
        return GM_SPACE_PRIVATE;
    }
    /* __shared__ variables are thread-local to the host: all of the module's are together. */
    if (inside(trace->shared_static, address) || inside(trace->shared_dynamic, address)) {
        return GM_SPACE_SHARED;
    }
    if (inside(trace->constant, address)) {
        return GM_SPACE_CONSTANT;
    }
    bool variable = inside(device_variables(), address); /* global memory in this module's image */
    if (gm_fiber_owns(trace->stacks, address) || (!variable && inside(trace->image, address))) {
        return GM_SPACE_PRIVATE;
    }
    int low = 0, high = trace->region_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (trace->regions[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < trace->region_count && inside(trace->regions[low], address)) {
        trace->last_region = low;
        return GM_SPACE_GLOBAL;
    }
    return GM_SPACE_UNKNOWN;
}

/* ---- the stream --------------------------------------------------------------------------- */

gm_trace *gm_trace_create(void)
{
    gm_trace *trace = calloc(1, sizeof(gm_trace));
    if (trace) {
        trace->shared_low = UINTPTR_MAX;
    }
    return trace;
}

void gm_trace_destroy(gm_trace *trace)
{
    if (trace) {
        gm_trace_end(trace);
        for (int i = 0; i < trace->site_count; i++) {
            free(trace->sites[i].samples);
        }
        free(trace->table);
        free(trace->sites);
        free(trace->kernels);
        free(trace);
    }
}

static gm_status subscribe(gm_trace *trace)
{
    for (int i = 0; i < OBSERVERS; i++) {
        const gm_observer *observer = observers[i];
        gm_subscriber *subscriber = &trace->subscribers[i];
        subscriber->observer = observer;
        subscriber->state = calloc(1, observer->state_bytes + 1);
        if (!subscriber->state) {
            return gm_fail(GM_ERROR_MEMORY, "out of memory for the observers of a kernel");
        }
        for (int space = 0; space <= GM_SPACE_PRIVATE; space++) {
            if (observer->access && observer->accesses & GM_SEES(space)) {
                trace->access_subscribers[space][trace->access_counts[space]++] = *subscriber;
            }
        }
        if (observer->begin) {
            gm_status status = observer->begin(subscriber->state, trace);
            if (status != GM_OK) {
                return status;
            }
        }
    }
    return GM_OK;
}

gm_status gm_trace_begin(gm_trace *trace, const gm_trace_launch *launch)
{
    trace->image = module.image;
    trace->shared_static = static_shared();
    trace->lane = (gm_region){(uintptr_t)&gm_lane, (uintptr_t)(&gm_lane + 1)};
    trace->arguments =
        (gm_region){(uintptr_t)launch->args, (uintptr_t)launch->args + launch->args_size};
    trace->shared_dynamic = (gm_region){(uintptr_t)launch->shared_dynamic,
                                        (uintptr_t)launch->shared_dynamic + launch->shared_bytes};
    trace->shared_span = launch->shared_bytes + module.shared_bytes + 64;
    trace->grid = launch->grid;
    trace->block = launch->block;
    trace->block_threads = (int)(launch->block.x * launch->block.y * launch->block.z);
    trace->stacks = launch->stacks;
    trace->last_region = -1;
    trace->stream_count = 0;
    gm_trace_place(trace, NULL, 0, -1);
    memset(trace->access_counts, 0, sizeof trace->access_counts);
    trace->constant = (gm_region){(uintptr_t)__start_gm_constant, (uintptr_t)__stop_gm_constant};
    gm_status status = list_regions(trace);
    if (status != GM_OK) {
        return status;
    }
    trace->order = gm_order_create(trace->block_threads);
    if (!trace->order) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the order of a block's threads");
    }
    return subscribe(trace);
}

gm_status gm_trace_kernel_add(gm_trace *trace, const gm_trace_kernel *kernel)
{
    size_t count = (size_t)trace->kernel_count;
    gm_trace_kernel *kernels = realloc(trace->kernels, (count + 1) * sizeof *kernels);
    if (!kernels) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the kernels of a call");
    }
    kernels[count] = *kernel;
    trace->kernels = kernels;
    trace->kernel_count++;
    return GM_OK;
}

void gm_trace_end(gm_trace *trace)
{
    for (int i = 0; i < OBSERVERS; i++) {
        gm_subscriber *subscriber = &trace->subscribers[i];
        if (subscriber->state && subscriber->observer->end) {
            subscriber->observer->end(subscriber->state, trace);
        }
        free(subscriber->state);
        subscriber->state = NULL;
    }
    gm_order_destroy(trace->order);
    free(trace->regions);
    free(trace->stream);
    trace->order = NULL;
    trace->regions = NULL;
    trace->stream = NULL;
    trace->stream_room = 0;
}

/* ---- events ------------------------------------------------------------------------------- */

/* Calls a hook of every observer that has it, up to the first fault. */
#define NOTIFY(trace, status, hook, ...)                                                           \
    for (int i_ = 0; i_ < OBSERVERS && (status) == GM_OK; i_++) {                                  \
        const gm_subscriber *to_ = &(trace)->subscribers[i_];                                      \
        if (to_->observer->hook) {                                                                 \
            (status) = to_->observer->hook(to_->state, __VA_ARGS__);                               \
        }                                                                                          \
    }

gm_status gm_trace_block(gm_trace *trace, gm_dim index, int64_t number)
{
    gm_status status = GM_OK;
    trace->block_index = index;
    trace->block_number = number;
    gm_order_block(trace->order);
    NOTIFY(trace, status, block, trace);
    return status;
}

gm_status gm_trace_block_end(gm_trace *trace)
{
    gm_status status = GM_OK;
    NOTIFY(trace, status, block_end, trace);
    return status;
}

gm_status gm_trace_barrier(gm_trace *trace)
{
    gm_status status = GM_OK;
    gm_order_barrier(trace->order);
    NOTIFY(trace, status, barrier, trace);
    return status;
}

void gm_trace_warp(gm_trace *trace, int first_thread, unsigned lanes)
{
    gm_order_warp(trace->order, first_thread, lanes);
}

gm_status gm_trace_thread_end(gm_trace *trace, int thread)
{
    gm_status status = GM_OK;
    trace->thread = thread;
    NOTIFY(trace, status, thread_end, trace);
    return status;
}

gm_status gm_trace_sync(gm_trace *trace, int thread, const gm_sync *sync)
{
    gm_status status = GM_OK;
    trace->thread = thread;
    /* Observers first: whether a thread may wait is not told by what it learns from waiting. */
    NOTIFY(trace, status, sync, trace, sync);
    if (status == GM_ERROR_SIMULATION && trace->fault.thread < 0) {
        gm_trace_place(trace, sync->file, sync->line, thread);
    }
    if (status != GM_OK) {
        return status;
    }
    switch (sync->kind) {
    case GM_MBARRIER_INIT: gm_order_forget(trace->order, sync->mbarrier); return GM_OK;
    case GM_MBARRIER_ARRIVE: return gm_order_arrive(trace->order, thread, sync->mbarrier);
    case GM_MBARRIER_PHASE: gm_order_phase(trace->order, sync->mbarrier); return GM_OK;
    case GM_MBARRIER_WAIT: return gm_order_wait(trace->order, thread, sync->mbarrier);
    default: return GM_OK;
    }
}

/* ---- accesses ------------------------------------------------------------------------------ */

static gm_status stream_grow(gm_trace *trace)
{
    int64_t room = trace->stream_room ? 2 * trace->stream_room : 64 * 1024;
    /* Their order is kept in 32 bits. */
    gm_access *stream =
        room <= UINT32_MAX ? realloc(trace->stream, (size_t)room * sizeof *stream) : NULL;
    if (!stream) {
        return gm_fail(GM_ERROR_MEMORY,
                       "out of memory for the accesses of a warp, %lld so far; trace a smaller "
                       "shape",
                       (long long)trace->stream_count);
    }
    trace->stream = stream;
    trace->stream_room = room;
    return GM_OK;
}

/* The kernel is being stopped by one observer: do others know of an earlier cause? */
static gm_status stop(gm_trace *trace, const gm_observer *by, gm_status status)
{
    if (status == GM_ERROR_SIMULATION && trace->fault.thread < 0) {
        const gm_access *access = &trace->stream[trace->stream_count - 1];
        const gm_site *site = &trace->sites[access->site];
        gm_trace_place(trace, site->file, site->line, trace->thread);
    }
    gm_status earlier = GM_OK;
    if (status == GM_ERROR_SIMULATION && !by->about_order) {
        NOTIFY(trace, earlier, stopped, trace);
    }
    return earlier != GM_OK ? earlier : status;
}

/* A copy by somebody else than the thread: between which memories may it be? */
static gm_status check_copy(gm_trace *trace, int thread, gm_space space, const gm_trace_call *call)
{
    bool store = call->kind == GM_STORE;
    bool wrong = store && space == GM_SPACE_PRIVATE;
    if (call->actor == GM_BY_PIPELINE) {
        wrong = wrong || space == (store ? GM_SPACE_GLOBAL : GM_SPACE_SHARED);
    }
    if (!wrong) {
        return GM_OK;
    }
    gm_trace_place(trace, call->file, call->line, thread);
    return gm_fail(GM_ERROR_SIMULATION, call->actor == GM_BY_PIPELINE
                                            ? "an asynchronous copy that is not from global to "
                                              "shared memory"
                                            : "a copy into a thread's own variables");
}

gm_status gm_trace_access(gm_trace *trace, int thread, const gm_trace_call *call)
{
    gm_space space = classify(trace, call->address);
    if (call->actor != GM_BY_THREAD) {
        gm_status status = check_copy(trace, thread, space, call);
        if (status != GM_OK) {
            return status;
        }
    }
    if (space == GM_SPACE_PRIVATE) {
        return GM_OK;
    }
    if (trace->stream_count == trace->stream_room) {
        gm_status status = stream_grow(trace);
        if (status != GM_OK) {
            return status;
        }
    }
    int site = find_site(trace, space, call);
    if (site < 0) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the list of source lines");
    }
    gm_access *access = &trace->stream[trace->stream_count++];
    *access = (gm_access){call->address, call->bytes, (uint32_t)site, (uint8_t)(thread % GM_WARP)};
    trace->thread = thread;
    trace->call = call;
    bool prefetch = call->kind == GM_PREFETCH;
    for (int i = 0; i < trace->access_counts[space]; i++) {
        const gm_subscriber *to = &trace->access_subscribers[space][i];
        if (prefetch && !(to->observer->accesses & GM_SEES_PREFETCHES)) {
            continue;
        }
        gm_status status = to->observer->access(to->state, trace, access);
        if (status != GM_OK) {
            return stop(trace, to->observer, status);
        }
    }
    trace->stream_count -= prefetch;
    return GM_OK;
}

/* ---- requests ----------------------------------------------------------------------------- */

static gm_status emit(gm_trace *trace, gm_request *request, uint32_t site)
{
    gm_status status = GM_OK;
    request->site = &trace->sites[site];
    request->site->requests++;
    request->site->lanes += request->lanes;
    for (int i = 0; i < request->lanes; i++) {
        if ((int)request->bytes[i] > request->site->width) {
            request->site->width = (int)request->bytes[i];
        }
    }
    NOTIFY(trace, status, request, trace, request);
    trace->request_number++;
    return status;
}

/* The usual case: all lanes made the same accesses in the same order. */
static bool flush_uniform(gm_trace *trace, gm_status *status)
{
    const gm_access *stream = trace->stream;
    int64_t per_lane = 1;
    while (per_lane < trace->stream_count && stream[per_lane].lane == stream[0].lane) {
        per_lane++;
    }
    int64_t lanes = trace->stream_count / per_lane;
    if (lanes > GM_WARP || lanes * per_lane != trace->stream_count) {
        return false;
    }
    for (int64_t lane = 1; lane < lanes; lane++) {
        const gm_access *own = &stream[lane * per_lane];
        uint8_t before = own[-1].lane;
        if (own[0].lane <= before) {
            return false;
        }
        for (int64_t i = 0; i < per_lane; i++) {
            if (own[i].lane != own[0].lane || own[i].site != stream[i].site) {
                return false;
            }
        }
    }
    gm_request request;
    request.lanes = (int)lanes;
    for (int64_t lane = 0; lane < lanes; lane++) {
        request.lane[lane] = stream[lane * per_lane].lane;
    }
    for (int64_t i = 0; i < per_lane && *status == GM_OK; i++) {
        for (int64_t lane = 0; lane < lanes; lane++) {
            request.address[lane] = stream[lane * per_lane + i].address;
            request.bytes[lane] = stream[lane * per_lane + i].bytes;
        }
        *status = emit(trace, &request, stream[i].site);
    }
    return true;
}

/* Any case, see requests.c. */
static gm_status flush_any(gm_trace *trace)
{
    const uint32_t count = (uint32_t)trace->stream_count;
    uint32_t *order = malloc(2 * ((size_t)count + 1) * sizeof *order), *begins = order + count + 1;
    if (!order) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the requests of a warp");
    }
    int64_t requests =
        gm_requests_form(trace->stream, count, trace->sites, trace->site_count, order, begins);
    gm_status status = requests < 0 ? GM_ERROR_MEMORY : GM_OK;
    for (int64_t i = 0; i < requests && status == GM_OK; i++) {
        gm_request request = {.lanes = (int)(begins[i + 1] - begins[i])};
        for (int lane = 0; lane < request.lanes; lane++) {
            const gm_access *access = &trace->stream[order[begins[i] + (uint32_t)lane]];
            request.address[lane] = access->address;
            request.bytes[lane] = access->bytes;
            request.lane[lane] = access->lane;
        }
        status = emit(trace, &request, trace->stream[order[begins[i]]].site);
    }
    free(order);
    return status;
}

gm_status gm_trace_flush(gm_trace *trace, int warp)
{
    gm_status status = GM_OK;
    trace->warp = warp;
    if (trace->stream_count > 0 && !flush_uniform(trace, &status)) {
        status = flush_any(trace);
    }
    trace->stream_count = 0;
    return status;
}
