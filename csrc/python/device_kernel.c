/*
 * The type DeviceKernel: a kernel of a user on a GPU.
 *
 * A launch has to cost little, so the common arguments are packed here. What takes what is decided
 * in gpumem/modules: it says which dtypes it has accepted for a parameter, and gets every call with
 * an argument that is not plainly right.
 */
#include "python/device_kernel.h"

#include <numpy/arrayscalars.h>
#include <stdatomic.h>
#include <string.h>

#include "backend/cuda_modules.h"
#include "python/adopt.h"
#include "python/device_object.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/streams.h"

enum { SLOT = 16 /* bytes; values are aligned as the widest type is */ };

typedef struct parameter {
    char kind; /* as in gm_module_parameter */
    int pointer, constant;
    unsigned bytes;
    size_t offset; /* of the value */
    /* The dtype of the latest array that was found to fit, or NULL; a reference. Threads compare it
     * with that of an array which they hold. */
    _Atomic(PyArray_Descr *) accepted;
    const char *text; /* "const float *x" */
} parameter;

typedef struct device_kernel {
    PyObject_HEAD void *handle;
    PyObject *name, *texts; /* keep the characters alive */
    Py_ssize_t count;
    size_t room; /* for pointers to the values, and the values */
    parameter *parameters;
} device_kernel;

/* One launch. */
typedef struct launch {
    device_kernel *kernel;
    gm_cuda_module_launch what;
    PyObject *stream_object;
    gm_current_stream current;
    bool nonblocking;
    bool packed; /* the caller has checked everything: values are bytes, or arrays */
    void **args;
    gm_device_array **arrays; /* by parameter; NULL: none. References to adopted ones only */
    bool *adopted;
    const gm_device_memory *first; /* whose device it runs on; NULL: the current one */
} launch;

/* What became of an argument. */
typedef enum packing {
    FAILED = -1, /* with an exception */
    UNSURE,      /* for the caller to decide */
    PACKED,
} packing;

/* ---- scalars -------------------------------------------------------------------------------- */

static packing pack_float(const parameter *p, PyObject *value, void *to)
{
    double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred()) {
        PyErr_Clear(); /* an int that is too large */
        return UNSURE;
    }
    float narrow = (float)number;
    if (p->bytes == sizeof number) {
        memcpy(to, &number, sizeof number);
    } else if (p->bytes == sizeof narrow) {
        memcpy(to, &narrow, sizeof narrow);
    } else {
        return UNSURE;
    }
    return PACKED;
}

static packing pack_integer(const parameter *p, PyObject *value, void *to)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    unsigned bits = 8 * p->bytes;
    if (overflow || p->bytes > sizeof number || (p->kind == 'u' && number < 0)) {
        return UNSURE;
    }
    if (bits < 64) {
        unsigned value_bits = p->kind == 'u' ? bits : bits - 1;
        if (number >> value_bits != 0 && number >> value_bits != -1) {
            return UNSURE;
        }
    }
    memcpy(to, &number, p->bytes); /* little-endian, as the device is */
    return PACKED;
}

/* A scalar of NumPy that has the parameter's very type. */
static packing pack_numpy(const parameter *p, PyObject *value, void *to)
{
    PyArray_Descr *dtype = PyArray_DescrFromScalar(value);
    if (!dtype) {
        return FAILED;
    }
    bool same = dtype->kind == p->kind && PyDataType_ELSIZE(dtype) == (npy_intp)p->bytes &&
                p->kind != 'V' && PyArray_ISNBO(dtype->byteorder);
    Py_DECREF(dtype);
    if (same) {
        PyArray_ScalarAsCtype(value, to);
    }
    return same ? PACKED : UNSURE;
}

static packing pack_value(const launch *l, const parameter *p, PyObject *value, void *to)
{
    if (PyBytes_CheckExact(value) && (l->packed || p->kind == 'V')) {
        if (PyBytes_GET_SIZE(value) != (Py_ssize_t)p->bytes) {
            return UNSURE;
        }
        memcpy(to, PyBytes_AS_STRING(value), p->bytes);
        return PACKED;
    }
    if (p->kind == 'f' && (PyFloat_CheckExact(value) || PyLong_CheckExact(value))) {
        return pack_float(p, value, to);
    }
    if ((p->kind == 'i' || p->kind == 'u') && PyLong_CheckExact(value)) {
        return pack_integer(p, value, to);
    }
    if (p->kind == 'b' && PyBool_Check(value)) {
        *(bool *)to = value == Py_True;
        return PACKED;
    }
    return PyArray_IsScalar(value, Generic) ? pack_numpy(p, value, to) : UNSURE;
}

/* ---- arrays --------------------------------------------------------------------------------- */

static bool fits(const launch *l, const parameter *p, const gm_device_array *array)
{
    if (l->packed) {
        return true;
    }
    return PyArray_DESCR(array->layout) ==
               atomic_load_explicit(&p->accepted, memory_order_relaxed) &&
           (p->constant || PyArray_ISWRITEABLE(array->layout));
}

static int check_device(launch *l, const parameter *p, const gm_device_array *array)
{
    if (l->first && l->first->device != array->memory->device) {
        PyErr_Format(PyExc_ValueError, "%U: %s is on device %d, another array is on device %d",
                     l->kernel->name, p->text, array->memory->device, l->first->device);
        return -1;
    }
    l->first = array->memory;
    return 0;
}

static packing pack_array(launch *l, Py_ssize_t i, PyObject *value, void *to)
{
    const parameter *p = &l->kernel->parameters[i];
    void *address = NULL;
    if (value != Py_None) {
        gm_device_array *array = (gm_device_array *)value;
        if (!gm_is_device_array(value)) {
            gm_usage usage = p->constant ? GM_READ : GM_WRITTEN;
            if (PyArray_Check(value) ||
                !(array = gm_adopt(value, p->text, l->stream_object, usage, &l->current))) {
                return PyErr_Occurred() ? FAILED : UNSURE;
            }
            l->adopted[i] = true;
        }
        l->arrays[i] = array;
        if (array->memory->backend->host_memory || !fits(l, p, array)) {
            return UNSURE;
        }
        if (check_device(l, p, array) < 0) {
            return FAILED;
        }
        address = PyArray_SIZE(array->layout) > 0 ? PyArray_DATA(array->layout) : NULL;
    }
    memcpy(to, &address, sizeof address);
    return PACKED;
}

static packing pack(launch *l, PyObject *values)
{
    for (Py_ssize_t i = 0; i < l->kernel->count; i++) {
        const parameter *p = &l->kernel->parameters[i];
        PyObject *value = PyTuple_GET_ITEM(values, i);
        void *to = (char *)l->args + p->offset;
        l->args[i] = to;
        packing done = p->pointer ? pack_array(l, i, value, to) : pack_value(l, p, value, to);
        if (done != PACKED) {
            return done;
        }
    }
    return PACKED;
}

/* ---- launching ------------------------------------------------------------------------------ */

/* The order of streams is that of the families' calls. */
static gm_status launch_in_order(launch *l)
{
    gm_joined before = {false, NULL}, after = {false, NULL};
    gm_stream stream = l->what.stream;
    gm_status status =
        l->nonblocking && l->first ? l->first->backend->stream_join(stream, NULL) : GM_OK;
    for (Py_ssize_t i = 0; status == GM_OK && i < l->kernel->count; i++) {
        gm_device_memory *memory = l->arrays[i] ? l->arrays[i]->memory : NULL;
        if (memory && !l->nonblocking) {
            status = gm_device_memory_settle(memory);
        }
        if (memory && status == GM_OK) {
            status = gm_device_memory_follow(memory, stream, &before);
        }
    }
    if (status == GM_OK) {
        status = gm_cuda_launch_loaded(&l->what);
    }
    for (Py_ssize_t i = 0; status == GM_OK && i < l->kernel->count; i++) {
        if (l->arrays[i]) {
            status = gm_device_memory_worked(l->arrays[i]->memory, stream, l->nonblocking, &after);
        }
    }
    return status;
}

static packing run(launch *l)
{
    gm_status status;
    int previous = -1;
    if (l->first && gm_enter_device(l->first, &previous) < 0) {
        return FAILED;
    }
    packing done = gm_parse_queue(l->stream_object, gm_backend_with_memory(false), &l->what.stream,
                                  &l->nonblocking) < 0
                       ? FAILED
                       : PACKED;
    if (done == PACKED) {
        Py_BEGIN_ALLOW_THREADS
        status = launch_in_order(l);
        Py_END_ALLOW_THREADS
        if (status != GM_OK) {
            gm_raise(status);
            done = FAILED;
        }
    }
    if (l->first) {
        gm_leave_device(l->first, previous);
    }
    return done;
}

/* Three lengths; -1 with an exception. */
static int parse_dim(PyObject *sides, gm_dim *dim)
{
    unsigned *const to[] = {&dim->x, &dim->y, &dim->z};
    if (!PyTuple_Check(sides) || PyTuple_GET_SIZE(sides) != 3) {
        PyErr_SetString(PyExc_TypeError,
                        "launch: grid, block and cluster are tuples of three ints");
        return -1;
    }
    for (int i = 0; i < 3; i++) {
        unsigned long side = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(sides, i));
        if (side == (unsigned long)-1 && PyErr_Occurred()) {
            return -1;
        }
        *to[i] = (unsigned)side;
    }
    return 0;
}

/* launch(values, grid, block, cluster, shared_bytes, stream, cooperative, packed) */
static PyObject *kernel_launch(PyObject *object, PyObject *const *args, Py_ssize_t arg_count)
{
    device_kernel *self = (device_kernel *)object;
    launch l = {.kernel = self, .what = {.kernel = self->handle}};
    if (arg_count != 8 || !PyTuple_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "launch takes a tuple of values, and 7 more arguments");
        return NULL;
    }
    PyObject *values = args[0];
    Py_ssize_t shared_bytes = PyLong_AsSsize_t(args[4]);
    if ((shared_bytes == -1 && PyErr_Occurred()) || parse_dim(args[1], &l.what.grid) < 0 ||
        parse_dim(args[2], &l.what.block) < 0 || parse_dim(args[3], &l.what.cluster) < 0) {
        return NULL;
    }
    l.stream_object = args[5];
    int cooperative = PyObject_IsTrue(args[6]), packed = PyObject_IsTrue(args[7]);
    if (cooperative < 0 || packed < 0) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(values) != self->count) {
        Py_RETURN_FALSE;
    }
    l.what.name = PyUnicode_AsUTF8(self->name);
    l.what.shared_bytes = (size_t)shared_bytes;
    l.what.cooperative = cooperative;
    l.packed = packed;
    size_t count = (size_t)self->count;
    char *memory = PyMem_Calloc(1, self->room + count * (sizeof *l.arrays + sizeof *l.adopted));
    if (!memory) {
        return PyErr_NoMemory();
    }
    l.what.args = l.args = (void **)memory;
    l.arrays = (gm_device_array **)(memory + self->room);
    l.adopted = (bool *)(l.arrays + count);
    packing done = pack(&l, values);
    if (done == PACKED) {
        done = run(&l);
    }
    for (size_t i = 0; i < count; i++) {
        if (l.adopted[i]) {
            gm_device_array *adopted = l.arrays[i];
            Py_DECREF(adopted);
        }
    }
    PyMem_Free(memory);
    return done == FAILED ? NULL : PyBool_FromLong(done == PACKED);
}

/* accept(i, dtype): arrays of this dtype fit the parameter. */
static PyObject *kernel_accept(PyObject *object, PyObject *args)
{
    device_kernel *self = (device_kernel *)object;
    Py_ssize_t i;
    PyObject *dtype;
    if (!PyArg_ParseTuple(args, "nO!:accept", &i, &PyArrayDescr_Type, &dtype)) {
        return NULL;
    }
    if (i < 0 || i >= self->count || !self->parameters[i].pointer) {
        PyErr_SetString(PyExc_ValueError, "accept: no such parameter, or no pointer");
        return NULL;
    }
    PyArray_Descr *before =
        atomic_exchange(&self->parameters[i].accepted, (PyArray_Descr *)Py_NewRef(dtype));
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

/* ---- the type ------------------------------------------------------------------------------- */

static int read_parameters(device_kernel *self, PyObject *types)
{
    size_t count = (size_t)self->count, offset = count * sizeof(void *);
    self->parameters = PyMem_Calloc(count + 1, sizeof *self->parameters);
    if (!self->parameters) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->count; i++) {
        parameter *p = &self->parameters[i];
        int kind;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(types, i), "CIpp", &kind, &p->bytes, &p->pointer,
                              &p->constant) ||
            !(p->text = PyUnicode_AsUTF8(PyTuple_GET_ITEM(self->texts, i)))) {
            return -1;
        }
        p->kind = (char)kind;
        offset = (offset + SLOT - 1) & ~(size_t)(SLOT - 1);
        p->offset = offset;
        offset += p->pointer ? sizeof(void *) : p->bytes;
    }
    self->room = (offset + SLOT - 1) & ~(size_t)(SLOT - 1);
    return 0;
}

/* DeviceKernel(handle, name, types, texts) */
static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unsigned long long handle;
    PyObject *name, *types, *texts;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "KUO!O!:DeviceKernel", &handle, &name, &PyTuple_Type, &types,
                          &PyTuple_Type, &texts)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(types) != PyTuple_GET_SIZE(texts) || !PyUnicode_AsUTF8(name)) {
        PyErr_SetString(PyExc_ValueError, "DeviceKernel: a text for each type");
        return NULL;
    }
    device_kernel *self = (device_kernel *)type->tp_alloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->handle = (void *)(uintptr_t)handle;
    self->name = Py_NewRef(name);
    self->texts = Py_NewRef(texts);
    self->count = PyTuple_GET_SIZE(types);
    if (read_parameters(self, types) < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void kernel_dealloc(PyObject *object)
{
    device_kernel *self = (device_kernel *)object;
    for (Py_ssize_t i = 0; self->parameters && i < self->count; i++) {
        Py_XDECREF(atomic_load(&self->parameters[i].accepted));
    }
    PyMem_Free(self->parameters);
    Py_XDECREF(self->name);
    Py_XDECREF(self->texts);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef kernel_methods[] = {
    {"launch", (PyCFunction)(void (*)(void))kernel_launch, METH_FASTCALL,
     "launch($self, values, grid, block, cluster, shared_bytes, stream, cooperative, packed, /)\n"
     "--\n\n"
     "Queue the kernel; False, and nothing is done, if the caller has to look at the values."},
    {"accept", kernel_accept, METH_VARARGS,
     "accept($self, parameter, dtype, /)\n--\n\n"
     "Arrays of this dtype fit the parameter."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject gm_device_kernel_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem._core.DeviceKernel",
    .tp_basicsize = sizeof(device_kernel),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "DeviceKernel(handle, name, types, texts, /)\n--\n\n"
              "A kernel on a GPU, by its CUkernel, with the types of its parameters.",
    .tp_new = kernel_new,
    .tp_dealloc = kernel_dealloc,
    .tp_methods = kernel_methods,
};
