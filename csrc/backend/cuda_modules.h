/* Launches, on a GPU, of kernels that are loaded at run time. */
#ifndef GPUMEM_CUDA_MODULES_H
#define GPUMEM_CUDA_MODULES_H

#include "backend/backend.h"

typedef struct gm_cuda_module_launch {
    void *kernel;     /* a CUkernel */
    const char *name; /* for messages */
    gm_dim grid, block, cluster;
    size_t shared_bytes; /* dynamic; the kernel has opted in to them */
    bool cooperative;
    void **args; /* pointers to the values of the parameters */
    gm_stream stream;
} gm_cuda_module_launch;

/* On the thread's current device. */
gm_status gm_cuda_launch_loaded(const gm_cuda_module_launch *launch);

#endif
