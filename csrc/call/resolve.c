/* From described arrays to a plan. */
#include "call/resolve.h"

#include <string.h>

gm_array *gm_run_operand(gm_run *run, int i)
{
    gm_call *call = &run->call;
    if (i == GM_OUT) {
        return &call->out;
    }
    return i < call->family->input_count && !call->in[i].absent ? &call->in[i] : NULL;
}

gm_status gm_call_find_device(gm_call *call, int *device)
{
    gm_status status = call->backend->current_device(device);
    return status == GM_OK ? call->backend->properties(*device, &call->device) : status;
}

gm_status gm_call_find_result(gm_call *call)
{
    const gm_family *family = call->family;
    call->out.itemsize = family->result_kind ? family->result_bytes : call->in[0].itemsize;
    call->out.kind = family->result_kind ? family->result_kind : call->in[0].kind;
    if (call->family->in_place) {
        call->out.ndim = call->in[0].ndim;
        memcpy(call->out.shape, call->in[0].shape, sizeof call->out.shape);
    }
    return call->family->result(call);
}

gm_status gm_run_plan(gm_run *run)
{
    run->variant = run->call.variant;
    return gm_prepare(&run->variant, &run->call, &run->plan);
}

gm_status gm_run_begin_copy(gm_run *run, gm_device_memory *from, gm_device_memory *to)
{
    gm_call *call = &run->call;
    memset(run->at, 0, sizeof run->at);
    run->at[0].memory = from;
    run->at[GM_OUT].memory = to;
    run->nonblocking = false;
    run->chunk = 0;
    call->family = gm_find_family("copy");
    if (!call->family) {
        return gm_fail(GM_ERROR_VALUE,
                       "the array is not C-contiguous, and there is no copy family");
    }
    call->variant = NULL;
    call->backend = from->backend;
    call->stream = NULL;
    call->trace = NULL;
    call->parameters[0].integer = 0;
    return call->backend->properties(from->device, &call->device);
}
