/* The ways into a call from Python. */
#include "python/call.h"

#include "python/adopt.h"
#include "python/call_arguments.h"
#include "python/call_device.h"
#include "python/call_host.h"
#include "python/describe.h"
#include "python/errors.h"
#include "python/values.h"
#include "sim/trace.h"

PyObject *gm_core_call(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    gm_bound b;
    gm_current_stream current = {.exchange = NULL};
    (void)module;
    if (count != 7 && count != 8) {
        PyErr_SetString(PyExc_TypeError, "call takes 7 or 8 arguments: family, variant, inputs, "
                                         "out, stream, backend, parameters, chunk");
        return NULL;
    }
    if (gm_bound_begin(&b, args[0], args[1], args[2], args[3], args[6]) < 0 ||
        gm_parse_chunk(count == 8 ? args[7] : NULL, &b.run.chunk) < 0) {
        return NULL;
    }
    PyObject *inputs = gm_adopt_inputs(b.run.call.family, args[2], args[4], &current);
    if (!inputs) {
        return NULL;
    }
    PyObject *result =
        gm_is_device_array(PyTuple_GET_ITEM(inputs, 0))
            ? gm_call_with_adopted(&b, args[2], inputs, args[3], args[4], args[5], &current)
            : gm_call_on_host(&b, inputs, args[3], args[4], args[5]);
    Py_DECREF(inputs);
    return result;
}

/* Runs the call under observation; a new reference to its result. */
static PyObject *run_traced(gm_bound *b, PyObject *inputs, PyObject *out)
{
    const gm_backend *backend = gm_backend_with_traces();
    gm_status status = backend->open();
    if (status != GM_OK) {
        return gm_raise(status);
    }
    if (!gm_is_device_array(PyTuple_GET_ITEM(inputs, 0))) {
        b->run.call.backend = backend;
        return gm_call_on_host(b, inputs, out, Py_None, Py_None);
    }
    PyObject *name = PyUnicode_FromString(backend->name);
    PyObject *result = name ? gm_call_on_device(b, inputs, out, Py_None, name) : NULL;
    Py_XDECREF(name);
    return result;
}

PyObject *gm_core_traffic(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    gm_bound b;
    (void)module;
    if (count != 4 && count != 5) {
        PyErr_SetString(PyExc_TypeError, "traffic takes 4 or 5 arguments: family, variant, inputs, "
                                         "parameters, out");
        return NULL;
    }
    PyObject *out = count == 5 ? args[4] : Py_None;
    if (gm_bound_begin(&b, args[0], args[1], args[2], out, args[3]) < 0) {
        return NULL;
    }
    gm_trace *trace = b.run.call.trace = gm_trace_create();
    if (!trace) {
        return PyErr_NoMemory();
    }
    PyObject *answer = NULL, *result = run_traced(&b, args[2], out);
    if (result) {
        answer = gm_traffic_dict(b.run.call.family, b.run.variant, trace, result);
        Py_DECREF(result);
    }
    gm_trace_destroy(trace);
    return answer;
}

/* ---- adopt_all ------------------------------------------------------------------------------ */

/* Another library's device array as a device array, any other object as it is; a new reference. */
static PyObject *adopt_or_keep(PyObject *object, const char *name, PyObject *stream,
                               gm_current_stream *current)
{
    PyObject *array = (PyObject *)gm_adopt(object, name, stream, GM_KEPT, current);
    return array || PyErr_Occurred() ? array : Py_NewRef(object);
}

/* The inputs, then out. */
static PyObject *adopt_each(const gm_family *family, PyObject *inputs, PyObject *out,
                            PyObject *stream)
{
    Py_ssize_t count = PyTuple_GET_SIZE(inputs);
    gm_current_stream current = {.exchange = NULL};
    PyObject *all = PyTuple_New(count + 1), *last = NULL;
    for (Py_ssize_t i = 0; all && i < count; i++) {
        PyObject *object = PyTuple_GET_ITEM(inputs, i);
        PyObject *array = adopt_or_keep(object, family->inputs[i].name, stream, &current);
        if (!array) {
            Py_CLEAR(all);
            break;
        }
        PyTuple_SET_ITEM(all, i, array);
        last = object == out ? array : last; /* an object that is given twice is adopted once */
    }
    if (all) {
        last = last ? Py_NewRef(last) : adopt_or_keep(out, "out", stream, &current);
        if (!last) {
            Py_CLEAR(all);
        } else {
            PyTuple_SET_ITEM(all, count, last);
        }
    }
    return all;
}

PyObject *gm_core_adopt_all(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyArrayObject *layouts[GM_MAX_OPERANDS] = {NULL};
    (void)module;
    const gm_family *family = count == 4 ? gm_parse_family(args[0]) : NULL;
    if (count == 4 && !family) {
        return NULL;
    }
    if (!family || !PyTuple_Check(args[1]) || PyTuple_GET_SIZE(args[1]) > family->input_count) {
        PyErr_SetString(PyExc_TypeError,
                        "adopt_all takes 4 arguments: family, its inputs, out, stream");
        return NULL;
    }
    PyObject *all = adopt_each(family, args[1], args[2], args[3]);
    if (!all) {
        return NULL;
    }
    Py_ssize_t inputs = PyTuple_GET_SIZE(args[1]);
    for (Py_ssize_t i = 0; i < inputs; i++) {
        PyObject *object = PyTuple_GET_ITEM(all, i);
        if (gm_is_device_array(object)) {
            layouts[i] = ((gm_device_array *)object)->layout;
        }
    }
    PyObject *out = PyTuple_GET_ITEM(all, inputs);
    if (gm_is_device_array(out) &&
        gm_check_overlap(family, ((gm_device_array *)out)->layout, layouts) < 0) {
        Py_CLEAR(all);
    }
    return all;
}
