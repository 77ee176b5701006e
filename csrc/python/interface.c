/* The dict of __cuda_array_interface__: written for our arrays, read from others. */
#include "python/interface.h"

#include <stdint.h>

#include "python/arrays.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/values.h"

/* ---- lending -------------------------------------------------------------------------------- */

/* None for C order, as in NumPy's interface. */
static PyObject *lent_strides(PyArrayObject *layout)
{
    npy_intp strides[GM_MAX_DIMS];
    if (PyArray_IS_C_CONTIGUOUS(layout)) {
        return Py_NewRef(Py_None);
    }
    return gm_lent_strides(layout, strides) < 0
               ? NULL
               : PyArray_IntTupleFromIntp(PyArray_NDIM(layout), strides);
}

/* The layout's __array_interface__ with another address, strides and stream. */
static PyObject *describe(PyArrayObject *layout)
{
    void *address = PyArray_SIZE(layout) > 0 ? PyArray_DATA(layout) : NULL;
    PyObject *interface = PyObject_GetAttrString((PyObject *)layout, "__array_interface__");
    PyObject *data = Py_BuildValue("NO", PyLong_FromVoidPtr(address),
                                   PyArray_ISWRITEABLE(layout) ? Py_False : Py_True);
    PyObject *strides = lent_strides(layout);
    if (!interface || !data || !strides || PyDict_SetItemString(interface, "data", data) < 0 ||
        PyDict_SetItemString(interface, "strides", strides) < 0 ||
        PyDict_SetItemString(interface, "stream", Py_None) < 0) {
        Py_CLEAR(interface);
    }
    Py_XDECREF(data);
    Py_XDECREF(strides);
    return interface;
}

PyObject *gm_interface_export(PyObject *object, void *unused)
{
    (void)unused;
    gm_device_array *self = (gm_device_array *)object;
    int previous;
    if (self->memory->backend->host_memory) {
        PyErr_SetString(PyExc_AttributeError, "an array in the simulator's memory has no "
                                              "__cuda_array_interface__; __dlpack__ lends it");
        return NULL;
    }
    PyObject *interface = describe(self->layout);
    if (!interface || gm_enter_device(self->memory, &previous) < 0) {
        Py_XDECREF(interface);
        return NULL;
    }
    /* Not every consumer waits for the stream in the dict: PyTorch's as_tensor reads on its own
     * stream at once. So the host waits here. DLPack passes the consumer's stream, and need not. */
    gm_status status;
    Py_BEGIN_ALLOW_THREADS
    status = gm_device_memory_finish(self->memory);
    Py_END_ALLOW_THREADS
    gm_leave_device(self->memory, previous);
    if (status != GM_OK) {
        Py_DECREF(interface);
        return gm_raise(status);
    }
    return interface;
}

/* ---- borrowing ------------------------------------------------------------------------------ */

/* The entries that are read, and one that is always there. */
typedef enum key { SHAPE, TYPESTR, DESCR, DATA, STRIDES, STREAM, MASK, VERSION, KEYS } key;

static const char *const names[KEYS] = {"shape",   "typestr", "descr", "data",
                                        "strides", "stream",  "mask",  "version"};
static PyObject *keys[KEYS], *attribute;

int gm_interface_init(void)
{
    for (int i = 0; i < KEYS; i++) {
        keys[i] = PyUnicode_InternFromString(names[i]);
        if (!keys[i]) {
            return -1;
        }
    }
    attribute = PyUnicode_InternFromString("__cuda_array_interface__");
    return attribute ? 0 : -1;
}

int gm_interface_find(PyObject *object, PyObject **interface)
{
    return gm_find_attribute(object, attribute, interface);
}

/* Borrowed references; NULL for what is absent or None. */
typedef struct entries {
    PyObject *value[KEYS];
} entries;

/* Which entry it is; KEYS if it is another one. Names in the source of a producer are interned. */
static int find_key(PyObject *name)
{
    int which = 0;
    while (which < KEYS && keys[which] != name) {
        which++;
    }
    if (which == KEYS && PyUnicode_Check(name)) {
        which = 0;
        while (which < KEYS && PyUnicode_Compare(keys[which], name) != 0) {
            which++;
        }
    }
    return which;
}

/* All in one go: a lookup in a dict takes longer. The dict is ours alone. */
static entries read_entries(PyObject *interface)
{
    entries found = {{NULL}};
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(interface, &at, &name, &value)) {
        const int which = find_key(name);
        if (which < KEYS && value != Py_None) {
            found.value[which] = value;
        }
    }
    return found;
}

bool gm_interface_has_stream(PyObject *interface)
{
    int has = PyDict_Check(interface) ? PyDict_Contains(interface, keys[STREAM]) : 0;
    if (has < 0) {
        PyErr_Clear(); /* adopting it meets the same error */
    }
    return has > 0;
}

static int refuse(const char *name, key what, PyObject *value)
{
    gm_raise_about(PyExc_ValueError, "%s has a __cuda_array_interface__ whose %s is %.80R", name,
                   names[what], value ? value : Py_None);
    return -1;
}

/* A tuple of at most GM_MAX_DIMS integers; returns how many, or -1 with an exception. */
static int parse_numbers(PyObject *tuple, const char *name, key what, int64_t *numbers)
{
    if (!tuple || !PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > GM_MAX_DIMS) {
        return refuse(name, what, tuple);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        PyObject *index = PyLong_CheckExact(item) ? Py_NewRef(item) : PyNumber_Index(item);
        int overflow = 0;
        numbers[i] = index ? PyLong_AsLongLongAndOverflow(index, &overflow) : -1;
        Py_XDECREF(index);
        if (overflow || PyErr_Occurred()) {
            return gm_forgive_value() ? refuse(name, what, tuple) : -1;
        }
    }
    return (int)PyTuple_GET_SIZE(tuple);
}

/* NumPy's own dtypes, of which it makes a string each time it is asked; NULL for all others. */
static PyArray_Descr *find_plain(PyObject *typestr)
{
    if (PyUnicode_GET_LENGTH(typestr) != 3) {
        return NULL;
    }
    Py_UCS4 order = PyUnicode_READ_CHAR(typestr, 0), size = PyUnicode_READ_CHAR(typestr, 2);
    Py_UCS4 kind = PyUnicode_READ_CHAR(typestr, 1);
    bool native = order == NPY_NATBYTE || (order == '|' && size == '1');
    return native && kind < 128 && size > '0' && size <= '9'
               ? gm_plain_dtype((char)kind, (int)(size - '0'))
               : NULL;
}

/* The typestr of a structure has its size only; descr may have its fields. */
static PyArray_Descr *parse_dtype(const entries *given, const char *name)
{
    PyObject *typestr = given->value[TYPESTR], *descr = given->value[DESCR];
    PyArray_Descr *dtype = NULL, *fields = NULL;
    if (!typestr || !PyUnicode_Check(typestr)) {
        refuse(name, TYPESTR, typestr);
        return NULL;
    }
    if ((dtype = find_plain(typestr))) {
        return dtype;
    }
    if (!PyArray_DescrConverter(typestr, &dtype)) {
        if (gm_forgive_value()) {
            gm_raise_about(PyExc_TypeError, "%s has the typestr %.80R, which NumPy does not know",
                           name, typestr);
        }
        return NULL;
    }
    if (dtype->kind == 'V' && descr && PyList_Check(descr)) {
        if (!PyArray_DescrConverter(descr, &fields)) {
            if (!gm_forgive_value()) {
                Py_DECREF(dtype);
                return NULL;
            }
        } else if (PyDataType_ELSIZE(fields) == PyDataType_ELSIZE(dtype)) {
            Py_SETREF(dtype, fields);
        } else {
            Py_DECREF(fields);
        }
    }
    if (gm_check_dtype(dtype, name) < 0) {
        Py_CLEAR(dtype);
    }
    return dtype;
}

static int parse_data(const entries *given, const char *name, void **address, bool *writeable)
{
    PyObject *data = given->value[DATA];
    if (!data || !PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2) {
        return refuse(name, DATA, data);
    }
    PyObject *index = PyNumber_Index(PyTuple_GET_ITEM(data, 0));
    unsigned long long value = index ? PyLong_AsUnsignedLongLong(index) : 0;
    int read_only = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
    Py_XDECREF(index);
    if (PyErr_Occurred() || value > UINTPTR_MAX) {
        return gm_forgive_value() ? refuse(name, DATA, data) : -1;
    }
    *address = (void *)(uintptr_t)value;
    *writeable = !read_only;
    return 0;
}

/* None or no entry: nothing to wait for. */
static int parse_producer(const entries *given, const char *name, gm_stream *stream)
{
    PyObject *number = given->value[STREAM];
    if (!number) {
        return 0;
    }
    unsigned long long value = PyLong_Check(number) ? PyLong_AsUnsignedLongLong(number) : 0;
    if (PyErr_Occurred() || value == 0 || value > UINTPTR_MAX) { /* 0 is ambiguous */
        PyErr_Clear();
        return refuse(name, STREAM, number);
    }
    *stream = value == 1 ? NULL : (gm_stream)(uintptr_t)value;
    return 0;
}

static void drop_object(void *owner)
{
    Py_DECREF((PyObject *)owner);
}

/* Runs on any thread, whichever drops the last reference. After the interpreter has ended, its
 * objects are gone already. */
static void forget_object(void *owner)
{
    if (!Py_IsInitialized()) {
        return;
    }
    PyGILState_STATE state = PyGILState_Ensure();
    gm_run_aside(drop_object, owner);
    PyGILState_Release(state);
}

static gm_device_array *adopt(PyObject *interface, PyObject *owner, const char *name,
                              gm_usage usage, gm_stream stream)
{
    int64_t shape[GM_MAX_DIMS], strides[GM_MAX_DIMS];
    gm_stream producer = NULL;
    void *address;
    bool writeable;
    const entries given = read_entries(interface);
    if (given.value[MASK]) {
        PyErr_Format(PyExc_ValueError, "%s has a mask; accepted are arrays without one", name);
        return NULL;
    }
    PyObject *steps = given.value[STRIDES];
    int ndim = parse_numbers(given.value[SHAPE], name, SHAPE, shape);
    if (ndim < 0 || parse_data(&given, name, &address, &writeable) < 0 ||
        parse_producer(&given, name, &producer) < 0) {
        return NULL;
    }
    if (steps && parse_numbers(steps, name, STRIDES, strides) != ndim) {
        if (!PyErr_Occurred()) {
            refuse(name, STRIDES, steps);
        }
        return NULL;
    }
    PyArray_Descr *dtype = parse_dtype(&given, name);
    if (!dtype) {
        return NULL;
    }
    gm_device_array *array = gm_borrow(gm_backend_with_memory(false), -1, name, dtype, ndim, shape,
                                       steps ? strides : NULL, address, writeable);
    Py_DECREF(dtype);
    if (array) {
        if (usage == GM_KEPT) {
            array->memory->forget = forget_object;
            array->memory->owner = Py_NewRef(owner);
        }
        if (given.value[STREAM] && gm_borrow_follow(array, producer, usage, stream) < 0) {
            Py_CLEAR(array);
        }
    }
    return array;
}

gm_device_array *gm_interface_adopt(PyObject *interface, PyObject *owner, const char *name,
                                    gm_usage usage, gm_stream stream)
{
    if (!PyDict_Check(interface)) {
        PyErr_Format(PyExc_TypeError,
                     "%s has a __cuda_array_interface__ that is %.100s, not a dict", name,
                     Py_TYPE(interface)->tp_name);
        return NULL;
    }
#ifdef Py_GIL_DISABLED
    const bool shared = true; /* a count of references says little */
#else
    const bool shared = Py_REFCNT(interface) > 1;
#endif
    /* A copy, so that nobody changes it while it is read. */
    PyObject *own = shared ? PyDict_Copy(interface) : Py_NewRef(interface);
    gm_device_array *array = own ? adopt(own, owner, name, usage, stream) : NULL;
    Py_XDECREF(own);
    return array;
}
