/* From the error record to Python exceptions. */
#include <string.h>

#include "python/python.h"

static PyObject *cuda_error, *cuda_memory_error, *simulation_error, *unavailable_error;

int gm_errors_init(PyObject *module)
{
    PyObject *bases = NULL;
    cuda_error = PyErr_NewExceptionWithDoc(
        "gpumem.CudaError",
        "A call of the CUDA runtime or driver failed.\n\n"
        "Attributes: ``code`` (int), ``name`` (\"cudaErrorInvalidValue\"), ``call`` (the failing\n"
        "expression), ``sticky`` (True when the process can no longer use the device).",
        PyExc_RuntimeError, NULL);
    simulation_error = PyErr_NewExceptionWithDoc(
        "gpumem.SimulationError",
        "A kernel did something illegal, and the simulator stopped it.\n\n"
        "Attributes: ``kernel``, ``file``, ``line``, ``block``, ``thread``; None where unknown.",
        PyExc_RuntimeError, NULL);
    unavailable_error = PyErr_NewExceptionWithDoc(
        "gpumem.UnavailableError", "A backend or a variant is not here; the message says why.",
        PyExc_RuntimeError, NULL);
    if (!cuda_error || !simulation_error || !unavailable_error) {
        return -1;
    }
    bases = PyTuple_Pack(2, cuda_error, PyExc_MemoryError);
    if (!bases) {
        return -1;
    }
    cuda_memory_error = PyErr_NewExceptionWithDoc(
        "gpumem.CudaMemoryError", "The device has not enough free memory.", bases, NULL);
    Py_DECREF(bases);
    if (!cuda_memory_error) {
        return -1;
    }
    if (PyModule_AddObjectRef(module, "CudaError", cuda_error) < 0 ||
        PyModule_AddObjectRef(module, "CudaMemoryError", cuda_memory_error) < 0 ||
        PyModule_AddObjectRef(module, "SimulationError", simulation_error) < 0 ||
        PyModule_AddObjectRef(module, "UnavailableError", unavailable_error) < 0) {
        return -1;
    }
    return 0;
}

bool gm_python_poll(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    bool stop = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return stop;
}

void gm_python_library_paths(const char *name, char *paths, size_t room)
{
    PyGILState_STATE state = PyGILState_Ensure();
    size_t used = 0;
    PyObject *module = PyImport_ImportModule("gpumem.machine.libraries");
    PyObject *list = module ? PyObject_CallMethod(module, "paths", "s", name) : NULL;
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
        const char *path = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
        size_t length = path ? strlen(path) : 0;
        if (path && used + length + 2 <= room) {
            memcpy(paths + used, path, length);
            memcpy(paths + used + length, "\n", 2);
            used += length + 1;
        }
    }
    PyErr_Clear(); /* a library that is not found is no error here */
    Py_XDECREF(list);
    Py_XDECREF(module);
    PyGILState_Release(state);
}

bool gm_forgive_value(void)
{
    PyObject *meant[] = {PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError, PyExc_SyntaxError};
    bool forgiven = !PyErr_Occurred();
    for (size_t i = 0; !forgiven && i < sizeof meant / sizeof *meant; i++) {
        forgiven = PyErr_ExceptionMatches(meant[i]);
    }
    if (forgiven) {
        PyErr_Clear();
    }
    return forgiven;
}

void gm_append_name(PyObject **names, const char *name)
{
    PyObject *text = *names ? PyUnicode_FromString(name) : NULL;
    if (*names && (!text || PyList_Append(*names, text) < 0)) {
        Py_CLEAR(*names);
    }
    Py_XDECREF(text);
}

void gm_raise_unknown(const char *says, PyObject *name, PyObject *known, const char *are)
{
    PyObject *module = known ? PyImport_ImportModule("gpumem.base.messages") : NULL;
    PyObject *message =
        module ? PyObject_CallMethod(module, "unknown", "sOOs", says, name, known, are) : NULL;
    if (message) {
        PyErr_SetObject(PyExc_ValueError, message);
    }
    Py_XDECREF(message);
    Py_XDECREF(module);
    Py_XDECREF(known);
}

/* Takes the reference to value; false when the exception has changed. */
static bool set(PyObject *exception, const char *name, PyObject *value)
{
    bool done = value && PyObject_SetAttrString(exception, name, value) == 0;
    Py_XDECREF(value);
    return done;
}

static PyObject *triple_or_none(bool known, gm_dim d)
{
    return known ? Py_BuildValue("(III)", d.x, d.y, d.z) : Py_NewRef(Py_None);
}

PyObject *gm_raise(gm_status status)
{
    static PyObject *const *const types[] = {
        [GM_ERROR_TYPE] = &PyExc_TypeError,
        [GM_ERROR_VALUE] = &PyExc_ValueError,
        [GM_ERROR_INDEX] = &PyExc_IndexError,
        [GM_ERROR_MEMORY] = &PyExc_MemoryError,
        [GM_ERROR_CUDA] = &cuda_error,
        [GM_ERROR_SIMULATION] = &simulation_error,
        [GM_ERROR_UNAVAILABLE] = &unavailable_error,
    };
    const gm_error *error = gm_last_error();
    if (status == GM_ERROR_INTERRUPTED) {
        if (!PyErr_Occurred()) {
            PyErr_SetNone(PyExc_KeyboardInterrupt);
        }
        return NULL;
    }
    PyObject *type =
        status > GM_OK && status < GM_ERROR_INTERRUPTED ? *types[status] : PyExc_SystemError;
    bool from_cuda = error->code != 0;
    if (status == GM_ERROR_MEMORY && from_cuda) {
        type = cuda_memory_error;
    }
    PyObject *exception = PyObject_CallFunction(type, "s", error->message);
    if (!exception) {
        return NULL;
    }
    bool complete = true;
    if (status == GM_ERROR_CUDA || from_cuda) {
        complete = set(exception, "code", PyLong_FromLong(error->code)) &&
                   set(exception, "name", PyUnicode_FromString(error->name)) &&
                   set(exception, "call", PyUnicode_FromString(error->call)) &&
                   set(exception, "sticky", PyBool_FromLong(error->sticky));
    } else if (status == GM_ERROR_SIMULATION) {
        complete = set(exception, "kernel", Py_BuildValue("z", error->kernel)) &&
                   set(exception, "file", Py_BuildValue("z", error->file)) &&
                   set(exception, "line",
                       error->line ? PyLong_FromLong(error->line) : Py_NewRef(Py_None)) &&
                   set(exception, "block", triple_or_none(error->located, error->block)) &&
                   set(exception, "thread", triple_or_none(error->located, error->thread));
    }
    if (complete) {
        PyErr_SetObject(type, exception);
    }
    Py_DECREF(exception);
    return NULL;
}
