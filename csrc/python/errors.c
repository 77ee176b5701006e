/* The exceptions, and how they are raised. */
#include "python/errors.h"

#include <stdarg.h>

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
        "Attributes: ``kernel``, ``file``, ``line``, ``block``, ``thread`` and ``other``, the "
        "file\n"
        "and line of the other side of a race; None where unknown. ``rule`` is a word such as\n"
        "\"race-shared\".",
        PyExc_RuntimeError, NULL);
    unavailable_error = PyErr_NewExceptionWithDoc(
        "gpumem.UnavailableError",
        "A backend or a variant cannot be used here; the message says why.", PyExc_RuntimeError,
        NULL);
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

bool gm_forgive_value(void)
{
    PyObject *about_values[] = {PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError,
                                PyExc_SyntaxError};
    bool forgiven = !PyErr_Occurred();
    for (size_t i = 0; !forgiven && i < sizeof about_values / sizeof *about_values; i++) {
        forgiven = PyErr_ExceptionMatches(about_values[i]);
    }
    if (forgiven) {
        PyErr_Clear();
    }
    return forgiven;
}

PyObject *gm_raise_about(PyObject *kind, const char *format, ...)
{
    va_list arguments;
    PyErr_Clear(); /* nothing may be raised while objects are printed */
    va_start(arguments, format);
    PyObject *text = PyUnicode_FromFormatV(format, arguments);
    va_end(arguments);
    if (text != NULL) {
        PyErr_SetObject(kind, text);
        Py_DECREF(text);
    }
    return NULL;
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

/* Takes the reference to value; false if it fails, with another exception. */
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

static PyObject *line_or_none(int line)
{
    return line ? PyLong_FromLong(line) : Py_NewRef(Py_None);
}

PyObject *gm_finding_attributes(const gm_error *error)
{
    PyObject *other = error->other_file
                          ? Py_BuildValue("(si)", error->other_file, error->other_line)
                          : Py_NewRef(Py_None);
    PyObject *line = other ? line_or_none(error->line) : NULL;
    PyObject *block = line ? triple_or_none(error->located, error->block) : NULL;
    PyObject *thread = block ? triple_or_none(error->located, error->thread) : NULL;
    if (!thread) {
        Py_XDECREF(other);
        Py_XDECREF(line);
        Py_XDECREF(block);
        return NULL;
    }
    return Py_BuildValue("{s:s, s:z, s:z, s:N, s:N, s:N, s:N}", "rule", gm_rule_name(error->rule),
                         "kernel", error->kernel, "file", error->file, "line", line, "block", block,
                         "thread", thread, "other", other);
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
    if (error->status == GM_ERROR_MEMORY || error->status == GM_OK) {
        status = GM_ERROR_MEMORY; /* there was none for the record, whatever has failed */
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
        PyObject *attributes = gm_finding_attributes(error);
        PyObject *key, *value;
        Py_ssize_t at = 0;
        complete = attributes != NULL;
        while (complete && PyDict_Next(attributes, &at, &key, &value)) {
            complete = PyObject_SetAttr(exception, key, value) == 0;
        }
        Py_XDECREF(attributes);
    }
    if (complete) {
        PyErr_SetObject(type, exception);
    }
    Py_DECREF(exception);
    return NULL;
}
