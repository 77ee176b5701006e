/* Launches of kernels that are loaded at run time. */
#include "backend/sim_modules.h"

#include "backend/sim_internal.h"
#include "sim/grid.h"
#include "sim/heap.h"
#include "sim/memory.h"

/* nvcc refuses a file with more. */
static gm_status check_static_shared(const char *kernel, gm_extents variables)
{
    enum { MOST = 48 * 1024 };
    for (int i = 0; i < variables.count; i++) {
        if (variables.list[i].bytes > MOST) {
            return gm_find(GM_RULE_LAUNCH,
                           "kernel %s cannot be launched: its file declares %llu bytes of shared "
                           "memory as '%s', and a block has at most %d that are not dynamic",
                           kernel, (unsigned long long)variables.list[i].bytes,
                           variables.list[i].name, MOST);
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
        status = check_static_shared(kernel->name, launch->loaded->module.shared_extents);
    }
    if (status != GM_OK) {
        return status;
    }
    bool traced = launch->trace;
    gm_grid grid = {
        .module = &launch->loaded->module,
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
