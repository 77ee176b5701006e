/* Device arrays in, device array out; those of other libraries become device arrays. */
#include "python/bind.h"

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

/* May the memory of another library be written to? */
static int check_writable(const char *name, const gm_device_array *array)
{
    if (!PyArray_ISWRITEABLE(array->layout)) {
        PyErr_Format(PyExc_ValueError, "%s is read-only", name);
        return -1;
    }
    return 0;
}

int gm_bind_device(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                   PyObject *backend_name)
{
    gm_call *call = &b->call;
    const gm_family *family = call->family;
    PyArrayObject *layouts[GM_MAX_OPERANDS];

    call->backend = ((gm_device_array *)PyTuple_GET_ITEM(inputs, 0))->memory->backend;
    if (backend_name != Py_None) {
        const gm_backend *asked;
        if (gm_parse_backend(backend_name, &asked) < 0) {
            return -1;
        }
        call->backend = asked;
    }
    int device = gm_choose_device(call);
    if (device < 0 || gm_parse_queue(stream, call->backend, &call->stream, &b->apart) < 0 ||
        check_stream(stream, device) < 0) {
        return -1;
    }
    for (int i = 0; i < family->input_count; i++) {
        PyObject *object = gm_given(family, inputs, i);
        layouts[i] = NULL;
        call->in[i].absent = !object;
        if (!object) {
            continue;
        }
        if (!gm_is_device_array(object)) {
            PyErr_Format(PyExc_TypeError,
                         "%s is %.100s, another input is on the device: inputs are either all on "
                         "the host or all on the device",
                         family->inputs[i].name, Py_TYPE(object)->tp_name);
            return -1;
        }
        gm_device_array *array = (gm_device_array *)object;
        layouts[i] = array->layout;
        if (check_place(call, device, family->inputs[i].name, array) < 0 ||
            gm_check_input(&family->inputs[i], array->layout) < 0) {
            return -1;
        }
        gm_describe(array->layout, &call->in[i]);
    }
    if (gm_find_result(call) < 0) {
        return -1;
    }
    PyArray_Descr *dtype = PyArray_DESCR(layouts[0]);
    if (family->in_place) {
        gm_device_array *array = (gm_device_array *)PyTuple_GET_ITEM(inputs, 0);
        if (check_writable(family->inputs[0].name, array) < 0 ||
            gm_check_apart(family, layouts) < 0) {
            return -1;
        }
        b->out = (gm_device_array *)Py_NewRef((PyObject *)array);
    } else if (out == Py_None) {
        npy_intp shape[GM_MAX_DIMS];
        for (int d = 0; d < call->out.ndim; d++) {
            shape[d] = (npy_intp)call->out.shape[d];
        }
        b->out = gm_device_array_new(call->backend, dtype, call->out.ndim, shape);
        if (!b->out) {
            return -1;
        }
    } else if (!gm_is_device_array(out)) {
        PyErr_Format(PyExc_TypeError,
                     "out must be a gpumem.DeviceArray when the inputs are, not %.100s",
                     Py_TYPE(out)->tp_name);
        return -1;
    } else {
        gm_device_array *array = (gm_device_array *)out;
        if (check_place(call, device, "out", array) < 0 || check_writable("out", array) < 0 ||
            gm_check_call_out(call, array->layout, dtype, layouts) < 0) {
            return -1;
        }
        if (!PyArray_IS_C_CONTIGUOUS(array->layout)) {
            PyErr_SetString(PyExc_ValueError, "out must be C-contiguous on the device");
            return -1;
        }
        b->out = (gm_device_array *)Py_NewRef(out);
    }
    gm_describe(b->out->layout, &call->out);
    for (int i = 0; i < family->input_count; i++) {
        b->in[i] = (gm_device_array *)Py_XNewRef(gm_given(family, inputs, i));
    }
    if (gm_bound_prepare(b) < 0) {
        gm_bound_clear(b);
        return -1;
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
        gm_status status = gm_bound_launch(b);
        result = status == GM_OK ? Py_NewRef((PyObject *)b->out) : gm_raise(status);
        gm_bound_clear(b);
    }
    gm_leave_device(memory, previous);
    return result;
}

PyObject *gm_adopt_inputs(const gm_family *family, PyObject *inputs, PyObject *stream)
{
    PyObject *adopted = Py_NewRef(inputs);
    for (int i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
        PyObject *object = gm_given(family, inputs, i);
        if (!object || !gm_is_adoptable(object)) {
            if (i == 0 && !(object && gm_is_device_array(object))) {
                break;
            }
            continue;
        }
        gm_device_array *array = gm_adopt(object, family->inputs[i].name, stream);
        if (!array && PyErr_Occurred()) {
            Py_DECREF(adopted);
            return NULL;
        }
        if (!array) {
            if (i == 0) {
                break;
            }
            continue;
        }
        if (adopted == inputs) {
            Py_SETREF(adopted, PyTuple_New(PyTuple_GET_SIZE(inputs)));
            for (int j = 0; adopted && j < PyTuple_GET_SIZE(inputs); j++) {
                PyTuple_SET_ITEM(adopted, j, Py_NewRef(PyTuple_GET_ITEM(inputs, j)));
            }
            if (!adopted) {
                Py_DECREF(array);
                return NULL;
            }
        }
        if (PyTuple_SetItem(adopted, i, (PyObject *)array) < 0) { /* steals */
            Py_DECREF(adopted);
            return NULL;
        }
    }
    return adopted;
}

PyObject *gm_call_with_adopted(gm_bound *b, PyObject *given_inputs, PyObject *inputs, PyObject *out,
                               PyObject *stream, PyObject *backend_name)
{
    PyObject *given_out = b->call.family->in_place ? PyTuple_GET_ITEM(given_inputs, 0) : out;
    PyObject *adopted = NULL, *result;
    if (gm_is_adoptable(out)) {
        adopted = (PyObject *)gm_adopt(out, "out", stream);
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
