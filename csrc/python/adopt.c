/* Finds the protocol that an object of another library offers, and borrows its array. */
#include "python/adopt.h"

#include "python/arrays.h"
#include "python/device_array.h"
#include "python/devices.h"
#include "python/dlpack_device.h"
#include "python/dlpack_import.h"
#include "python/errors.h"
#include "python/interface.h"
#include "python/streams.h"
#include "python/values.h"

bool gm_is_adoptable(PyObject *object)
{
    return object != Py_None && !gm_is_device_array(object) && !PyArray_Check(object) &&
           !PyBytes_Check(object) && !PyType_Check(object);
}

/* What is asked for. */
typedef struct request {
    PyObject *object;
    const char *name;
    const gm_backend *backend; /* whose memory it has to be in; NULL: any that can be used */
    PyObject *stream;
    gm_usage usage;
    gm_current_stream *current;
} request;

/* ---- DLPack's exchange API ------------------------------------------------------------------ */

/* The backend that uses memory of DLPack's kind in place; -1 with an exception if none does. */
static int choose_backend(int type, const gm_backend **backend)
{
    *backend = gm_backend_with_memory(false);
    if (gm_dlpack_backend(type) == *backend) {
        return 0;
    }
    if (!gm_dlpack_backend(type)) {
        PyErr_Format(PyExc_ValueError,
                     "x is in %s memory; accepted are CUDA devices (and the host, on backend "
                     "\"sim\")",
                     gm_dlpack_name(type));
        return -1;
    }
    if (gm_parse_backend(Py_None, backend) < 0) {
        return -1;
    }
    if (!(*backend)->host_memory) {
        PyErr_Format(
            PyExc_ValueError,
            "x is in %s memory: give it to the functions as it is, or use to_device, which "
            "copies it",
            gm_dlpack_name(type));
        return -1;
    }
    return 0;
}

/* 1, and an array unless it is in other memory; 0 if the object has to be asked in another way; -1
 * with an exception. */
static int adopt_exchanged(const request *r, gm_device_array **array)
{
    gm_exchanged read;
    gm_stream stream = NULL;
    int found = gm_exchange_read(r->object, r->name, r->usage, &read);
    if (found <= 0) {
        return found;
    }
    int type = read.tensor.device.device_type;
    const gm_backend *backend = r->backend;
    int chosen = backend ? 0 : choose_backend(type, &backend);
    if (chosen < 0 || gm_dlpack_backend(type) != backend) {
        gm_exchange_release(&read);
        return chosen < 0 ? -1 : 1;
    }
    if (r->usage == GM_KEPT && gm_parse_stream(r->stream, backend, &stream) < 0) {
        gm_exchange_release(&read);
        return -1;
    }
    *array = gm_exchange_adopt(&read, backend, r->name, stream, r->current);
    return *array ? 1 : -1;
}

/* ---- __dlpack__ and __cuda_array_interface__ ------------------------------------------------ */

static gm_device_array *adopt_capsule(const request *r, int device)
{
    gm_device_array *array = NULL;
    gm_stream stream = NULL;
    int previous;
    if (r->backend->use_device(r->backend->host_memory ? 0 : device, &previous) != GM_OK) {
        gm_raise(gm_last_error()->status);
        return NULL;
    }
    if (gm_parse_stream(r->stream, r->backend, &stream) == 0) {
        array = gm_dlpack_adopt(r->object, r->backend, r->name, stream);
    }
    if (previous != device) {
        r->backend->use_device(previous, &previous);
    }
    return array;
}

/* By __cuda_array_interface__ if it names the producer's stream, because then that stream can wait
 * for our work too; else by DLPack, whose producer makes our stream wait. */
static gm_device_array *adopt_by_protocol(const request *r)
{
    PyObject *interface;
    gm_device_array *array = NULL;
    gm_stream stream = NULL;
    int type = 0, device = 0, found = 0;
    if (gm_interface_find(r->object, &interface) < 0 && !gm_dlpack_instead(r->object)) {
        return NULL; /* PyTorch has no typestr for some dtypes; DLPack names them in its error */
    }
    if (!interface || !gm_interface_has_stream(interface)) {
        found = gm_dlpack_find(r->object, r->name, &type, &device);
    }
    if (found > 0 && gm_dlpack_backend(type) == r->backend) {
        array = adopt_capsule(r, device);
    } else if (found >= 0 && interface) {
        /* Without a GPU, too, the interface's own errors come first. */
        const gm_backend *cuda = gm_backend_with_memory(false);
        if (cuda->open() != GM_OK || r->usage != GM_KEPT ||
            gm_parse_stream(r->stream, cuda, &stream) == 0) {
            array = gm_interface_adopt(interface, r->object, r->name, r->usage, stream);
        }
    }
    Py_XDECREF(interface);
    return array;
}

/* ---- an object ------------------------------------------------------------------------------ */

static gm_device_array *adopt(request *r)
{
    gm_device_array *array = NULL;
    int type, device;
    if (adopt_exchanged(r, &array) != 0) {
        return array;
    }
    if (!r->backend) {
        int found = gm_dlpack_find(r->object, r->name, &type, &device);
        r->backend = gm_backend_with_memory(false);
        if (found < 0 || (found > 0 && choose_backend(type, &r->backend) < 0)) {
            return NULL;
        }
    }
    return adopt_by_protocol(r);
}

gm_device_array *gm_adopt(PyObject *object, const char *name, PyObject *stream, gm_usage usage,
                          gm_current_stream *current)
{
    request r = {object, name, gm_backend_with_memory(false), stream, usage, current};
    return gm_is_adoptable(object) ? adopt(&r) : NULL;
}

PyObject *gm_core_adopt(PyObject *module, PyObject *args)
{
    PyObject *object, *stream;
    const char *name;
    gm_current_stream current = {.exchange = NULL};
    (void)module;
    if (!PyArg_ParseTuple(args, "OsO:adopt", &object, &name, &stream)) {
        return NULL;
    }
    gm_device_array *array = gm_adopt(object, name, stream, GM_KEPT, &current);
    return array || PyErr_Occurred() ? (PyObject *)array : Py_NewRef(Py_None);
}

/* ---- gpumem.from_dlpack --------------------------------------------------------------------- */

static gm_device_array *refuse_to_move(const char *where, int device)
{
    PyErr_Format(PyExc_BufferError,
                 "x is %s: it can be on device %d as a copy only, and copy is False", where,
                 device);
    return NULL;
}

/* The array itself, or a copy where it is asked for or on another device. Takes the reference. */
static gm_device_array *place(gm_device_array *array, int device, PyObject *copy)
{
    gm_device_array *placed = NULL;
    char where[32];
    if (device >= 0 && device != array->memory->device) {
        PyOS_snprintf(where, sizeof where, "on device %d", array->memory->device);
        placed = copy == Py_False ? refuse_to_move(where, device)
                                  : gm_device_array_send(array, device, Py_None);
    } else if (copy == Py_True) {
        placed = gm_device_array_copy(array, NULL, false);
    } else if (gm_borrow_share(array, "x") == 0) {
        return array;
    }
    Py_DECREF(array);
    return placed;
}

/* 1 if x is on the host and the device is another memory, that of the backend; else 0, or -1 with
 * an exception. */
static int comes_from_host(PyObject *object, int device, const gm_backend **backend)
{
    int type, id;
    int found = device >= 0 ? gm_dlpack_find(object, "x", &type, &id) : 0;
    if (found <= 0 || gm_dlpack_backend(type) != gm_backend_with_memory(true)) {
        return found < 0 ? -1 : 0;
    }
    return gm_parse_backend(Py_None, backend) < 0 ? -1 : !(*backend)->host_memory;
}

static gm_device_array *from_host(PyObject *object, const gm_backend *backend, int device,
                                  PyObject *copy)
{
    int previous;
    if (copy == Py_False) {
        return refuse_to_move("in host memory", device);
    }
    if (gm_enter_numbered(backend, device, &previous) < 0) {
        return NULL;
    }
    gm_device_array *made = gm_device_array_from_host(object, Py_None, backend);
    gm_leave_numbered(backend, previous);
    return made;
}

PyObject *gm_from_dlpack(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "device", "copy", NULL};
    PyObject *object, *number = Py_None, *copy = Py_None;
    const gm_backend *backend;
    gm_current_stream current = {.exchange = NULL};
    int device;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OO:from_dlpack", names, &object, &number,
                                     &copy)) {
        return NULL;
    }
    if (copy != Py_None && !PyBool_Check(copy)) {
        return PyErr_Format(PyExc_TypeError, "copy must be a bool or None, not %.100s",
                            Py_TYPE(copy)->tp_name);
    }
    if (gm_parse_device(number, &device) < 0 || gm_check_unmasked(object, "x") < 0) {
        return NULL;
    }
    int moves = comes_from_host(object, device, &backend);
    if (moves != 0) {
        return moves < 0 ? NULL : (PyObject *)from_host(object, backend, device, copy);
    }
    request r = {object, "x", NULL, Py_None, GM_KEPT, &current};
    gm_device_array *array = adopt(&r);
    if (!array) {
        return PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_TypeError,
                                  "x must have __dlpack__ or __cuda_array_interface__; "
                                  "%.100s has neither",
                                  Py_TYPE(object)->tp_name);
    }
    array->memory->has_producer = false; /* its stream may not live as long as this array */
    return (PyObject *)place(array, device, copy);
}
