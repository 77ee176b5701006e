/* Launches of kernels that are loaded at run time. */
#include "backend/sim_modules.h"

#include "backend/sim_internal.h"
#include "backend/sim_kernels.h"
#include "sim/grid.h"
#include "sim/heap.h"
#include "sim/limits.h"
#include "sim/memory.h"

/* nvcc refuses a file with more. */
static gm_status check_static_shared(const char *kernel, gm_extents variables)
{
    for (int i = 0; i < variables.count; i++) {
        if (variables.list[i].bytes > GM_MOST_SHARED_STATIC) {
            return gm_find(GM_RULE_LAUNCH,
                           "kernel %s cannot be launched: its file declares %llu bytes of shared "
                           "memory as '%s', and a block has at most %d that are not dynamic",
                           kernel, (unsigned long long)variables.list[i].bytes,
                           variables.list[i].name, GM_MOST_SHARED_STATIC);
        }
    }
    return GM_OK;
}

/* What the kernel's __launch_bounds__ and __cluster_dims__ allow. */
static gm_status check_bounds(const gm_module_kernel *kernel, gm_dim grid, gm_dim block)
{
    const gm_module_limits limits = kernel->limits;
    int64_t threads = (int64_t)block.x * block.y * block.z;
    if (limits.threads > 0 && threads > limits.threads) {
        return gm_find(GM_RULE_LAUNCH,
                       "kernel %s cannot be launched with %lld threads in a block: its "
                       "__launch_bounds__ allow at most %d",
                       kernel->name, (long long)threads, limits.threads);
    }
    const unsigned blocks[] = {grid.x, grid.y, grid.z};
    for (int i = 0; i < 3; i++) {
        if (limits.cluster[i] > 0 && blocks[i] % (unsigned)limits.cluster[i] != 0) {
            return gm_find(GM_RULE_LAUNCH,
                           "kernel %s cannot be launched with %u blocks along %c: its "
                           "__cluster_dims__ are %d, %d, %d, and a grid has no more than whole "
                           "clusters",
                           kernel->name, blocks[i], "xyz"[i], limits.cluster[0], limits.cluster[1],
                           limits.cluster[2]);
        }
    }
    return GM_OK;
}

gm_status gm_sim_module_launch(const gm_module_launch *launch)
{
    const gm_module_kernel *kernel = &launch->loaded->kernels[launch->kernel];
    gm_status status =
        gm_sim_check_launch(kernel->name, launch->grid, launch->block, launch->shared_bytes);
    if (status == GM_OK) {
        status = check_bounds(kernel, launch->grid, launch->block);
    }
    if (status == GM_OK) {
        status = check_static_shared(kernel->name, launch->loaded->module.shared_extents);
    }
    if (status != GM_OK) {
        return status;
    }
    bool traced = launch->trace;
    gm_grid grid = {
        .module = &launch->loaded->module,
        .own = gm_sim_kernels(),
        .kernel = {.name = kernel->name, .doc = "", .plain = kernel->run, .traced = kernel->run},
        .grid = launch->grid,
        .block = launch->block,
        .args = launch->args,
        .args_size = launch->args_size,
        .shared_bytes = launch->shared_bytes,
        .trace = launch->trace,
        .cooperative = launch->cooperative,
        .host_threads = gm_sim_host_threads(),
        .resident = gm_sim_resident_blocks(launch->block, launch->shared_bytes),
    };
    grid.heap_launch = gm_heap_begin(traced);
    status = gm_grid_run(&grid);
    gm_heap_end(grid.heap_launch, traced, status != GM_OK);
    if (status == GM_OK && !traced) {
        status = gm_memory_check_guards(kernel->name);
    }
    return status;
}
