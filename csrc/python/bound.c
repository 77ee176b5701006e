/* The parts of binding that host and device arrays have in common. */
#include "python/bound.h"

#include <string.h>

#include "python/call_arguments.h"
#include "python/errors.h"

int gm_bound_begin(gm_bound *b, PyObject *family, PyObject *variant, PyObject *inputs,
                   PyObject *out, PyObject *parameters)
{
    gm_call *call = &b->run.call;
    /* A bound call is large: only what has to be zero is set. */
    memset(b->in, 0, sizeof b->in);
    memset(b->run.at, 0, sizeof b->run.at);
    b->out = NULL;
    b->given = NULL;
    b->copied = false;
    b->run.nonblocking = false;
    b->run.chunk = 0;
    call->backend = NULL;
    call->trace = NULL;
    call->stream = NULL;
    call->family = gm_parse_family(family);
    if (!call->family || gm_parse_variant(call->family, variant, &call->variant) < 0 ||
        gm_parse_parameters(call->family, parameters, call->parameters) < 0 ||
        gm_check_input_count(call->family, inputs) < 0) {
        return -1;
    }
    if (call->family->in_place && out != Py_None) {
        PyErr_Format(PyExc_TypeError, "%s changes %s in place: it takes no further out",
                     call->family->name, call->family->inputs[0].name);
        return -1;
    }
    return 0;
}

static int raise_unless_ok(gm_status status)
{
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

int gm_bound_find_device(gm_bound *b, int *device)
{
    return raise_unless_ok(gm_call_find_device(&b->run.call, device));
}

int gm_bound_find_result(gm_bound *b)
{
    return raise_unless_ok(gm_call_find_result(&b->run.call));
}

void gm_bound_clear(gm_bound *b)
{
    for (int i = 0; i < GM_MAX_OPERANDS; i++) {
        Py_CLEAR(b->in[i]);
    }
    Py_CLEAR(b->out);
    Py_CLEAR(b->given);
}
