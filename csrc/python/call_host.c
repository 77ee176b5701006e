/* Host arrays in, ndarray out. */
#include "python/call_host.h"

#include "call/place.h"
#include "python/arrays.h"
#include "python/call_arguments.h"
#include "python/errors.h"
#include "python/host_array.h"
#include "python/streams.h"
#include "python/values.h"

/* The arrays of a call; references, NULL for absent inputs. */
typedef struct host_arrays {
    PyArrayObject *in[GM_MAX_OPERANDS];
    PyArrayObject *out; /* where the result is written, which may not be the caller's out */
} host_arrays;

/* The inputs as ndarrays of plain bytes, of any layout. */
static int parse_inputs(const gm_family *family, PyObject *inputs, PyArrayObject **arrays)
{
    for (int i = 0; i < family->input_count; i++) {
        PyObject *object = gm_given(family, inputs, i);
        if (!object) {
            continue;
        }
        if (gm_is_device_array(object)) {
            return gm_refuse_mixed(family, inputs, i);
        }
        if (i == 0 && family->in_place && !PyArray_Check(object)) {
            PyErr_Format(PyExc_TypeError,
                         "%s must be a NumPy array or a gpumem.DeviceArray, not %.100s",
                         family->inputs[i].name, Py_TYPE(object)->tp_name);
            return -1;
        }
        arrays[i] = gm_host_array(object, family->inputs[i].name);
        if (!arrays[i] || gm_check_input(&family->inputs[i], arrays[i]) < 0) {
            return -1;
        }
    }
    return family->in_place ? gm_check_in_place(family, arrays) : 0;
}

static int check_out(const gm_call *call, PyObject *out, PyArrayObject *const *arrays)
{
    if (!PyArray_Check(out)) {
        PyErr_Format(PyExc_TypeError,
                     "out must be a NumPy array when the inputs are on the host, not %.100s",
                     Py_TYPE(out)->tp_name);
        return -1;
    }
    if (gm_check_unmasked(out, "out") < 0 ||
        gm_check_call_out(call, (PyArrayObject *)out, arrays) < 0) {
        return -1;
    }
    return PyArray_FailUnlessWriteable((PyArrayObject *)out, "out");
}

/* Decides which described inputs need a transfer, and makes those contiguous. */
static int place_inputs(gm_run *run, host_arrays *arrays)
{
    gm_call *call = &run->call;
    for (int i = 0; i < call->family->input_count; i++) {
        PyArrayObject *given = arrays->in[i];
        if (!given) {
            continue;
        }
        call->in[i].memory = gm_find_kind(given, call->backend);
        if (gm_is_used_in_place(call, &call->family->inputs[i], &call->in[i])) {
            continue;
        }
        run->at[i].needs_transfer = true;
        arrays->in[i] = gm_contiguous(given);
        if (arrays->in[i] && arrays->in[i] != given) {
            gm_describe(arrays->in[i], GM_PAGEABLE, &call->in[i]);
        }
        Py_DECREF(given);
        if (!arrays->in[i]) {
            return -1;
        }
    }
    return 0;
}

static PyArrayObject *new_result(const gm_run *run, PyArrayObject *first)
{
    const gm_call *call = &run->call;
    PyArray_Descr *dtype = gm_result_dtype(call->family, first);
    if (!dtype) {
        return NULL;
    }
    npy_intp shape[GM_MAX_DIMS];
    for (int d = 0; d < call->out.ndim; d++) {
        shape[d] = (npy_intp)call->out.shape[d];
    }
    gm_memory_kind kind = gm_kind_of_result(call, !run->at[0].needs_transfer);
    PyArrayObject *result =
        kind == GM_PAGEABLE ? gm_host_result_new(call->backend, dtype, call->out.ndim, shape)
                            : gm_host_array_new(call->backend, kind, dtype, call->out.ndim, shape);
    Py_DECREF(dtype);
    return result;
}

/* The array that the result is written to: out itself if it is contiguous, or used in place. */
static int place_result(gm_run *run, host_arrays *arrays, PyObject *out)
{
    gm_call *call = &run->call;
    PyArrayObject *given = out != Py_None ? (PyArrayObject *)out : NULL;
    bool contiguous = given && PyArray_IS_C_CONTIGUOUS(given);
    if (contiguous || (given && call->variant && call->variant->place != GM_ANYWHERE)) {
        arrays->out = (PyArrayObject *)Py_NewRef(out);
    } else if (given && call->family->in_place) {
        arrays->out = (PyArrayObject *)Py_NewRef((PyObject *)arrays->in[0]);
    } else {
        arrays->out = new_result(run, arrays->in[0]);
    }
    if (!arrays->out) {
        return -1;
    }
    gm_describe(arrays->out, gm_find_kind(arrays->out, call->backend), &call->out);
    run->at[GM_OUT].needs_transfer = call->family->in_place
                                         ? run->at[0].needs_transfer
                                         : !gm_is_used_in_place(call, NULL, &call->out);
    return 0;
}

/* Binds everything but the result; *out becomes the caller's array for it, or None. */
static int bind_inputs(gm_bound *b, host_arrays *arrays, PyObject *inputs, PyObject **out)
{
    gm_call *call = &b->run.call;
    const gm_family *family = call->family;
    if (parse_inputs(family, inputs, arrays->in) < 0) {
        return -1;
    }
    for (int i = 0; i < family->input_count; i++) {
        call->in[i].absent = !arrays->in[i];
        if (arrays->in[i]) {
            gm_describe(arrays->in[i], GM_PAGEABLE, &call->in[i]);
        }
    }
    if (gm_bound_find_result(b) < 0) {
        return -1;
    }
    if (!family->in_place) {
        return *out != Py_None ? check_out(call, *out, arrays->in) : 0;
    }
    /* Under observation the caller's array does not change. */
    *out = call->trace ? Py_None : PyTuple_GET_ITEM(inputs, 0);
    return *out == Py_None
               ? 0
               : PyArray_FailUnlessWriteable((PyArrayObject *)*out, family->inputs[0].name);
}

/* Runs the bound call, and returns the caller's out or the new result. */
static PyObject *run_bound(gm_bound *b, const host_arrays *arrays, PyObject *out)
{
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = gm_run_call(&b->run);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        return gm_raise(status);
    }
    if (out == Py_None || (PyObject *)arrays->out == out) {
        return Py_NewRef((PyObject *)arrays->out);
    }
    return gm_copy_into((PyArrayObject *)out, arrays->out) < 0 ? NULL : Py_NewRef(out);
}

PyObject *gm_call_on_host(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                          PyObject *backend_name)
{
    gm_call *call = &b->run.call;
    host_arrays arrays = {.out = NULL};
    PyObject *answer = NULL;
    int device;

    /* A nonblocking stream does not wait for the default stream, in whose order memory is
     * allocated. The caller waits for the result anyway. */
    if ((call->backend || gm_parse_backend(backend_name, &call->backend) == 0) &&
        gm_bound_find_device(b, &device) == 0 &&
        gm_parse_waited_stream(stream, call->backend, &call->stream) == 0 &&
        bind_inputs(b, &arrays, inputs, &out) == 0 && place_inputs(&b->run, &arrays) == 0 &&
        place_result(&b->run, &arrays, out) == 0) {
        answer = run_bound(b, &arrays, out);
    }
    Py_XDECREF(arrays.out);
    for (int i = 0; i < GM_MAX_OPERANDS; i++) {
        Py_XDECREF(arrays.in[i]);
    }
    return answer;
}
