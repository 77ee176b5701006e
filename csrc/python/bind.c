/*
 * From Python objects to a call: which backend, which arrays, which result.
 *
 * Arrays on the host travel to the backend and back; device arrays are used where they are.
 * Everything is checked before anything is changed.
 */
#include <pthread.h>
#include <string.h>

#include "memory/transfer.h"
#include "python/python.h"
#include "sim/trace.h"

/* A call with its arrays on the device, and what it keeps alive. */
typedef struct bound {
    gm_call call;
    gm_plan plan;
    const gm_variant *variant;
    gm_device_array *in[GM_MAX_OPERANDS];
    gm_device_array *out;
    bool apart; /* the stream and the default stream do not wait for each other */
} bound;

/* ---- names and numbers -------------------------------------------------------------------- */

const gm_family *gm_parse_family(PyObject *name)
{
    const char *text = PyUnicode_Check(name) ? gm_c_string(name, "family") : NULL;
    const gm_family *family = text ? gm_find_family(text) : NULL;
    if (!family && !PyErr_Occurred()) {
        PyObject *known = PyUnicode_FromString("");
        for (int i = 0; known && i < gm_family_count; i++) {
            Py_SETREF(known,
                      PyUnicode_FromFormat("%U%s%s", known, i ? ", " : "", gm_families[i]->name));
        }
        if (known) {
            PyErr_Format(PyExc_ValueError, "family is %R, known are: %U", name, known);
        }
        Py_XDECREF(known);
    }
    return family;
}

int gm_parse_variant(const gm_family *family, PyObject *name, const gm_variant **variant)
{
    *variant = NULL;
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "variant must be a str, not %.100s", Py_TYPE(name)->tp_name);
        return -1;
    }
    const char *text = gm_c_string(name, "variant");
    if (!text) {
        return -1;
    }
    if (strcmp(text, "auto") == 0 || (*variant = gm_find_variant(family, text))) {
        return 0;
    }
    PyObject *known = PyUnicode_FromString("auto");
    for (int i = 0; known && i < family->count; i++) {
        Py_SETREF(known, PyUnicode_FromFormat("%U, %s", known, family->variants[i].name));
    }
    if (known) {
        PyErr_Format(PyExc_ValueError, "variant is %R, known for %s are: %U", name, family->name,
                     known);
    }
    Py_XDECREF(known);
    return -1;
}

static int parse_real(const gm_parameter *parameter, PyObject *value, double *real)
{
    if (PyBool_Check(value) || !(PyFloat_Check(value) || PyIndex_Check(value))) {
        PyErr_Format(PyExc_TypeError, "%s must be a float, not %.100s", parameter->name,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    *real = PyFloat_AsDouble(value);
    return *real == -1 && PyErr_Occurred() ? -1 : 0;
}

static int parse_integer(const gm_parameter *parameter, PyObject *value, int64_t *integer)
{
    if (PyBool_Check(value) || !PyIndex_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be an int, not %.100s", parameter->name,
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    PyObject *index = PyNumber_Index(value);
    if (!index) {
        return -1;
    }
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow || number < parameter->least || number > parameter->most) {
        PyErr_Format(PyExc_ValueError, "%s is %S, expected %lld to %lld", parameter->name, value,
                     (long long)parameter->least, (long long)parameter->most);
        return -1;
    }
    *integer = number;
    return 0;
}

static int parse_parameters(const gm_family *family, PyObject *values, gm_value *parameters)
{
    if (!PyTuple_Check(values) || PyTuple_GET_SIZE(values) != family->parameter_count) {
        PyErr_Format(PyExc_TypeError, "%s takes %d parameters", family->name,
                     family->parameter_count);
        return -1;
    }
    for (int i = 0; i < family->parameter_count; i++) {
        const gm_parameter *parameter = &family->parameters[i];
        PyObject *value = PyTuple_GET_ITEM(values, i);
        int failed = parameter->real ? parse_real(parameter, value, &parameters[i].real)
                                     : parse_integer(parameter, value, &parameters[i].integer);
        if (failed) {
            return -1;
        }
    }
    return 0;
}

/* ---- inputs ------------------------------------------------------------------------------- */

/* How many arrays a call has at least: what is optional comes last. */
static int count_required(const gm_family *family)
{
    int count = family->input_count;
    while (count > 0 && family->inputs[count - 1].optional) {
        count--;
    }
    return count;
}

/* Input i as it was given; NULL for an optional one that was left out, or is None. */
static PyObject *given(const gm_family *family, PyObject *inputs, int i)
{
    PyObject *object = i < PyTuple_GET_SIZE(inputs) ? PyTuple_GET_ITEM(inputs, i) : Py_None;
    return object == Py_None && family->inputs[i].optional ? NULL : object;
}

/* ---- checks ------------------------------------------------------------------------------- */

static int check_input(const gm_operand *operand, PyArrayObject *array)
{
    PyArray_Descr *dtype = PyArray_DESCR(array);
    uint64_t sizes = operand->itemsizes;
    int64_t size = PyArray_ITEMSIZE(array);
    if ((operand->kinds && !strchr(operand->kinds, dtype->kind)) ||
        (sizes && (size > 63 || !(sizes >> size & 1)))) {
        PyErr_Format(PyExc_TypeError, "%s has dtype %R, accepted is %s", operand->name, dtype,
                     operand->dtypes);
        return -1;
    }
    return 0;
}

/* The inputs of an in-place family may not overlap the one that is changed. */
static int check_apart(const gm_family *family, PyArrayObject *const *inputs)
{
    for (int i = 1; i < family->input_count; i++) {
        if (!inputs[i]) {
            continue;
        }
        if (!PyArray_EquivTypes(PyArray_DESCR(inputs[0]), PyArray_DESCR(inputs[i]))) {
            PyErr_Format(PyExc_TypeError, "%s has dtype %R, expected that of %s, %R",
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

/* The result's shape, in call->out; its dtype is that of the first input. */
static int find_result(gm_call *call)
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

/* out against the expected result; out is an ndarray or a device array's layout. */
static int check_out(const gm_call *call, PyArrayObject *out, PyArray_Descr *dtype,
                     PyArrayObject *const *inputs)
{
    if (gm_check_out(out, dtype, call->out.ndim, call->out.shape) < 0) {
        return -1;
    }
    for (int i = 0; i < call->family->input_count; i++) {
        const gm_operand *operand = &call->family->inputs[i];
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

/* ---- running ------------------------------------------------------------------------------ */

static int prepare(bound *b)
{
    gm_status status = gm_prepare(&b->variant, &b->call, &b->plan);
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    return 0;
}

/* What is on any other stream by now, and what will be done to these arrays there, is in order with
 * the call; see memory/device.h. */
static gm_status order_before(const bound *b)
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

static gm_status order_after_one(const bound *b, gm_device_memory *memory)
{
    gm_status status = b->apart ? gm_device_memory_used(memory, b->call.stream) : GM_OK;
    if (status == GM_OK && memory->has_producer) {
        status = b->call.backend->stream_join(memory->producer, b->call.stream);
    }
    return status;
}

static gm_status order_after(const bound *b)
{
    gm_status status = b->out ? order_after_one(b, b->out->memory) : GM_OK;
    for (int i = 0; status == GM_OK && i < GM_MAX_OPERANDS; i++) {
        status = b->in[i] ? order_after_one(b, b->in[i]->memory) : GM_OK;
    }
    return status;
}

static gm_status launch_in_order(bound *b, bool first)
{
    gm_status status = order_before(b);
    if (status == GM_OK && first) { /* the values of its inputs have not been looked at yet */
        status = gm_check(&b->call);
    }
    if (status == GM_OK) {
        status = gm_launch(b->variant, &b->call, &b->plan);
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

static gm_status launch_and_release_gil(bound *b)
{
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = launch_in_order(b, true);
    Py_END_ALLOW_THREADS
    return status;
}

static int choose_device(gm_call *call)
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

static void clear(bound *b)
{
    for (int i = 0; i < GM_MAX_OPERANDS; i++) {
        Py_CLEAR(b->in[i]);
    }
    Py_CLEAR(b->out);
}

/* ---- device arrays in, device array out ----------------------------------------------------- */

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

/* Fills b for arrays that are on the current device; on failure b owns nothing. */
static int bind_device(bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
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
    int device = choose_device(call);
    if (device < 0 || gm_parse_queue(stream, call->backend, &call->stream, &b->apart) < 0 ||
        check_stream(stream, device) < 0) {
        return -1;
    }
    for (int i = 0; i < family->input_count; i++) {
        PyObject *object = given(family, inputs, i);
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
            check_input(&family->inputs[i], array->layout) < 0) {
            return -1;
        }
        gm_describe(array->layout, &call->in[i]);
    }
    if (find_result(call) < 0) {
        return -1;
    }
    PyArray_Descr *dtype = PyArray_DESCR(layouts[0]);
    if (family->in_place) {
        gm_device_array *array = (gm_device_array *)PyTuple_GET_ITEM(inputs, 0);
        if (check_writable(family->inputs[0].name, array) < 0 || check_apart(family, layouts) < 0) {
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
            check_out(call, array->layout, dtype, layouts) < 0) {
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
        b->in[i] = (gm_device_array *)Py_XNewRef(given(family, inputs, i));
    }
    if (prepare(b) < 0) {
        clear(b);
        return -1;
    }
    return 0;
}

/* On the device of the first array, whatever the current one is. */
static PyObject *call_on_device(bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                                PyObject *backend_name)
{
    const gm_device_memory *memory = ((gm_device_array *)PyTuple_GET_ITEM(inputs, 0))->memory;
    PyObject *result = NULL;
    int previous;
    if (gm_enter_device(memory, &previous) < 0) {
        return NULL;
    }
    if (bind_device(b, inputs, out, stream, backend_name) == 0) {
        gm_status status = launch_and_release_gil(b);
        result = status == GM_OK ? Py_NewRef((PyObject *)b->out) : gm_raise(status);
        clear(b);
    }
    gm_leave_device(memory, previous);
    return result;
}

/* The inputs with those of other libraries as device arrays; a new reference. Is the first one not
 * on the device, they are as they were. */
static PyObject *adopt_inputs(const gm_family *family, PyObject *inputs, PyObject *stream)
{
    PyObject *adopted = Py_NewRef(inputs);
    for (int i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
        PyObject *object = given(family, inputs, i);
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

/* With arrays of other libraries, of which the result is the one that was given. */
static PyObject *call_with_adopted(bound *b, PyObject *given_inputs, PyObject *inputs,
                                   PyObject *out, PyObject *stream, PyObject *backend_name)
{
    PyObject *given_out = b->call.family->in_place ? PyTuple_GET_ITEM(given_inputs, 0) : out;
    PyObject *adopted = NULL, *result;
    if (gm_is_adoptable(out)) {
        adopted = (PyObject *)gm_adopt(out, "out", stream);
        if (!adopted && PyErr_Occurred()) {
            return NULL;
        }
    }
    result = call_on_device(b, inputs, adopted ? adopted : out, stream, backend_name);
    Py_XDECREF(adopted);
    if (result && given_out != Py_None && given_out != result) {
        Py_SETREF(result, Py_NewRef(given_out));
    }
    return result;
}

/* ---- host arrays in, ndarray out ------------------------------------------------------------ */

/* The inputs as ndarrays of plain bytes, any layout, NULL for those left out; 0, or -1 with an
 * exception. */
static int parse_host_inputs(const gm_family *family, PyObject *inputs, PyArrayObject **arrays)
{
    for (int i = 0; i < family->input_count; i++) {
        PyObject *object = given(family, inputs, i);
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
        if (!arrays[i] || check_input(&family->inputs[i], arrays[i]) < 0) {
            return -1;
        }
    }
    return family->in_place ? check_apart(family, arrays) : 0;
}

static int check_host_out(const gm_call *call, PyObject *out, PyArrayObject *const *arrays)
{
    if (!PyArray_Check(out)) {
        PyErr_Format(PyExc_TypeError,
                     "out must be a NumPy array when the inputs are on the host, not %.100s",
                     Py_TYPE(out)->tp_name);
        return -1;
    }
    if (check_out(call, (PyArrayObject *)out, PyArray_DESCR(arrays[0]), arrays) < 0) {
        return -1;
    }
    return PyArray_FailUnlessWriteable((PyArrayObject *)out, "out");
}

/* ---- where host arrays are worked on --------------------------------------------------------- */

/* Is this array of the host used where it is? A view that is out of line travels, like all that is
 * out of the device's reach. */
static bool stays(const bound *b, const gm_operand *operand, gm_memory_kind kind,
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
static PyArrayObject *make_result(const bound *b, PyArray_Descr *dtype, const npy_intp *shape)
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
static int place_inputs(bound *b, host_call *h)
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
static int place_result(bound *b, host_call *h, PyObject *out)
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

static bool anything_stays(const bound *b)
{
    bool any = b->out != NULL;
    for (int i = 0; i < b->call.family->input_count; i++) {
        any |= b->in[i] != NULL;
    }
    return any;
}

/* Device memory for what has to travel; the call is described as the kernel will see it. */
static int make_room(bound *b, const host_call *h)
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
    return prepare(b);
}

static bool travels(const gm_array *array)
{
    return !array->absent && array->memory == GM_DEVICE;
}

/* There, done, and back. */
static gm_status send_and_run(bound *b, const host_call *h)
{
    gm_call *call = &b->call;
    const gm_backend *backend = call->backend;
    gm_status status = GM_OK;
    for (int i = 0; status == GM_OK && i < call->family->input_count; i++) {
        if (travels(&call->in[i])) {
            status = gm_transfer(backend, call->in[i].data, PyArray_DATA(h->in[i]),
                                 call->in[i].bytes, h->kind[i], GM_TO_DEVICE, call->stream);
        }
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

static PyObject *call_on_host(bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
                              PyObject *backend_name)
{
    gm_call *call = &b->call;
    const gm_family *family = call->family;
    host_call h = {.out = NULL};
    PyObject *answer = NULL;
    gm_status status;

    if ((!call->backend && gm_parse_backend(backend_name, &call->backend) < 0) ||
        choose_device(call) < 0 || gm_parse_stream(stream, call->backend, &call->stream) < 0 ||
        parse_host_inputs(family, inputs, h.in) < 0) {
        goto done;
    }
    for (int i = 0; i < family->input_count; i++) {
        call->in[i].absent = !h.in[i];
        if (h.in[i]) {
            gm_describe(h.in[i], &call->in[i]);
        }
    }
    if (find_result(call) < 0) {
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
    clear(b);
    return answer;
}

/* A stream of another library may not wait for the default stream, in whose order memory is had:
 * then the default stream does the work, after what is on that stream. The caller waits anyway. */
static PyObject *call_on_host_after(bound *b, PyObject *inputs, PyObject *out, PyObject *stream,
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
    return call_on_host(b, inputs, out, stream, backend_name);
}

/* ---- entry points --------------------------------------------------------------------------- */

/* The fields that do not depend on where the arrays are. A bound is large: no memset. */
static int begin(bound *b, PyObject *family, PyObject *variant, PyObject *inputs, PyObject *out,
                 PyObject *parameters)
{
    memset(b->in, 0, sizeof b->in);
    b->out = NULL;
    b->apart = false;
    b->call.backend = NULL;
    b->call.trace = NULL;
    b->call.stream = NULL;
    b->call.family = gm_parse_family(family);
    if (!b->call.family || gm_parse_variant(b->call.family, variant, &b->variant) < 0 ||
        parse_parameters(b->call.family, parameters, b->call.parameters) < 0) {
        return -1;
    }
    b->call.variant = b->variant;
    int least = count_required(b->call.family), most = b->call.family->input_count;
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
    bound b;
    (void)module;
    if (count != 7) {
        PyErr_SetString(PyExc_TypeError, "call takes 7 arguments: family, variant, inputs, out, "
                                         "stream, backend, parameters");
        return NULL;
    }
    if (begin(&b, args[0], args[1], args[2], args[3], args[6]) < 0) {
        return NULL;
    }
    PyObject *inputs = adopt_inputs(b.call.family, args[2], args[4]), *result;
    if (!inputs) {
        return NULL;
    }
    if (gm_is_device_array(PyTuple_GET_ITEM(inputs, 0))) {
        result = call_with_adopted(&b, args[2], inputs, args[3], args[4], args[5]);
    } else {
        result = call_on_host_after(&b, inputs, args[3], args[4], args[5]);
    }
    Py_DECREF(inputs);
    return result;
}

gm_status gm_pack(gm_device_array *a, gm_device_array *out, gm_stream stream, bool apart)
{
    bound b;
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
    return status == GM_OK ? launch_and_release_gil(&b) : status;
}

PyObject *gm_core_traffic(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    bound b;
    (void)module;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError,
                        "traffic takes 4 arguments: family, variant, inputs, parameters");
        return NULL;
    }
    if (begin(&b, args[0], args[1], args[2], Py_None, args[3]) < 0) {
        return NULL;
    }
    gm_trace *trace = gm_trace_create();
    if (!trace) {
        return PyErr_NoMemory();
    }
    PyObject *answer = NULL;
    gm_status status = gm_sim.open();
    if (status != GM_OK) {
        gm_raise(status);
    } else {
        b.call.trace = trace;
        PyObject *result = NULL;
        if (gm_is_device_array(PyTuple_GET_ITEM(args[2], 0))) {
            PyObject *name = PyUnicode_FromString(gm_sim.name);
            result = name ? call_on_device(&b, args[2], Py_None, Py_None, name) : NULL;
            Py_XDECREF(name);
        } else {
            b.call.backend = &gm_sim;
            result = call_on_host(&b, args[2], Py_None, Py_None, Py_None);
        }
        if (result) {
            answer = gm_traffic_dict(b.call.family, b.variant, trace, result);
            Py_DECREF(result);
        }
    }
    gm_trace_destroy(trace);
    return answer;
}

/* ---- prepared calls ------------------------------------------------------------------------- */

typedef struct gm_prepared {
    PyObject_HEAD bound bound;
    PyObject *stream; /* kept alive */
    pthread_mutex_t lock;
} gm_prepared;

/* Once more. A launch hook may write into the plan: then threads take turns. */
static gm_status relaunch(gm_prepared *self)
{
    bound *b = &self->bound;
    const gm_device_memory *memory = b->out->memory;
    int previous;
    gm_status status = b->call.backend->use_device(memory->device, &previous);
    if (status != GM_OK) {
        return status;
    }
    if (b->variant->launch) {
        pthread_mutex_lock(&self->lock);
    }
    status = launch_in_order(b, false);
    if (b->variant->launch) {
        pthread_mutex_unlock(&self->lock);
    }
    gm_leave_device(memory, previous);
    return status;
}

PyObject *gm_core_prepare(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 6) {
        PyErr_SetString(PyExc_TypeError, "prepare takes 6 arguments: family, variant, inputs, "
                                         "out, stream, parameters");
        return NULL;
    }
    gm_prepared *self = PyObject_New(gm_prepared, &gm_prepared_type);
    if (!self) {
        return NULL;
    }
    self->stream = NULL;
    pthread_mutex_init(&self->lock, NULL);
    memset(self->bound.in, 0, sizeof self->bound.in);
    self->bound.out = NULL;
    if (begin(&self->bound, args[0], args[1], args[2], args[3], args[5]) < 0) {
        goto fail;
    }
    if (!gm_is_device_array(PyTuple_GET_ITEM(args[2], 0)) ||
        (!self->bound.call.family->in_place && !gm_is_device_array(args[3]))) {
        PyErr_SetString(PyExc_TypeError, "prepare takes gpumem.DeviceArray inputs and out");
        goto fail;
    }
    const gm_device_memory *memory = ((gm_device_array *)PyTuple_GET_ITEM(args[2], 0))->memory;
    int previous;
    if (gm_enter_device(memory, &previous) < 0) {
        goto fail;
    }
    int failed = bind_device(&self->bound, args[2], args[3], args[4], Py_None);
    if (!failed) {
        gm_status status;
        Py_BEGIN_ALLOW_THREADS
        status = order_before(&self->bound);
        if (status == GM_OK) {
            status = gm_check(&self->bound.call);
        }
        Py_END_ALLOW_THREADS
        if (status != GM_OK) {
            gm_raise(status);
            failed = -1;
        }
    }
    gm_leave_device(memory, previous);
    if (failed) {
        goto fail;
    }
    self->stream = Py_NewRef(args[4]);
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

static void prepared_dealloc(PyObject *object)
{
    gm_prepared *self = (gm_prepared *)object;
    clear(&self->bound);
    pthread_mutex_destroy(&self->lock);
    Py_XDECREF(self->stream);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *prepared_launch(PyObject *object, PyObject *unused)
{
    (void)unused;
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = relaunch((gm_prepared *)object);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}

static PyObject *prepared_variant(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((gm_prepared *)object)->bound.variant->name);
}

static PyGetSetDef prepared_attributes[] = {
    {"variant", prepared_variant, NULL, "Name of the variant that runs; never \"auto\".", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef prepared_methods[] = {
    {"launch", prepared_launch, METH_NOARGS, "launch()\n--\n\nRun the call once."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject gm_prepared_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem._core.Prepared",
    .tp_basicsize = sizeof(gm_prepared),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A call bound to device arrays, ready to be repeated.",
    .tp_dealloc = prepared_dealloc,
    .tp_getset = prepared_attributes,
    .tp_methods = prepared_methods,
};

PyObject *gm_core_launch_all(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "launch_all takes 2 arguments: prepared, count");
        return NULL;
    }
    Py_ssize_t launches = PyNumber_AsSsize_t(args[1], PyExc_OverflowError);
    if (launches == -1 && PyErr_Occurred()) {
        return NULL;
    }
    /* A tuple of its own: the caller's list may change while the GIL is released. */
    PyObject *all = PySequence_Tuple(args[0]);
    if (!all) {
        return NULL;
    }
    Py_ssize_t kinds = PyTuple_GET_SIZE(all);
    for (Py_ssize_t i = 0; i < kinds; i++) {
        if (!PyObject_TypeCheck(PyTuple_GET_ITEM(all, i), &gm_prepared_type)) {
            PyErr_SetString(PyExc_TypeError, "prepared must hold Prepared calls only");
            Py_DECREF(all);
            return NULL;
        }
    }
    gm_status status = GM_OK;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; status == GM_OK && kinds > 0 && i < launches; i++) {
        status = relaunch((gm_prepared *)PyTuple_GET_ITEM(all, i % kinds));
    }
    Py_END_ALLOW_THREADS
    Py_DECREF(all);
    if (status != GM_OK) {
        return gm_raise(status);
    }
    Py_RETURN_NONE;
}
