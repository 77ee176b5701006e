/* The simulator as a backend: everything happens at once, on the host. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/sim_kernels.h"
#include "fork_lock.h"
#include "sim/grid.h"
#include "sim/memory.h"
#include "sim/tensor.h"

enum { MAX_MULTIPROCESSORS = 1024 };

static gm_figures figures;
static int host_threads;
static atomic_bool is_open;
GM_FORK_LOCK(opening);

static int usable_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* The number that an environment variable asks for; otherwise what is there stays. */
static gm_status read_number(const char *name, int most, int *number)
{
    const char *wish = getenv(name);
    if (!wish || wish[0] == '\0') {
        return GM_OK;
    }
    char *end;
    long wanted = strtol(wish, &end, 10); /* LONG_MAX where it is larger */
    if (wish[0] < '0' || wish[0] > '9' || *end != '\0' || wanted < 1 || wanted > most) {
        return gm_fail(
            GM_ERROR_VALUE,
            "the environment variable %s is \"%.80s\", expected an integer from 1 to %d, "
            "or nothing for %d",
            name, wish, most, *number);
    }
    *number = (int)wanted;
    return GM_OK;
}

/* What can be chosen: host threads, one per processor unless said otherwise, and multiprocessors,
 * whose number decides how some kernels are cut: with those of a GPU the counts are for its plans.
 */
static gm_status read_environment(void)
{
    int usable = usable_processors();
    host_threads = usable < GM_MAX_HOST_THREADS ? usable : GM_MAX_HOST_THREADS;
    figures.multiprocessors = 16;
    gm_status status = read_number("GPUMEM_SIM_THREADS", GM_MAX_HOST_THREADS, &host_threads);
    return status == GM_OK ? read_number("GPUMEM_SIM_MULTIPROCESSORS", MAX_MULTIPROCESSORS,
                                         &figures.multiprocessors)
                           : status;
}

/* Limits are those of compute capability 9.0, so that what runs here fits a GPU. */
static void describe(void)
{
    figures = (gm_figures){
        .name = "gpumem simulator",
        .multiprocessors = figures.multiprocessors,
        .warp_size = GM_WARP,
        .threads_per_multiprocessor = 2048,
        .blocks_per_multiprocessor = 32,
        .shared_per_block = 227 * 1024,
        .shared_per_multiprocessor = 228 * 1024,
        .constant_bytes = 64 * 1024,
        .max_grid_x = INT32_MAX,
        .managed = true,
    };
    int64_t free_bytes;
    gm_memory_figures(&free_bytes, &figures.memory_bytes);
}

static gm_status sim_open(void)
{
    gm_status status = GM_OK;
    if (atomic_load_explicit(&is_open, memory_order_acquire)) {
        return GM_OK;
    }
    pthread_mutex_lock(&opening);
    if (!atomic_load(&is_open)) {
        status = read_environment();
        if (status == GM_OK) {
            describe();
            atomic_store(&is_open, true);
        }
    }
    pthread_mutex_unlock(&opening);
    return status;
}

static int sim_device_count(void)
{
    return 1;
}

static gm_status sim_current_device(int *device)
{
    *device = 0;
    return GM_OK;
}

static gm_status check_device(int device)
{
    return device == 0
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE, "device is %d, the simulator has device 0 alone", device);
}

static gm_status sim_use_device(int device, int *previous)
{
    *previous = 0;
    return check_device(device);
}

static gm_status sim_can_reach(int device, int other, bool *can)
{
    *can = true;
    return check_device(device != 0 ? device : other);
}

static gm_status sim_let_reach(int device, int other, bool on, bool *before)
{
    gm_status status = sim_can_reach(device, other, before);
    return status != GM_OK || on
               ? status
               : gm_fail(GM_ERROR_VALUE, "device 0 always reaches the memory of device 0");
}

static gm_status sim_figures(int device, const gm_figures **result)
{
    (void)device;
    *result = &figures;
    return GM_OK;
}

/* Any compute capability: kernels run as C. */
static gm_status sim_supports(const gm_variant *variant, const gm_figures *device)
{
    (void)device;
    return variant->cuda_only
               ? gm_fail(GM_ERROR_UNAVAILABLE, "%s is not available on the simulator: %s",
                         variant->symbol, variant->cuda_only)
               : GM_OK;
}

/* Of memory that is the host's, and in the same list. */
static atomic_llong host_bytes;

static void sim_release(void *address)
{
    gm_memory_release(address);
}

static gm_status sim_adopt(void *address, int64_t bytes, int *device)
{
    *device = 0;
    return gm_memory_adopt(address, bytes);
}

/* Nothing is kept: malloc does that. */
static gm_status sim_pool(gm_pool_figures *pool)
{
    int64_t used_bytes = gm_memory_used() - atomic_load(&host_bytes);
    *pool = (gm_pool_figures){.reserved_bytes = used_bytes, .used_bytes = used_bytes};
    return GM_OK;
}

static gm_status sim_pool_trim(void)
{
    return GM_OK;
}

/* All memory is the host's; of these kinds, the kernels may reach it as well. */
static gm_status sim_host_allocate(gm_memory_kind kind, int64_t bytes, void **address)
{
    (void)kind;
    gm_status status = gm_memory_allocate(bytes, address);
    if (status == GM_OK) {
        atomic_fetch_add(&host_bytes, bytes);
    }
    return status;
}

static void sim_host_release(gm_memory_kind kind, void *address)
{
    (void)kind;
    atomic_fetch_sub(&host_bytes, gm_memory_release(address));
}

static gm_memory_kind sim_host_kind(const void *address)
{
    (void)address;
    return GM_PAGEABLE;
}

static gm_status sim_migrate(void *address, int64_t bytes, bool to_device, gm_stream stream)
{
    (void)address, (void)bytes, (void)to_device, (void)stream;
    return GM_OK;
}

static gm_status sim_copy(void *to, const void *from, int64_t bytes, gm_direction direction,
                          gm_stream stream)
{
    (void)direction;
    (void)stream;
    if (bytes > 0) {
        memcpy(to, from, (size_t)bytes);
    }
    return GM_OK;
}

static gm_status sim_copy_rows(void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                               int64_t width, int64_t rows, gm_direction direction,
                               gm_stream stream)
{
    (void)direction;
    (void)stream;
    for (int64_t i = 0; i < rows; i++) {
        memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, (size_t)width);
    }
    return GM_OK;
}

static gm_status sim_send(void *to, int device, const void *from, int64_t bytes, gm_stream stream)
{
    gm_status status = check_device(device);
    return status == GM_OK ? sim_copy(to, from, bytes, GM_WITHIN, stream) : status;
}

static gm_status sim_fill(void *to, int byte, int64_t bytes, gm_stream stream)
{
    (void)stream;
    if (bytes > 0) {
        memset(to, byte, (size_t)bytes);
    }
    return GM_OK;
}

static gm_status sim_launch(const gm_variant *variant, const gm_plan *plan, gm_stream stream)
{
    (void)stream;
    int64_t threads = (int64_t)plan->block.x * plan->block.y * plan->block.z;
    if (threads < 1 || threads > 1024 || plan->grid.y > 65535 || plan->grid.z > 65535 ||
        plan->grid.x > INT32_MAX || (int64_t)plan->shared_bytes > figures.shared_per_block) {
        return gm_fail(GM_ERROR_SIMULATION,
                       "kernel %s: a grid of (%u, %u, %u) blocks of (%u, %u, %u) threads with %zu "
                       "bytes of dynamic shared memory is more than a device takes",
                       variant->symbol, plan->grid.x, plan->grid.y, plan->grid.z, plan->block.x,
                       plan->block.y, plan->block.z, plan->shared_bytes);
    }
    _Alignas(64) unsigned char args[GM_MAX_ARGS]; /* as a tensor map among them has to be */
    memcpy(args, plan->args, plan->args_size);
    gm_grid grid = {
        .module = gm_sim_kernels(),
        .kernel = {.name = variant->symbol,
                   .doc = variant->doc,
                   .plain = variant->plain,
                   .traced = variant->traced},
        .grid = plan->grid,
        .block = plan->block,
        .args = args,
        .args_size = plan->args_size,
        .shared_bytes = plan->shared_bytes,
        .trace = plan->trace,
        .host_threads = host_threads,
    };
    gm_status status = gm_grid_run(&grid);
    if (status == GM_OK && !plan->trace) {
        status = gm_memory_check_guards(variant->symbol);
    }
    return status;
}

static gm_status sim_wait(gm_stream stream)
{
    (void)stream;
    return GM_OK;
}

static gm_status sim_wait_all(void)
{
    return GM_OK;
}

/* All streams are one: the caller's own thread. The handle only has to be a distinct address. */
static gm_status sim_stream_create(gm_stream *stream)
{
    *stream = malloc(1);
    return *stream ? GM_OK : gm_fail(GM_ERROR_MEMORY, "out of memory for a stream");
}

static void sim_stream_destroy(gm_stream stream)
{
    free(stream);
}

static gm_status sim_stream_apart(gm_stream stream, bool *apart)
{
    (void)stream;
    *apart = false;
    return GM_OK;
}

static gm_status sim_stream_join(gm_stream later, gm_stream earlier)
{
    (void)later;
    (void)earlier;
    return GM_OK;
}

static gm_status sim_event_unavailable(void)
{
    return gm_fail(GM_ERROR_UNAVAILABLE, "the simulator has no times, so it has no events");
}

static gm_status sim_event_create(gm_event *event)
{
    (void)event;
    return sim_event_unavailable();
}

static void sim_event_destroy(gm_event event)
{
    (void)event;
}

static gm_status sim_event_record(gm_event event, gm_stream stream)
{
    (void)event;
    (void)stream;
    return sim_event_unavailable();
}

static gm_status sim_stream_follow(gm_stream stream, gm_event event)
{
    (void)stream;
    (void)event;
    return sim_event_unavailable();
}

static gm_status sim_event_elapsed(gm_event from, gm_event to, float *milliseconds)
{
    (void)from;
    (void)to;
    (void)milliseconds;
    return sim_event_unavailable();
}

static gm_status sim_attributes(const gm_variant *variant, const gm_plan *plan,
                                gm_attributes *attributes)
{
    (void)plan;
    (void)attributes;
    return gm_fail(GM_ERROR_UNAVAILABLE,
                   "%s: registers and occupancy are a device's; the simulator has none",
                   variant->symbol);
}

static gm_status sim_symbol_address(const gm_symbol *symbol, bool traced, void **address)
{
    *address = traced ? symbol->traced() : symbol->plain();
    return GM_OK;
}

static gm_status sim_symbol_copy(const gm_symbol *symbol, bool traced, bool into, void *memory,
                                 int64_t bytes, gm_stream stream)
{
    void *variable;
    sim_symbol_address(symbol, traced, &variable);
    return into ? sim_copy(variable, memory, bytes, GM_WITHIN, stream)
                : sim_copy(memory, variable, bytes, GM_WITHIN, stream);
}

/* The texture unit here reads the matrix itself. */
static gm_status sim_texture(gm_texture *texture, gm_stream stream)
{
    (void)texture;
    (void)stream;
    return GM_OK;
}

static gm_status sim_library(const char *name)
{
    return gm_fail(GM_ERROR_UNAVAILABLE, "the library %s runs on a GPU, not on the simulator",
                   name);
}

static void sim_versions(char runtime[32], char driver[32])
{
    runtime[0] = driver[0] = '\0';
}

const gm_backend gm_sim = {
    .name = "sim",
    .host_memory = true,
    .traces = true,
    .open = sim_open,
    .device_count = sim_device_count,
    .current_device = sim_current_device,
    .use_device = sim_use_device,
    .figures = sim_figures,
    .memory = gm_memory_figures,
    .supports = sim_supports,
    .allocate = gm_memory_allocate,
    .release = sim_release,
    .adopt = sim_adopt,
    .disown = gm_memory_disown,
    .pool = sim_pool,
    .pool_trim = sim_pool_trim,
    .host_allocate = sim_host_allocate,
    .host_release = sim_host_release,
    .host_kind = sim_host_kind,
    .migrate = sim_migrate,
    .copy = sim_copy,
    .copy_rows = sim_copy_rows,
    .can_reach = sim_can_reach,
    .let_reach = sim_let_reach,
    .send = sim_send,
    .fill = sim_fill,
    .launch = sim_launch,
    .wait = sim_wait,
    .wait_all = sim_wait_all,
    .stream_create = sim_stream_create,
    .stream_destroy = sim_stream_destroy,
    .stream_apart = sim_stream_apart,
    .stream_join = sim_stream_join,
    .event_create = sim_event_create,
    .event_destroy = sim_event_destroy,
    .event_record = sim_event_record,
    .stream_follow = sim_stream_follow,
    .event_elapsed = sim_event_elapsed,
    .attributes = sim_attributes,
    .symbol_address = sim_symbol_address,
    .symbol_copy = sim_symbol_copy,
    .tensor_map = gm_sim_tensor_map,
    .texture = sim_texture,
    .library = sim_library,
    .versions = sim_versions,
};
