/* Launches of kernels that are loaded at run time. */
#ifndef GPUMEM_SIM_MODULES_H
#define GPUMEM_SIM_MODULES_H

#include "sim/loader.h"

typedef struct gm_module_launch {
    const gm_loaded *loaded;
    int kernel; /* its number in the module */
    gm_dim grid, block;
    size_t shared_bytes; /* dynamic */
    const void *args;    /* pointers to the values of the parameters, and behind them the values */
    size_t args_size;    /* of both */
    bool cooperative;    /* all blocks are resident together */
    gm_trace *trace;     /* of a module that is compiled for it; NULL: at full speed */
} gm_module_launch;

gm_status gm_sim_module_launch(const gm_module_launch *launch);

#endif
