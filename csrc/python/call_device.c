/* Device arrays in, device array out. */
#include "python/call_device.h"

#include "python/adopt.h"
#include "python/arrays.h"
#include "python/call_arguments.h"
#include "python/device_array.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/streams.h"
#include "python/values.h"

static int check_place(const gm_call *call, int device, const char *name,
                       const gm_device_array *array)
{
    if (array->memory->backend != call->backend) {
        PyErr_Format(PyExc_ValueError, "%s is on backend \"%s\", the call runs on \"%s\"", name,
                     array->memory->backend->name, call->backend->name);
        return -1;
    }
    if (array->memory->device != device) {
        PyErr_Format(PyExc_ValueError, "%s is on device %d, %s is on device %d", name,
                     array->memory->device, call->family->inputs[0].name, device);
        return -1;
    }
    return 0;
}

static int check_stream(PyObject *stream, int device)
{
    if (PyObject_TypeCheck(stream, &gm_stream_type) &&
        ((gm_stream_object *)stream)->device != device) {
        PyErr_Format(PyExc_ValueError, "stream is on device %d, the arrays are on device %d",
                     ((gm_stream_object *)stream)->device, device);
        return -1;
    }
    return 0;
}

/* Memory of another library may be read-only. */
static int check_writeable(const char *name, const gm_device_array *array)
{
    if (!PyArray_ISWRITEABLE(array->layout)) {
        PyErr_Format(PyExc_ValueError, "%s is read-only", name);
        return -1;
    }
    return 0;
}

/* Parses the inputs into call.in and layouts, and their memory into run.at. */
static int bind_inputs(gm_bound *b, PyObject *inputs, int device, PyArrayObject **layouts)
{
    gm_call *call = &b->run.call;
    for (int i = 0; i < call->family->input_count; i++) {
        const gm_operand *operand = &call->family->inputs[i];
        PyObject *object = gm_given(call->family, inputs, i);
        layouts[i] = NULL;
        call->in[i].absent = !object;
        if (!object) {
            continue;
        }
        if (!gm_is_device_array(object)) {
            return gm_refuse_mixed(call->family, inputs, i);
        }
        gm_device_array *array = (gm_device_array *)object;
        layouts[i] = array->layout;
        if (check_place(call, device, operand->name, array) < 0 ||
            gm_check_input(operand, array->layout) < 0) {
            return -1;
        }
        gm_describe(array->layout, GM_DEVICE, &call->in[i]);
    }
    return 0;
}

/* The arrays that the kernel reads, described by bind_inputs: the caller's, or packed copies of
 * those that no kernel takes. Under observation there are none: the copies would not be counted. */
static int bind_suitable(gm_bound *b, PyObject *inputs)
{
    gm_run *run = &b->run;
    gm_call *call = &run->call;
    for (int i = 0; i < call->family->input_count; i++) {
        const gm_operand *operand = &call->family->inputs[i];
        gm_device_array *array = (gm_device_array *)gm_given(call->family, inputs, i);
        if (!array) {
            continue;
        }
        if (call->variant || call->trace || !operand->suits || operand->suits(&call->in[i])) {
            b->in[i] = (gm_device_array *)Py_NewRef((PyObject *)array);
        } else if ((b->in[i] = gm_device_array_copy(array, call->stream, run->nonblocking))) {
            gm_describe(b->in[i]->layout, GM_DEVICE, &call->in[i]);
            b->copied = true;
        } else {
            return -1;
        }
        run->at[i].memory = b->in[i]->memory;
    }
    if (call->family->orient) {
        call->family->orient(call);
    }
    return 0;
}

/* A contiguous array for the result. */
static gm_device_array *new_result(const gm_call *call, PyArrayObject *first)
{
    PyArray_Descr *dtype = gm_result_dtype(call->family, first);
    if (!dtype) {
        return NULL;
    }
    npy_intp shape[GM_MAX_DIMS];
    for (int d = 0; d < call->out.ndim; d++) {
        shape[d] = (npy_intp)call->out.shape[d];
    }
    gm_device_array *result = gm_device_array_new(call->backend, dtype, call->out.ndim, shape);
    Py_DECREF(dtype);
    return result;
}

/* Can the kernel write to call->out, the caller's? A named variant says itself what alignment it
 * needs. */
static bool takes_out(const gm_call *call)
{
    const gm_array *out = &call->out;
    if (call->variant) {
        return out->contiguous || gm_variant_can(call->variant, call);
    }
    bool aligned = out->itemsize == 0 || (uintptr_t)out->data % (uintptr_t)out->itemsize == 0;
    return (out->contiguous && aligned) || gm_auto_takes(call);
}

/* Checks the caller's out, and binds it: written by the kernel, or afterwards. */
static int bind_out(gm_bound *b, PyObject *out, int device, PyArrayObject **layouts)
{
    gm_call *call = &b->run.call;
    if (!gm_is_device_array(out)) {
        PyErr_Format(PyExc_TypeError,
                     "out must be a gpumem.DeviceArray when the inputs are, not %.100s",
                     Py_TYPE(out)->tp_name);
        return -1;
    }
    gm_device_array *array = (gm_device_array *)out;
    if (check_place(call, device, "out", array) < 0 || check_writeable("out", array) < 0 ||
        gm_check_call_out(call, array->layout, layouts) < 0 ||
        gm_check_apart(array->layout, "out") < 0) {
        return -1;
    }
    gm_describe(array->layout, GM_DEVICE, &call->out);
    if (takes_out(call)) {
        b->out = (gm_device_array *)Py_NewRef(out);
    } else if ((b->out = new_result(call, layouts[0]))) {
        b->given = (gm_device_array *)Py_NewRef(out);
    }
    return b->out ? 0 : -1;
}

static int bind_result(gm_bound *b, PyObject *inputs, PyObject *out, int device,
                       PyArrayObject **layouts)
{
    gm_call *call = &b->run.call;
    const gm_family *family = call->family;
    if (family->in_place) {
        gm_device_array *array = (gm_device_array *)PyTuple_GET_ITEM(inputs, 0);
        if (check_writeable(family->inputs[0].name, array) < 0 ||
            gm_check_in_place(family, layouts) < 0) {
            return -1;
        }
        b->out = (gm_device_array *)Py_NewRef((PyObject *)b->in[0]);
        if (b->in[0] != array) { /* a packed copy, which is copied back */
            if (gm_check_apart(array->layout, family->inputs[0].name) < 0) {
                return -1;
            }
            b->given = (gm_device_array *)Py_NewRef((PyObject *)array);
        }
    } else if (out != Py_None) {
        return bind_out(b, out, device, layouts);
    } else {
        b->out = new_result(call, layouts[0]);
    }
    return b->out ? 0 : -1;
}

static int bind(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                PyObject *backend_name)
{
    gm_run *run = &b->run;
    gm_call *call = &run->call;
    PyArrayObject *layouts[GM_MAX_OPERANDS];
    int device;

    call->backend = ((gm_device_array *)PyTuple_GET_ITEM(inputs, 0))->memory->backend;
    if (backend_name != Py_None && gm_parse_backend(backend_name, &call->backend) < 0) {
        return -1;
    }
    if (gm_bound_find_device(b, &device) < 0 ||
        gm_parse_queue(stream, call->backend, &call->stream, &run->nonblocking) < 0 ||
        check_stream(stream, device) < 0 || bind_inputs(b, inputs, device, layouts) < 0 ||
        gm_bound_find_result(b) < 0 || bind_suitable(b, inputs) < 0 ||
        bind_result(b, inputs, out, device, layouts) < 0) {
        return -1;
    }
    gm_describe(b->out->layout, GM_DEVICE, &call->out);
    run->at[GM_OUT].memory = b->out->memory;
    return 0;
}

int gm_bind_device(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                   PyObject *backend_name)
{
    if (bind(b, inputs, out, stream, backend_name) < 0) {
        gm_bound_clear(b);
        return -1;
    }
    return 0;
}

/* Runs the bound call; the caller's out, or the new result. */
static PyObject *run_bound(gm_bound *b)
{
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = gm_run_call(&b->run);
    Py_END_ALLOW_THREADS
    if (status == GM_OK && b->given) {
        status = gm_device_array_copy_to(b->out, b->given, b->run.call.stream, b->run.nonblocking);
    }
    return status == GM_OK ? Py_NewRef((PyObject *)(b->given ? b->given : b->out))
                           : gm_raise(status);
}

PyObject *gm_call_on_device(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                            PyObject *backend_name)
{
    const gm_device_memory *memory = ((gm_device_array *)PyTuple_GET_ITEM(inputs, 0))->memory;
    PyObject *result = NULL;
    int previous;
    if (gm_enter_device(memory, &previous) < 0) {
        return NULL;
    }
    if (gm_bind_device(b, inputs, out, stream, backend_name) == 0) {
        result = run_bound(b);
        gm_bound_clear(b);
    }
    gm_leave_device(memory, previous);
    return result;
}

/* A copy of the tuple that may be changed. */
static PyObject *copy_tuple(PyObject *tuple)
{
    PyObject *copy = PyTuple_New(PyTuple_GET_SIZE(tuple));
    for (int i = 0; copy && i < PyTuple_GET_SIZE(tuple); i++) {
        PyTuple_SET_ITEM(copy, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
    }
    return copy;
}

PyObject *gm_adopt_inputs(const gm_family *family, PyObject *inputs, PyObject *stream,
                          gm_current_stream *current)
{
    PyObject *adopted = Py_NewRef(inputs);
    for (int i = 0; adopted && i < PyTuple_GET_SIZE(inputs); i++) {
        PyObject *object = gm_given(family, inputs, i), *array = NULL;
        if (object && gm_is_adoptable(object)) {
            gm_usage usage = i == 0 && family->in_place ? GM_WRITTEN : GM_READ;
            array = (PyObject *)gm_adopt(object, family->inputs[i].name, stream, usage, current);
        }
        if (!array && PyErr_Occurred()) {
            Py_CLEAR(adopted);
        } else if (array) {
            if (adopted == inputs) {
                Py_SETREF(adopted, copy_tuple(inputs));
            }
            if (!adopted) {
                Py_DECREF(array);
            } else if (PyTuple_SetItem(adopted, i, array) < 0) { /* takes the reference */
                Py_CLEAR(adopted);
            }
        } else if (i == 0 && !(object && gm_is_device_array(object))) {
            break;
        }
    }
    return adopted;
}

PyObject *gm_call_with_adopted(gm_bound *b, PyObject *given_inputs, PyObject *inputs, PyObject *out,
                               PyObject *stream, PyObject *backend_name, gm_current_stream *current)
{
    PyObject *given_out = b->run.call.family->in_place ? PyTuple_GET_ITEM(given_inputs, 0) : out;
    PyObject *adopted = NULL, *result;
    if (gm_is_adoptable(out)) {
        adopted = (PyObject *)gm_adopt(out, "out", stream, GM_WRITTEN, current);
        if (!adopted && PyErr_Occurred()) {
            return NULL;
        }
    }
    result = gm_call_on_device(b, inputs, adopted ? adopted : out, stream, backend_name);
    Py_XDECREF(adopted);
    if (result && given_out != Py_None && given_out != result) {
        Py_SETREF(result, Py_NewRef(given_out));
    }
    return result;
}
