/*
 * A call of a family, from its arrays to its result, without Python.
 *
 * Whoever has the arrays describes them in `call` and says where each one is. gm_run_call does the
 * rest: it chooses a variant, plans, moves arrays of the host to the device and back, whole or in
 * pieces, and launches.
 */
#ifndef GPUMEM_RUN_H
#define GPUMEM_RUN_H

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
/* Waits, on the device, for other work on the operands' memory, and checks the inputs' values. */
gm_status gm_run_check(const gm_run *run);
/* Launches a planned call; may be repeated. */
gm_status gm_run_launch(const gm_run *run);
/* Runs a call once. If its arrays are the host's, the result is there when it returns. */
gm_status gm_run_call(gm_run *run);

/* Begins a call of the copy family on device memory; the caller describes both arrays. */
gm_status gm_run_begin_copy(gm_run *run, gm_device_memory *from, gm_device_memory *to);

#endif
