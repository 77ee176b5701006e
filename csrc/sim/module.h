/*
 * A module of kernels: a shared object whose kernels the simulator runs. The module describes
 * itself; the simulator reaches nothing in it but through this description.
 */
#ifndef GPUMEM_SIM_MODULE_H
#define GPUMEM_SIM_MODULE_H

#include "gpumem.h"
#include "sim/lane.h"
#include "sim/region.h"

/* One record per memory access in the traced kernels; csrc/build_sites.py writes them. */
typedef struct gm_site_record {
    const void *address; /* return address of the call that reports the access */
    const char *file;
    int32_t line;
    int32_t vector; /* a vector is moved as a whole, and has no padding */
} gm_site_record;

/* A variable of a module. Bytes between two variables belong to none. */
typedef struct gm_extent {
    uintptr_t offset, bytes; /* from the start of its memory space in the module */
    const char *name;        /* as the source has it */
} gm_extent;

/* The variables of one memory space, in ascending order. */
typedef struct gm_extents {
    const gm_extent *list; /* NULL: unknown, so that the space is checked as a whole */
    int count;
} gm_extents;

typedef struct gm_module {
    bool loaded; /* at run time: kernels of users, with which anything may be wrong */
    const gm_site_record *sites, *sites_end;
    gm_region image;     /* the shared object as loaded, its variables included */
    gm_region constant;  /* __constant__ variables */
    gm_region variables; /* __device__ variables */
    /* __shared__ variables are thread-local variables of the shared object. They lie in its
     * thread-local storage, which has this size and, for the calling host thread, this start. */
    size_t shared_bytes;
    uintptr_t (*shared_begin)(void);
    gm_lane_state *(*lane)(void); /* the calling host thread's gm_lane of this shared object */
    /* Offsets from shared_begin(), constant.begin and variables.begin. */
    gm_extents shared_extents, constant_extents, variable_extents;
} gm_module;

/* One kernel of a module, compiled for speed and with every access reported. */
typedef struct gm_kernel {
    const char *name, *doc; /* for messages and reports */
    gm_host_kernel plain, traced;
} gm_kernel;

#endif
