/*
 * From Python objects to a call: which backend, which arrays, which result.
 *
 * Arrays on the host travel to the backend and back; device arrays are used where they are.
 * Everything is checked before anything is changed.
 */
#include "python/bind.h"

#include <string.h>

#include "sim/trace.h"

/* ---- checks ------------------------------------------------------------------------------- */

int gm_check_input(const gm_operand *operand, PyArrayObject *array)
{
    PyArray_Descr *dtype = PyArray_DESCR(array);
    if (gm_check_sized(dtype, operand->name) < 0) {
        return -1;
    }
    uint64_t sizes = operand->itemsizes;
    int64_t size = PyArray_ITEMSIZE(array);
    if ((operand->kinds && !strchr(operand->kinds, dtype->kind)) ||
        (sizes && (size > 63 || !(sizes >> size & 1)))) {
        PyErr_Format(PyExc_TypeError, "%s has dtype %.200R, accepted is %s", operand->name, dtype,
                     operand->dtypes);
        return -1;
    }
    return 0;
}

int gm_check_apart(const gm_family *family, PyArrayObject *const *inputs)
{
    for (int i = 1; i < family->input_count; i++) {
        if (!inputs[i]) {
            continue;
        }
        if (!PyArray_EquivTypes(PyArray_DESCR(inputs[0]), PyArray_DESCR(inputs[i]))) {
            PyErr_Format(PyExc_TypeError, "%s has dtype %.200R, expected that of %s, %.200R",
                         family->inputs[i].name, PyArray_DESCR(inputs[i]), family->inputs[0].name,
                         PyArray_DESCR(inputs[0]));
            return -1;
        }
        int overlaps = gm_overlaps(inputs[0], inputs[i]);
        if (overlaps > 0) {
            PyErr_Format(PyExc_ValueError, "%s overlaps %s in memory", family->inputs[0].name,
                         family->inputs[i].name);
        }
        if (overlaps != 0) {
            return -1;
        }
    }
    return 0;
}

int gm_find_result(gm_call *call)
{
    call->out.itemsize = call->in[0].itemsize;
    call->out.kind = call->in[0].kind;
    if (call->family->in_place) {
        call->out.ndim = call->in[0].ndim;
        memcpy(call->out.shape, call->in[0].shape, sizeof call->out.shape);
    }
    gm_status status = call->family->result(call);
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

/* Is each element of one the same element of the other? */
static bool is_same(PyArrayObject *a, PyArrayObject *b)
{
    bool same = PyArray_DATA(a) == PyArray_DATA(b) && PyArray_NDIM(a) == PyArray_NDIM(b);
    for (int d = 0; same && d < PyArray_NDIM(a); d++) {
        same = PyArray_DIM(a, d) == PyArray_DIM(b, d) &&
               (PyArray_DIM(a, d) <= 1 || PyArray_STRIDE(a, d) == PyArray_STRIDE(b, d));
    }
    return same;
}

/* The result shares no byte with an input; one that may be out is the very same array, or apart. */
static int check_out_apart(const gm_family *family, PyArrayObject *out,
                           PyArrayObject *const *inputs)
{
    for (int i = 0; i < family->input_count; i++) {
        const gm_operand *operand = &family->inputs[i];
        if (!inputs[i] || (operand->may_be_out && is_same(inputs[i], out))) {
            continue;
        }
        int overlaps = gm_overlaps(out, inputs[i]);
        if (overlaps > 0) {
            PyErr_Format(PyExc_ValueError, "out overlaps %s in memory%s", operand->name,
                         operand->may_be_out ? " without being the same array" : "");
        }
        if (overlaps != 0) {
            return -1;
        }
    }
    return 0;
}

int gm_check_call_out(const gm_call *call, PyArrayObject *out, PyArray_Descr *dtype,
                      PyArrayObject *const *inputs)
{
    return gm_check_out(out, dtype, call->out.ndim, call->out.shape) < 0
               ? -1
               : check_out_apart(call->family, out, inputs);
}

/* The object itself where it is not another library's on the device; a new reference. */
static PyObject *adopt_or_keep(PyObject *object, const char *name, PyObject *stream)
{
    PyObject *array = (PyObject *)gm_adopt(object, name, stream);
    return array || PyErr_Occurred() ? array : Py_NewRef(object);
}

/* What adopt_all answers, without the check: the inputs, then out. */
static PyObject *adopt_each(const gm_family *family, PyObject *inputs, PyObject *out,
                            PyObject *stream)
{
    Py_ssize_t count = PyTuple_GET_SIZE(inputs);
    PyObject *all = PyTuple_New(count + 1), *last = NULL;
    for (Py_ssize_t i = 0; all && i < count; i++) {
        PyObject *object = PyTuple_GET_ITEM(inputs, i);
        PyObject *array = adopt_or_keep(object, family->inputs[i].name, stream);
        if (!array) {
            Py_CLEAR(all);
            break;
        }
        PyTuple_SET_ITEM(all, i, array);
        last = object == out ? array : last; /* one object stays one */
    }
    if (all) {
        last = last ? Py_NewRef(last) : adopt_or_keep(out, "out", stream);
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
        check_out_apart(family, ((gm_device_array *)out)->layout, layouts) < 0) {
        Py_CLEAR(all);
    }
    return all;
}

/* ---- running ------------------------------------------------------------------------------ */

int gm_bound_prepare(gm_bound *b)
{
    gm_status status = gm_prepare(&b->variant, &b->call, &b->plan);
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

gm_status gm_bound_order(const gm_bound *b)
{
    const gm_backend *backend = b->call.backend;
    if (b->apart) { /* the result's memory may still be in use by its last owner */
        return backend->stream_join(b->call.stream, NULL);
    }
    gm_status status = b->out ? gm_device_memory_settle(b->out->memory) : GM_OK;
    for (int i = 0; status == GM_OK && i < GM_MAX_OPERANDS; i++) {
        status = b->in[i] ? gm_device_memory_settle(b->in[i]->memory) : GM_OK;
    }
    return status;
}

static gm_status order_after_one(const gm_bound *b, gm_device_memory *memory)
{
    gm_status status = b->apart ? gm_device_memory_used(memory, b->call.stream) : GM_OK;
    if (status == GM_OK && memory->has_producer) {
        status = b->call.backend->stream_join(memory->producer, b->call.stream);
    }
    return status;
}

static gm_status order_after(const gm_bound *b)
{
    gm_status status = b->out ? order_after_one(b, b->out->memory) : GM_OK;
    for (int i = 0; status == GM_OK && i < GM_MAX_OPERANDS; i++) {
        status = b->in[i] ? order_after_one(b, b->in[i]->memory) : GM_OK;
    }
    return status;
}

gm_status gm_bound_launch_in_order(const gm_bound *b, gm_plan *plan, bool first)
{
    gm_status status = gm_bound_order(b);
    if (status == GM_OK && first) { /* the values of its inputs have not been looked at yet */
        status = gm_check(&b->call);
    }
    if (status == GM_OK) {
        status = gm_launch(b->variant, &b->call, plan);
    }
    if (status == GM_OK) {
        return order_after(b);
    }
    if (b->apart) { /* of several launches one may be under way */
        gm_error before = *gm_last_error();
        b->call.backend->wait(b->call.stream);
        *gm_last_error() = before;
    }
    return status;
}

gm_status gm_bound_launch(gm_bound *b)
{
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = gm_bound_launch_in_order(b, &b->plan, true);
    Py_END_ALLOW_THREADS
    return status;
}

int gm_choose_device(gm_call *call)
{
    int device;
    gm_status status = call->backend->current_device(&device);
    if (status == GM_OK) {
        status = call->backend->figures(device, &call->device);
    }
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return device;
}

void gm_bound_clear(gm_bound *b)
{
    for (int i = 0; i < GM_MAX_OPERANDS; i++) {
        Py_CLEAR(b->in[i]);
    }
    Py_CLEAR(b->out);
}

/* ---- entry points --------------------------------------------------------------------------- */

int gm_bound_begin(gm_bound *b, PyObject *family, PyObject *variant, PyObject *inputs,
                   PyObject *out, PyObject *parameters)
{
    /* A bound is large: no memset of all. */
    memset(b->in, 0, sizeof b->in);
    b->out = NULL;
    b->apart = false;
    b->call.backend = NULL;
    b->call.trace = NULL;
    b->call.stream = NULL;
    b->call.family = gm_parse_family(family);
    if (!b->call.family || gm_parse_variant(b->call.family, variant, &b->variant) < 0 ||
        gm_parse_parameters(b->call.family, parameters, b->call.parameters) < 0) {
        return -1;
    }
    b->call.variant = b->variant;
    int least = gm_count_required(b->call.family), most = b->call.family->input_count;
    if (!PyTuple_Check(inputs) || PyTuple_GET_SIZE(inputs) < least ||
        PyTuple_GET_SIZE(inputs) > most) {
        PyErr_Format(PyExc_TypeError,
                     least < most ? "%s takes %d to %d arrays" : "%s takes %d arrays",
                     b->call.family->name, least, most);
        return -1;
    }
    if (b->call.family->in_place && out != Py_None) {
        PyErr_Format(PyExc_TypeError, "%s changes %s in place: it takes no further out",
                     b->call.family->name, b->call.family->inputs[0].name);
        return -1;
    }
    return 0;
}

PyObject *gm_core_call(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    gm_bound b;
    (void)module;
    if (count != 7) {
        PyErr_SetString(PyExc_TypeError, "call takes 7 arguments: family, variant, inputs, out, "
                                         "stream, backend, parameters");
        return NULL;
    }
    if (gm_bound_begin(&b, args[0], args[1], args[2], args[3], args[6]) < 0) {
        return NULL;
    }
    PyObject *inputs = gm_adopt_inputs(b.call.family, args[2], args[4]), *result;
    if (!inputs) {
        return NULL;
    }
    if (gm_is_device_array(PyTuple_GET_ITEM(inputs, 0))) {
        result = gm_call_with_adopted(&b, args[2], inputs, args[3], args[4], args[5]);
    } else {
        result = gm_call_on_host_after(&b, inputs, args[3], args[4], args[5]);
    }
    Py_DECREF(inputs);
    return result;
}

gm_status gm_pack(gm_device_array *a, gm_device_array *out, gm_stream stream, bool apart)
{
    gm_bound b;
    memset(b.in, 0, sizeof b.in);
    b.call.family = gm_find_family("copy");
    if (!b.call.family) {
        return gm_fail(GM_ERROR_VALUE,
                       "the array is not C-contiguous, and there is no copy family");
    }
    b.variant = NULL;
    b.in[0] = a; /* lent */
    b.out = out;
    b.apart = apart;
    b.call.backend = a->memory->backend;
    b.call.trace = NULL;
    b.call.stream = stream;
    b.call.variant = NULL;
    b.call.parameters[0].integer = 0;
    gm_status status = b.call.backend->figures(a->memory->device, &b.call.device);
    if (status != GM_OK) {
        return status;
    }
    gm_describe(a->layout, &b.call.in[0]);
    gm_describe(out->layout, &b.call.out);
    status = gm_prepare(&b.variant, &b.call, &b.plan);
    return status == GM_OK ? gm_bound_launch(&b) : status;
}

PyObject *gm_core_traffic(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    gm_bound b;
    (void)module;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError,
                        "traffic takes 4 arguments: family, variant, inputs, parameters");
        return NULL;
    }
    if (gm_bound_begin(&b, args[0], args[1], args[2], Py_None, args[3]) < 0) {
        return NULL;
    }
    gm_trace *trace = gm_trace_create();
    if (!trace) {
        return PyErr_NoMemory();
    }
    PyObject *answer = NULL;
    const gm_backend *backend = gm_backend_with_traces();
    gm_status status = backend->open();
    if (status != GM_OK) {
        gm_raise(status);
    } else {
        b.call.trace = trace;
        PyObject *result = NULL;
        if (gm_is_device_array(PyTuple_GET_ITEM(args[2], 0))) {
            PyObject *name = PyUnicode_FromString(backend->name);
            result = name ? gm_call_on_device(&b, args[2], Py_None, Py_None, name) : NULL;
            Py_XDECREF(name);
        } else {
            b.call.backend = backend;
            result = gm_call_on_host(&b, args[2], Py_None, Py_None, Py_None);
        }
        if (result) {
            answer = gm_traffic_dict(b.call.family, b.variant, trace, result);
            Py_DECREF(result);
        }
    }
    gm_trace_destroy(trace);
    return answer;
}
