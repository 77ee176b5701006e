/* The simulator as a backend: everything happens at once, on the host. */
#include <string.h>

#include "backend/sim_internal.h"
#include "backend/sim_kernels.h"
#include "sim/grid.h"
#include "sim/memory.h"
#include "sim/tensor.h"

gm_status gm_sim_check_launch(const char *kernel, gm_dim grid, gm_dim block, size_t shared_bytes)
{
    const gm_device_properties *properties;
    gm_sim_properties(0, &properties);
    const struct {
        const char *what;
        int64_t value, most;
    } limits[] = {
        {"threads in a block", (int64_t)block.x * block.y * block.z, 1024},
        {"threads in a block along x", block.x, 1024},
        {"threads in a block along y", block.y, 1024},
        {"threads in a block along z", block.z, 64},
        {"blocks along x", grid.x, INT32_MAX},
        {"blocks along y", grid.y, 65535},
        {"blocks along z", grid.z, 65535},
        {"bytes of dynamic shared memory", (int64_t)shared_bytes, properties->shared_per_block},
    };
    int count = (int)(sizeof limits / sizeof *limits);
    for (int i = 0; i < count; i++) {
        bool shared = i == count - 1;
        if (limits[i].value > limits[i].most || (limits[i].value < 1 && !shared)) {
            return gm_find(
                GM_RULE_LAUNCH,
                "kernel %s cannot be launched with %lld %s: a device takes from %d to at most %lld",
                kernel, (long long)limits[i].value, limits[i].what, shared ? 0 : 1,
                (long long)limits[i].most);
        }
    }
    return GM_OK;
}

static gm_status sim_launch(const gm_variant *variant, const gm_plan *plan, gm_stream stream)
{
    gm_status status =
        gm_sim_check_launch(variant->symbol, plan->grid, plan->block, plan->shared_bytes);
    (void)stream;
    if (status != GM_OK) {
        return status;
    }
    _Alignas(
        64) unsigned char args[GM_MAX_ARGS]; /* a tensor map among them has to be 64-byte aligned */
    memcpy(args, plan->args, plan->args_size);
    gm_grid grid = {
        .module = gm_sim_kernels(),
        .own = gm_sim_kernels(),
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
        .early = variant->programmatic_launch,
        .host_threads = gm_sim_host_threads(),
        .resident = gm_sim_resident_blocks(plan->block, plan->shared_bytes),
    };
    status = gm_grid_run(&grid);
    if (status == GM_OK && !plan->trace) {
        status = gm_memory_check_guards(variant->symbol);
    }
    return status;
}

static gm_status sim_cluster_blocks(const gm_variant *variant, int *blocks)
{
    (void)variant;
    *blocks = 0;
    return GM_OK;
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

/* The simulated texture unit reads the matrix itself. */
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

/* Any compute capability: kernels run as C. */
static gm_status sim_supports(const gm_variant *variant, const gm_device_properties *device)
{
    (void)device;
    return variant->cuda_only
               ? gm_fail(GM_ERROR_UNAVAILABLE, "%s is not available on the simulator: %s",
                         variant->symbol, variant->cuda_only)
               : GM_OK;
}

const gm_backend gm_sim = {
    .name = "sim",
    .host_memory = true,
    .traces = true,
    .open = gm_sim_open,
    .device_count = gm_sim_device_count,
    .current_device = gm_sim_current_device,
    .use_device = gm_sim_use_device,
    .properties = gm_sim_properties,
    .memory = gm_memory_sizes,
    .supports = sim_supports,
    .allocate = gm_sim_allocate,
    .release = gm_sim_release,
    .adopt = gm_sim_adopt,
    .disown = gm_memory_disown,
    .pool = gm_sim_pool,
    .pool_trim = gm_sim_pool_trim,
    .host_allocate = gm_sim_host_allocate,
    .host_release = gm_sim_host_release,
    .host_kind = gm_sim_host_kind,
    .migrate = gm_sim_migrate,
    .copy = gm_sim_copy,
    .copy_rows = gm_sim_copy_rows,
    .can_reach = gm_sim_can_reach,
    .let_reach = gm_sim_let_reach,
    .send = gm_sim_send,
    .fill = gm_sim_fill,
    .launch = sim_launch,
    .cluster_blocks = sim_cluster_blocks,
    .wait = gm_sim_wait,
    .wait_all = gm_sim_wait_all,
    .stream_create = gm_sim_stream_create,
    .stream_destroy = gm_sim_stream_destroy,
    .stream_is_nonblocking = gm_sim_stream_is_nonblocking,
    .stream_join = gm_sim_stream_join,
    .event_create = gm_sim_event_create,
    .event_destroy = gm_sim_event_destroy,
    .event_record = gm_sim_event_record,
    .event_done = gm_sim_event_done,
    .stream_follow = gm_sim_stream_follow,
    .event_elapsed = gm_sim_event_elapsed,
    .attributes = sim_attributes,
    .symbol_address = gm_sim_symbol_address,
    .symbol_copy = gm_sim_symbol_copy,
    .tensor_map = gm_sim_tensor_map,
    .texture = sim_texture,
    .library = sim_library,
    .versions = sim_versions,
};
