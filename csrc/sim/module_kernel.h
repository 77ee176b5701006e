/*
 * What a loaded module of kernels and the simulator exchange. C on the simulator's side, C++ in the
 * module.
 */
#ifndef GPUMEM_SIM_MODULE_KERNEL_H
#define GPUMEM_SIM_MODULE_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gm_lane_state;

/* A parameter of a kernel, or what it points to. kind is NumPy's dtype.kind: b i u f, V for a
 * struct, ? for void. */
typedef struct gm_module_parameter {
    char kind;
    char pointer;  /* 0: no pointer; else the rest is about what it points to */
    char constant; /* a pointer to const */
    uint32_t bytes;
} gm_module_parameter;

/* What a kernel's declaration allows; 0: it does not say. */
typedef struct gm_module_limits {
    int32_t threads;    /* at most in a block: __launch_bounds__ */
    int32_t cluster[3]; /* of which a grid's sizes are multiples: __cluster_dims__ */
} gm_module_limits;

typedef struct gm_module_kernel {
    const char *name;
    /* args: an array of pointers to the values, in the order of the parameters. */
    void (*run)(const void *args, const struct gm_lane_state *lane);
    const gm_module_parameter *parameters;
    int count;
    gm_module_limits limits;
} gm_module_kernel;

enum { GM_MOST_DIMENSIONS = 8 };

/* A __device__, __constant__ or __managed__ variable; of an array, the elements' type. */
typedef struct gm_module_variable {
    const char *name;
    void *address;
    gm_module_parameter element;
    int dimensions;
    uint64_t shape[GM_MOST_DIMENSIONS];
} gm_module_variable;

/* The simulator's functions, in the order of entry_points.def. */
typedef void (*gm_entry_point)(void);

struct gm_module;

/* A module exports this: takes the simulator's functions, and gives its description, its kernels
 * and its variables, the last of which have no name. NULL if it was compiled for another number of
 * functions. */
#define GM_MODULE_OPEN "gm_module_open"
typedef const struct gm_module *gm_module_open_function(const gm_entry_point *entries, int count,
                                                        const gm_module_kernel **kernels,
                                                        const gm_module_variable **variables);

#ifdef __cplusplus
}
#endif

#endif
