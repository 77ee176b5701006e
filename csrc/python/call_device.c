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
            PyErr_Format(PyExc_TypeError,
                         "%s is %.100s, another input is on the device: inputs are either all on "
                         "the host or all on the device",
                         operand->name, Py_TYPE(object)->tp_name);
            return -1;
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

/* The array that the result goes to; a new reference. */
static gm_device_array *bind_result(gm_call *call, PyObject *inputs, PyObject *out, int device,
                                    PyArrayObject **layouts)
{
    const gm_family *family = call->family;
    PyArray_Descr *dtype = PyArray_DESCR(layouts[0]);
    if (family->in_place) {
        gm_device_array *array = (gm_device_array *)PyTuple_GET_ITEM(inputs, 0);
        return check_writeable(family->inputs[0].name, array) < 0 ||
                       gm_check_in_place(family, layouts) < 0
                   ? NULL
                   : (gm_device_array *)Py_NewRef((PyObject *)array);
    }
    if (out == Py_None) {
        npy_intp shape[GM_MAX_DIMS];
        for (int d = 0; d < call->out.ndim; d++) {
            shape[d] = (npy_intp)call->out.shape[d];
        }
        return gm_device_array_new(call->backend, dtype, call->out.ndim, shape);
    }
    if (!gm_is_device_array(out)) {
        PyErr_Format(PyExc_TypeError,
                     "out must be a gpumem.DeviceArray when the inputs are, not %.100s",
                     Py_TYPE(out)->tp_name);
        return NULL;
    }
    gm_device_array *array = (gm_device_array *)out;
    if (check_place(call, device, "out", array) < 0 || check_writeable("out", array) < 0 ||
        gm_check_call_out(call, array->layout, dtype, layouts) < 0) {
        return NULL;
    }
    if (!PyArray_IS_C_CONTIGUOUS(array->layout)) {
        PyErr_SetString(PyExc_ValueError, "out must be C-contiguous on the device");
        return NULL;
    }
    return (gm_device_array *)Py_NewRef(out);
}

int gm_bind_device(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
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
        gm_bound_find_result(b) < 0) {
        return -1;
    }
    b->out = bind_result(call, inputs, out, device, layouts);
    if (!b->out) {
        return -1;
    }
    gm_describe(b->out->layout, GM_DEVICE, &call->out);
    run->at[GM_OUT].memory = b->out->memory;
    for (int i = 0; i < call->family->input_count; i++) {
        b->in[i] = (gm_device_array *)Py_XNewRef(gm_given(call->family, inputs, i));
        run->at[i].memory = b->in[i] ? b->in[i]->memory : NULL;
    }
    return 0;
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
        gm_status status;
        Py_BEGIN_ALLOW_THREADS
        status = gm_run_call(&b->run);
        Py_END_ALLOW_THREADS
        result = status == GM_OK ? Py_NewRef((PyObject *)b->out) : gm_raise(status);
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

PyObject *gm_adopt_inputs(const gm_family *family, PyObject *inputs, PyObject *stream)
{
    PyObject *adopted = Py_NewRef(inputs);
    for (int i = 0; adopted && i < PyTuple_GET_SIZE(inputs); i++) {
        PyObject *object = gm_given(family, inputs, i), *array = NULL;
        if (object && gm_is_adoptable(object)) {
            gm_usage usage = i == 0 && family->in_place ? GM_WRITTEN : GM_READ;
            array = (PyObject *)gm_adopt(object, family->inputs[i].name, stream, usage);
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
                               PyObject *stream, PyObject *backend_name)
{
    PyObject *given_out = b->run.call.family->in_place ? PyTuple_GET_ITEM(given_inputs, 0) : out;
    PyObject *adopted = NULL, *result;
    if (gm_is_adoptable(out)) {
        adopted = (PyObject *)gm_adopt(out, "out", stream, GM_WRITTEN);
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
