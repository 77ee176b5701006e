/*
 * A call of a family in the making, without Python.
 *
 * Whoever has the arrays describes them in `call` and says where each one is; the functions below
 * fill in the rest, up to the plan. run.h runs it.
 */
#ifndef GPUMEM_RESOLVE_H
#define GPUMEM_RESOLVE_H

#include "gpumem.h"
#include "memory/device.h"

/* The operands of a call: its inputs by their index, and the result. */
enum { GM_OUT = GM_MAX_OPERANDS, GM_OPERANDS };

/* Where an operand is. */
typedef struct gm_placement {
    gm_device_memory *memory; /* NULL: on the host */
    bool needs_transfer;      /* on the host, and kernels do not use it in place */
} gm_placement;

typedef struct gm_run {
    gm_call call;
    gm_placement at[GM_OPERANDS];
    bool nonblocking;          /* call.stream and the default stream do not wait for each other */
    int64_t chunk;             /* bytes of an array that move at a time; 0: gpumem decides */
    const gm_variant *variant; /* the one that runs; set by planning */
    gm_plan plan;
} gm_run;

/* NULL if the operand is an optional one that is absent. */
gm_array *gm_run_operand(gm_run *run, int i);

/* Sets call->device for the backend's current device, whose number is *device. */
gm_status gm_call_find_device(gm_call *call, int *device);
/* Checks the inputs' shapes and sets the result's shape and dtype in call->out. */
gm_status gm_call_find_result(gm_call *call);

/* Chooses the variant and plans, for operands that need no transfer. */
gm_status gm_run_plan(gm_run *run);

/* Begins a call of the copy family on device memory; the caller describes both arrays. */
gm_status gm_run_begin_copy(gm_run *run, gm_device_memory *from, gm_device_memory *to);

#endif
