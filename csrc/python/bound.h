/* A call that Python objects are bound to: the C call, and the arrays that it keeps alive. */
#ifndef GPUMEM_PYTHON_BOUND_H
#define GPUMEM_PYTHON_BOUND_H

#include "call/run.h"
#include "python/device_object.h"

typedef struct gm_bound {
    gm_run run;
    /* References; NULL for arrays of the host. */
    gm_device_array *in[GM_MAX_OPERANDS];
    gm_device_array *out;   /* what the kernel writes */
    gm_device_array *given; /* the caller's out, where the result goes then; NULL: it is there */
    bool copied;            /* an input is a packed copy of the caller's */
} gm_bound;

/* Both functions return 0, or -1 with an exception. The first sets the fields that do not depend on
 * where the arrays are. */
int gm_bound_begin(gm_bound *b, PyObject *family, PyObject *variant, PyObject *inputs,
                   PyObject *out, PyObject *parameters);
/* Sets the device and its properties. */
int gm_bound_find_device(gm_bound *b, int *device);
/* Sets the result's shape and dtype. */
int gm_bound_find_result(gm_bound *b);
void gm_bound_clear(gm_bound *b);

#endif
