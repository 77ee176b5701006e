/*
 * The streams entered, innermost first: nested pairs (stream, outer ones) in a context variable, so
 * that each thread and each task of asyncio has its own.
 */
#include "python/stream_context.h"

#include <stdatomic.h>

#include "python/errors.h"
#include "python/streams.h"
#include "python/values.h"

static PyObject *variable;
static atomic_bool in_use; /* most programs enter no stream, and their calls look no further */

int gm_stream_context_init(void)
{
    variable = PyContextVar_New("gpumem.stream", NULL);
    return variable ? 0 : -1;
}

PyObject *gm_stream_context_keep(void)
{
    PyObject *entered = NULL;
    if (!atomic_load_explicit(&in_use, memory_order_relaxed)) {
        return Py_NewRef(Py_None);
    }
    PyContextVar_Get(variable, Py_None, &entered);
    return entered;
}

static int set_entered(PyObject *entered)
{
    PyObject *token = PyContextVar_Set(variable, entered);
    Py_XDECREF(token);
    return token ? 0 : -1;
}

PyObject *gm_stream_enter(PyObject *stream, PyObject *unused)
{
    (void)unused;
    atomic_store_explicit(&in_use, true, memory_order_relaxed);
    PyObject *outer = gm_stream_context_keep();
    PyObject *entered = outer ? PyTuple_Pack(2, stream, outer) : NULL;
    int failed = entered ? set_entered(entered) : -1;
    Py_XDECREF(outer);
    Py_XDECREF(entered);
    return failed ? NULL : Py_NewRef(stream);
}

PyObject *gm_stream_exit(PyObject *stream, PyObject *args)
{
    (void)args;
    PyObject *entered = gm_stream_context_keep();
    int failed = -1;
    if (entered && PyTuple_Check(entered) && PyTuple_GET_ITEM(entered, 0) == stream) {
        failed = set_entered(PyTuple_GET_ITEM(entered, 1));
    } else if (entered) {
        PyErr_SetString(PyExc_RuntimeError,
                        "this is not the stream that was entered last in this thread or task");
    }
    Py_XDECREF(entered);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* The innermost stream of the backend and its current device, borrowed from the pairs, or NULL;
 * returns 0, or -1 with an exception. */
static int find(PyObject *entered, const gm_backend *backend, PyObject **stream)
{
    int device = -1;
    *stream = NULL;
    for (; PyTuple_Check(entered); entered = PyTuple_GET_ITEM(entered, 1)) {
        gm_stream_object *one = (gm_stream_object *)PyTuple_GET_ITEM(entered, 0);
        if (one->backend != backend) {
            continue;
        }
        if (device < 0 && backend->current_device(&device) != GM_OK) {
            gm_raise(gm_last_error()->status);
            return -1;
        }
        if (one->device == device) {
            *stream = (PyObject *)one;
            return 0;
        }
    }
    return 0;
}

int gm_stream_context_find(const gm_backend *backend, gm_stream *stream)
{
    PyObject *entered = gm_stream_context_keep(), *found = NULL;
    int failed = entered ? find(entered, backend, &found) : -1;
    *stream = found ? ((gm_stream_object *)found)->handle : NULL;
    Py_XDECREF(entered); /* the context keeps it */
    return failed;
}

PyObject *gm_stream_current(PyObject *unused, PyObject *args, PyObject *keywords)
{
    (void)unused;
    const gm_backend *backend;
    PyObject *found = NULL;
    if (gm_parse_only_backend(args, keywords, "|$O:current", &backend) < 0) {
        return NULL;
    }
    PyObject *entered = gm_stream_context_keep();
    int failed = entered ? find(entered, backend, &found) : -1;
    PyObject *answer = failed ? NULL : Py_NewRef(found ? found : Py_None);
    Py_XDECREF(entered);
    return answer;
}
