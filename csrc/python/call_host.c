/* Host arrays in, ndarray out: there, done, and back, or worked on where they are. */
#include "memory/transfer.h"
#include "python/bind.h"

/* The inputs as ndarrays of plain bytes, any layout, NULL for those left out; 0, or -1 with an
 * exception. */
static int parse_host_inputs(const gm_family *family, PyObject *inputs, PyArrayObject **arrays)
{
    for (int i = 0; i < family->input_count; i++) {
        PyObject *object = gm_given(family, inputs, i);
        if (!object) {
            continue;
        }
        if (gm_is_device_array(object)) {
            PyErr_Format(PyExc_TypeError,
                         "%s is a gpumem.DeviceArray, another input is on the host: inputs are "
                         "either all on the host or all on the device",
                         family->inputs[i].name);
            return -1;
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
    return family->in_place ? gm_check_apart(family, arrays) : 0;
}

static int check_host_out(const gm_call *call, PyObject *out, PyArrayObject *const *arrays)
{
    if (!PyArray_Check(out)) {
        PyErr_Format(PyExc_TypeError,
                     "out must be a NumPy array when the inputs are on the host, not %.100s",
                     Py_TYPE(out)->tp_name);
        return -1;
    }
    if (gm_check_unmasked(out, "out") < 0 ||
        gm_check_call_out(call, (PyArrayObject *)out, PyArray_DESCR(arrays[0]), arrays) < 0) {
        return -1;
    }
    return PyArray_FailUnlessWriteable((PyArrayObject *)out, "out");
}

/* ---- where host arrays are worked on --------------------------------------------------------- */

/* Is this array of the host used where it is? A view that is out of line travels, like all that is
 * out of the device's reach. */
static bool stays(const gm_bound *b, const gm_operand *operand, gm_memory_kind kind,
                  PyArrayObject *array)
{
    if (b->call.trace) {
        return false;
    }
    if (b->variant && b->variant->place != GM_ANYWHERE) {
        return true; /* if it is not where it has to be, the variant says so */
    }
    return (kind == GM_MANAGED || (kind == GM_MAPPED && !(operand && operand->reread))) &&
           PyArray_IS_C_CONTIGUOUS(array) && (uintptr_t)PyArray_DATA(array) % 16 == 0;
}

/* A new result: like inputs that stay; else such as comes over the bus best. */
static PyArrayObject *make_result(const gm_bound *b, PyArray_Descr *dtype, const npy_intp *shape)
{
    const gm_call *call = &b->call;
    const gm_place place = call->trace || !b->variant ? GM_ANYWHERE : b->variant->place;
    gm_memory_kind kind = b->in[0] ? call->in[0].memory : GM_PAGEABLE;
    if (place != GM_ANYWHERE) {
        kind = place == GM_IN_HOST ? GM_MAPPED : GM_MANAGED;
    }
    return kind == GM_MAPPED || kind == GM_MANAGED
               ? gm_host_array_new(call->backend, kind, dtype, call->out.ndim, shape)
               : gm_host_result_new(call->backend, dtype, call->out.ndim, shape);
}

/* A call on arrays of the host: those that stay are in `in` and `out` already. */
typedef struct host_call {
    PyArrayObject *in[GM_MAX_OPERANDS];
    PyArrayObject *out;
    gm_memory_kind kind[GM_MAX_OPERANDS], out_kind;
} host_call;

/* Contiguous inputs, described as what they are on the host, and those that stay bound. */
static int place_inputs(gm_bound *b, host_call *h)
{
    gm_call *call = &b->call;
    for (int i = 0; i < call->family->input_count; i++) {
        if (!h->in[i]) {
            continue;
        }
        h->kind[i] = gm_find_kind(h->in[i], call->backend);
        if (stays(b, &call->family->inputs[i], h->kind[i], h->in[i])) {
            b->in[i] = gm_device_array_over(call->backend, h->in[i]);
            if (!b->in[i]) {
                return -1;
            }
        } else {
            PyArrayObject *given = h->in[i];
            h->in[i] = gm_contiguous(given);
            if (h->in[i] != given) {
                h->kind[i] = GM_PAGEABLE;
            }
            Py_DECREF(given);
            if (!h->in[i]) {
                return -1;
            }
        }
        gm_describe(h->in[i], &call->in[i]);
        call->in[i].memory = h->kind[i];
    }
    return 0;
}

/* The array that the result is written to: out itself, where it can be. */
static int place_result(gm_bound *b, host_call *h, PyObject *out)
{
    gm_call *call = &b->call;
    if (call->family->in_place && out != Py_None) {
        h->out = (PyArrayObject *)Py_NewRef(
            PyArray_IS_C_CONTIGUOUS((PyArrayObject *)out) ? out : (PyObject *)h->in[0]);
    } else if (out != Py_None && (PyArray_IS_C_CONTIGUOUS((PyArrayObject *)out) ||
                                  stays(b, NULL, GM_PAGEABLE, (PyArrayObject *)out))) {
        h->out = (PyArrayObject *)Py_NewRef(out);
    } else {
        npy_intp shape[GM_MAX_DIMS];
        for (int d = 0; d < call->out.ndim; d++) {
            shape[d] = (npy_intp)call->out.shape[d];
        }
        h->out = make_result(b, PyArray_DESCR(h->in[0]), shape);
        if (!h->out) {
            return -1;
        }
    }
    h->out_kind = gm_find_kind(h->out, call->backend);
    gm_describe(h->out, &call->out);
    call->out.memory = h->out_kind;
    if (call->family->in_place) {
        b->out = (gm_device_array *)Py_XNewRef((PyObject *)b->in[0]); /* NULL: not there yet */
    } else if (stays(b, NULL, h->out_kind, h->out)) {
        b->out = gm_device_array_over(call->backend, h->out);
        return b->out ? 0 : -1;
    }
    return 0;
}

static bool anything_stays(const gm_bound *b)
{
    bool any = b->out != NULL;
    for (int i = 0; i < b->call.family->input_count; i++) {
        any |= b->in[i] != NULL;
    }
    return any;
}

/* Device memory for what has to travel; the call is described as the kernel will see it. */
static int make_room(gm_bound *b, const host_call *h)
{
    gm_call *call = &b->call;
    for (int i = 0; i < call->family->input_count; i++) {
        if (!h->in[i] || b->in[i]) {
            continue;
        }
        b->in[i] = gm_device_array_new(call->backend, PyArray_DESCR(h->in[i]),
                                       PyArray_NDIM(h->in[i]), PyArray_DIMS(h->in[i]));
        if (!b->in[i]) {
            return -1;
        }
        gm_describe(b->in[i]->layout, &call->in[i]);
    }
    if (!b->out) {
        b->out = call->family->in_place
                     ? (gm_device_array *)Py_NewRef((PyObject *)b->in[0])
                     : gm_device_array_new(call->backend, PyArray_DESCR(h->out),
                                           PyArray_NDIM(h->out), PyArray_DIMS(h->out));
        if (!b->out) {
            return -1;
        }
        gm_describe(b->out->layout, &call->out);
    }
    return gm_bound_prepare(b);
}

static bool travels(const gm_array *array)
{
    return !array->absent && array->memory == GM_DEVICE;
}

/* There, done, and back. */
static gm_status send_and_run(gm_bound *b, const host_call *h)
{
    gm_call *call = &b->call;
    const gm_backend *backend = call->backend;
    gm_status status = GM_OK;
    for (int i = 0; status == GM_OK && i < call->family->input_count; i++) {
        if (travels(&call->in[i])) {
            status = gm_transfer_new(backend, call->in[i].data, PyArray_DATA(h->in[i]),
                                     call->in[i].bytes, h->kind[i], call->stream);
        }
    }
    if (status == GM_OK && travels(&call->out)) {
        status = gm_touch_new(backend, call->out.data, call->out.bytes);
    }
    if (status == GM_OK) {
        status = gm_check(call);
    }
    if (status == GM_OK) {
        status = gm_launch(b->variant, call, &b->plan);
    }
    if (status == GM_OK) {
        status = backend->wait(call->stream);
    }
    if (status == GM_OK && travels(&call->out)) {
        status = gm_transfer(backend, PyArray_DATA(h->out), call->out.data, call->out.bytes,
                             h->out_kind, GM_TO_HOST, call->stream);
    }
    return status;
}

PyObject *gm_call_on_host(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                          PyObject *backend_name)
{
    gm_call *call = &b->call;
    const gm_family *family = call->family;
    host_call h = {.out = NULL};
    PyObject *answer = NULL;
    gm_status status;

    if ((!call->backend && gm_parse_backend(backend_name, &call->backend) < 0) ||
        gm_choose_device(call) < 0 || gm_parse_stream(stream, call->backend, &call->stream) < 0 ||
        parse_host_inputs(family, inputs, h.in) < 0) {
        goto done;
    }
    for (int i = 0; i < family->input_count; i++) {
        call->in[i].absent = !h.in[i];
        if (h.in[i]) {
            gm_describe(h.in[i], &call->in[i]);
        }
    }
    if (gm_find_result(call) < 0) {
        goto done;
    }
    if (family->in_place) {
        /* Under observation the caller's array stays as it is. */
        out = call->trace ? Py_None : PyTuple_GET_ITEM(inputs, 0);
        if (out != Py_None &&
            PyArray_FailUnlessWriteable((PyArrayObject *)out, family->inputs[0].name) < 0) {
            goto done;
        }
    } else if (out != Py_None && check_host_out(call, out, h.in) < 0) {
        goto done;
    }
    if (place_inputs(b, &h) < 0 || place_result(b, &h, out) < 0) {
        goto done;
    }
    if (!anything_stays(b) && gm_can_cut(b->variant, call)) {
        Py_BEGIN_ALLOW_THREADS
        status = gm_run_cut(b->variant, call);
        Py_END_ALLOW_THREADS
    } else {
        if (make_room(b, &h) < 0) {
            goto done;
        }
        Py_BEGIN_ALLOW_THREADS
        status = send_and_run(b, &h);
        Py_END_ALLOW_THREADS
    }
    if (status != GM_OK) {
        gm_raise(status);
    } else if (out != Py_None && (PyObject *)h.out != out) {
        if (gm_copy_into((PyArrayObject *)out, h.out) == 0) {
            answer = Py_NewRef(out);
        }
    } else {
        answer = Py_NewRef((PyObject *)h.out);
    }
done:
    Py_XDECREF(h.out);
    for (int i = 0; i < GM_MAX_OPERANDS; i++) {
        Py_XDECREF(h.in[i]);
    }
    gm_bound_clear(b);
    return answer;
}

PyObject *gm_call_on_host_after(gm_bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                                PyObject *backend_name)
{
    gm_stream handle;
    if (stream != Py_None && !PyObject_TypeCheck(stream, &gm_stream_type)) {
        if (gm_parse_backend(backend_name, &b->call.backend) < 0 ||
            gm_parse_waited_stream(stream, b->call.backend, &handle) < 0) {
            return NULL;
        }
        stream = handle ? stream : Py_None;
    }
    return gm_call_on_host(b, inputs, out, stream, backend_name);
}
