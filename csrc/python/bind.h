/*
 * A call on its way from Python to the device, in the hands of several files: parse.c reads the
 * names and numbers, call_device.c and call_host.c the arrays, prepared.c keeps it; bind.c is what
 * they share, and the way in.
 */
#ifndef GPUMEM_BIND_H
#define GPUMEM_BIND_H

#include "python/python.h"

/* A call with its arrays on the device, and what it keeps alive. */
typedef struct gm_bound {
    gm_call call;
    gm_plan plan;
    const gm_variant *variant;
    gm_device_array *in[GM_MAX_OPERANDS];
    gm_device_array *out;
    bool apart; /* the stream and the default stream do not wait for each other */
} gm_bound;

/* Where these return an int: 0, or -1 with an exception. */

/* parse.c */
int gm_parse_parameters(const gm_family *family, PyObject *values, gm_value *parameters);
/* How many arrays a call has at least: what is optional comes last. */
int gm_count_required(const gm_family *family);
/* Input i as it was given; NULL for an optional one that was left out, or is None. */
PyObject *gm_given(const gm_family *family, PyObject *inputs, int i);

/* bind.c */
/* The fields that do not depend on where the arrays are. */
int gm_bound_begin(gm_bound *b, PyObject *family, PyObject *variant, PyObject *inputs,
                   PyObject *out, PyObject *parameters);
void gm_bound_clear(gm_bound *b);
int gm_check_input(const gm_operand *operand, PyArrayObject *array);
/* The inputs of an in-place family may not overlap the one that is changed. */
int gm_check_apart(const gm_family *family, PyArrayObject *const *inputs);
/* The result's shape, in call->out; its dtype is that of the first input. */
int gm_find_result(gm_call *call);
/* out against the expected result; out is an ndarray or a device array's layout. */
int gm_check_call_out(const gm_call *call, PyArrayObject *out, PyArray_Descr *dtype,
                      PyArrayObject *const *inputs);
/* The current device, whose figures the call gets; -1 and an exception when there is none. */
int gm_choose_device(gm_call *call);
/* Chooses a variant where none is named, and plans the launch. */
int gm_bound_prepare(gm_bound *b);
/* What is on any other stream by now, and what will be done to these arrays there, is in order with
 * the call; see memory/device.h. */
gm_status gm_bound_order(const gm_bound *b);
/* By the call's own plan, or a copy; first: the values of its inputs have not been looked at yet.
 */
gm_status gm_bound_launch_in_order(const gm_bound *b, gm_plan *plan, bool first);
/* The same for the first launch, without the GIL. */
gm_status gm_bound_launch(gm_bound *b);

/* call_device.c */
/* Fills b for arrays that are on the current device; on failure b owns nothing. */
int gm_bind_device(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                   PyObject *backend_name);
/* On the device of the first array, whatever the current one is. */
PyObject *gm_call_on_device(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                            PyObject *backend_name);
/* The inputs with those of other libraries as device arrays; a new reference. Is the first one not
 * on the device, they are as they were. */
PyObject *gm_adopt_inputs(const gm_family *family, PyObject *inputs, PyObject *stream);
/* With arrays of other libraries, of which the result is the one that was given. */
PyObject *gm_call_with_adopted(gm_bound *b, PyObject *given_inputs, PyObject *inputs, PyObject *out,
                               PyObject *stream, PyObject *backend_name);

/* call_host.c */
PyObject *gm_call_on_host(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                          PyObject *backend_name);
/* A stream of another library may not wait for the default stream, in whose order memory is had:
 * then the default stream does the work, after what is on that stream. The caller waits anyway. */
PyObject *gm_call_on_host_after(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                                PyObject *backend_name);

#endif
