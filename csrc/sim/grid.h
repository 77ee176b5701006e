/* The run of a grid: its blocks, one after another, on one or several host threads. */
#ifndef GPUMEM_SIM_GRID_H
#define GPUMEM_SIM_GRID_H

#include "gpumem.h"
#include "sim/module.h"

enum { GM_MAX_HOST_THREADS = 256 };

typedef struct gm_grid {
    const gm_module *module;
    const gm_module *own; /* the simulator's own, which has its thread-local variables */
    gm_kernel kernel;
    gm_dim grid, block;
    const void *args;
    size_t args_size;
    size_t shared_bytes; /* dynamic */
    gm_trace *trace;     /* NULL: at full speed */
    int host_threads;    /* most to use; a traced grid uses one */
    bool early;          /* blocks may start before the kernel before has ended */
    bool cooperative;    /* all blocks are resident, and may meet at barriers of the grid */
    int64_t heap_launch; /* its number among those that may use the heap */
    int64_t resident;    /* blocks that a device holds at once; 0: no limit is known */
} gm_grid;

gm_status gm_grid_run(const gm_grid *grid);

#endif
