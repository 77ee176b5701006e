/* Modules of kernels that are loaded at run time. */
#ifndef GPUMEM_SIM_LOADER_H
#define GPUMEM_SIM_LOADER_H

#include "gpumem.h"
#include "sim/module.h"
#include "sim/module_kernel.h"

typedef struct gm_loaded {
    void *handle;
    gm_module module; /* a copy, with the extents of its variables */
    const gm_module_kernel *kernels;
    int kernel_count;
    const gm_module_variable *variables; /* the last has no name */
} gm_loaded;

/* Modules stay loaded: host threads keep their shared memory, and messages the names of files. */
gm_status gm_loader_open(const char *path, gm_loaded *loaded);
/* Lists its variables. The lists and their names are kept for as long as the module. */
void gm_loader_name_variables(gm_loaded *loaded, gm_extents shared, gm_extents constant,
                              gm_extents variables);

#endif
