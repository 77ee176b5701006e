/*
 * The cuda backend of a build without nvcc: every call fails and says why.
 */
#include "backend/backend.h"
#include "backend/cublas.h"
#include "backend/cuda_modules.h"

static gm_status refuse(void)
{
    return gm_fail(GM_ERROR_UNAVAILABLE, "gpumem was built without nvcc");
}

static int device_count(void)
{
    return 0;
}

static gm_status current_device(int *device)
{
    (void)device;
    return refuse();
}

static gm_status use_device(int device, int *previous)
{
    (void)device, (void)previous;
    return refuse();
}

static gm_status properties(int device, const gm_device_properties **properties)
{
    (void)device, (void)properties;
    return refuse();
}

static gm_status memory(int64_t *free_bytes, int64_t *total_bytes)
{
    (void)free_bytes, (void)total_bytes;
    return refuse();
}

static gm_status supports(const gm_variant *variant, const gm_device_properties *device)
{
    (void)variant, (void)device;
    return refuse();
}

static gm_status allocate(int64_t bytes, gm_stream stream, void **address)
{
    (void)bytes, (void)stream, (void)address;
    return refuse();
}

static void release(void *address, gm_stream stream)
{
    (void)address, (void)stream;
}

static void ignore(void *handle)
{
    (void)handle;
}

static gm_status adopt(void *address, int64_t bytes, int *device)
{
    (void)address, (void)bytes, (void)device;
    return refuse();
}

static void disown(void *address, int64_t bytes)
{
    (void)address, (void)bytes;
}

static gm_status pool(gm_pool_sizes *sizes)
{
    (void)sizes;
    return refuse();
}

static gm_status host_allocate(gm_memory_kind kind, int64_t bytes, void **address)
{
    (void)kind, (void)bytes, (void)address;
    return refuse();
}

static void host_release(gm_memory_kind kind, void *address)
{
    (void)kind, (void)address;
}

static gm_memory_kind host_kind(const void *address)
{
    (void)address;
    return GM_PAGEABLE;
}

static gm_status migrate(void *address, int64_t bytes, bool to_device, gm_stream stream)
{
    (void)address, (void)bytes, (void)to_device, (void)stream;
    return refuse();
}

static gm_status copy(void *to, const void *from, int64_t bytes, gm_direction direction,
                      gm_stream stream)
{
    (void)to, (void)from, (void)bytes, (void)direction, (void)stream;
    return refuse();
}

static gm_status copy_rows(void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                           int64_t width, int64_t rows, gm_direction direction, gm_stream stream)
{
    (void)to, (void)to_pitch, (void)from, (void)from_pitch, (void)width, (void)rows;
    (void)direction, (void)stream;
    return refuse();
}

static gm_status can_reach(int device, int other, bool *can)
{
    (void)device, (void)other, (void)can;
    return refuse();
}

static gm_status let_reach(int device, int other, bool on, bool *before)
{
    (void)device, (void)other, (void)on, (void)before;
    return refuse();
}

static gm_status send(void *to, int device, const void *from, int64_t bytes, gm_stream stream)
{
    (void)to, (void)device, (void)from, (void)bytes, (void)stream;
    return refuse();
}

static gm_status fill(void *to, int byte, int64_t bytes, gm_stream stream)
{
    (void)to, (void)byte, (void)bytes, (void)stream;
    return refuse();
}

static gm_status launch(const gm_variant *variant, const gm_plan *plan, gm_stream stream)
{
    (void)variant, (void)plan, (void)stream;
    return refuse();
}

static gm_status wait(gm_stream stream)
{
    (void)stream;
    return refuse();
}

/* stream_create and event_create: both hand out a pointer. */
static gm_status create(void **handle)
{
    (void)handle;
    return refuse();
}

static gm_status stream_is_nonblocking(gm_stream stream, bool *nonblocking)
{
    (void)stream, (void)nonblocking;
    return refuse();
}

static gm_status stream_join(gm_stream later, gm_stream earlier)
{
    (void)later, (void)earlier;
    return refuse();
}

static gm_status event_done(gm_event event, bool *done)
{
    (void)event, (void)done;
    return refuse();
}

static gm_status event_record(gm_event event, gm_stream stream)
{
    (void)event, (void)stream;
    return refuse();
}

static gm_status event_elapsed(gm_event from, gm_event to, float *milliseconds)
{
    (void)from, (void)to, (void)milliseconds;
    return refuse();
}

static gm_status stream_follow(gm_stream stream, gm_event event)
{
    (void)stream, (void)event;
    return refuse();
}

static gm_status symbol_address(const gm_symbol *symbol, bool traced, void **address)
{
    (void)symbol, (void)traced, (void)address;
    return refuse();
}

static gm_status symbol_copy(const gm_symbol *symbol, bool traced, bool into, void *memory,
                             int64_t bytes, gm_stream stream)
{
    (void)symbol, (void)traced, (void)into, (void)memory, (void)bytes, (void)stream;
    return refuse();
}

static gm_status texture(gm_texture *texture, gm_stream stream)
{
    (void)texture, (void)stream;
    return refuse();
}

static gm_status cluster_blocks(const gm_variant *variant, int *blocks)
{
    (void)variant, (void)blocks;
    return refuse();
}

static gm_status attributes(const gm_variant *variant, const gm_plan *plan,
                            gm_attributes *attributes)
{
    (void)variant, (void)plan, (void)attributes;
    return refuse();
}

static gm_status tensor_map(const gm_tensor *tensor, gm_tensor_map *map)
{
    (void)tensor, (void)map;
    return refuse();
}

static gm_status library(const char *name)
{
    (void)name;
    return refuse();
}

gm_status gm_cublas_transpose(int itemsize, int64_t rows, int64_t columns, const void *in,
                              int64_t pitch, void *out, gm_stream stream)
{
    (void)itemsize, (void)rows, (void)columns, (void)in, (void)pitch, (void)out, (void)stream;
    return refuse();
}

gm_status gm_cublas_sgemm(const gm_cublas_product *product, gm_stream stream)
{
    (void)product, (void)stream;
    return refuse();
}

static void versions(char runtime[32], char driver[32])
{
    runtime[0] = '\0';
    driver[0] = '\0';
}

gm_status gm_cuda_launch_loaded(const gm_cuda_module_launch *launch)
{
    (void)launch;
    return refuse();
}

const gm_backend gm_cuda = {
    .name = "cuda",
    .open = refuse,
    .device_count = device_count,
    .current_device = current_device,
    .use_device = use_device,
    .properties = properties,
    .memory = memory,
    .supports = supports,
    .allocate = allocate,
    .release = release,
    .adopt = adopt,
    .disown = disown,
    .pool = pool,
    .pool_trim = refuse,
    .host_allocate = host_allocate,
    .host_release = host_release,
    .host_kind = host_kind,
    .migrate = migrate,
    .copy = copy,
    .copy_rows = copy_rows,
    .can_reach = can_reach,
    .let_reach = let_reach,
    .send = send,
    .fill = fill,
    .launch = launch,
    .wait = wait,
    .wait_all = refuse,
    .stream_create = create,
    .stream_destroy = ignore,
    .stream_is_nonblocking = stream_is_nonblocking,
    .stream_join = stream_join,
    .event_create = create,
    .event_destroy = ignore,
    .event_record = event_record,
    .event_done = event_done,
    .stream_follow = stream_follow,
    .event_elapsed = event_elapsed,
    .cluster_blocks = cluster_blocks,
    .attributes = attributes,
    .symbol_address = symbol_address,
    .symbol_copy = symbol_copy,
    .tensor_map = tensor_map,
    .texture = texture,
    .library = library,
    .versions = versions,
};
