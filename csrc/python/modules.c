/* Modules of kernels that are loaded at run time: a capsule, and launches of its kernels. */
#include "python/modules.h"

#include <string.h>

#include "backend/sim_internal.h"
#include "backend/sim_modules.h"
#include "python/describe.h"
#include "python/errors.h"
#include "sim/trace.h"

static const char capsule_name[] = "gpumem.module";

static void forget(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, capsule_name));
}

/* ("k", ((kind, bytes, pointer, constant), ...)) */
static PyObject *kernel_tuple(const gm_module_kernel *kernel)
{
    PyObject *parameters = PyTuple_New(kernel->count);
    for (int i = 0; parameters && i < kernel->count; i++) {
        const gm_module_parameter *p = &kernel->parameters[i];
        PyObject *one = Py_BuildValue("(CIOO)", p->kind, p->bytes, p->pointer ? Py_True : Py_False,
                                      p->constant ? Py_True : Py_False);
        if (!one) {
            Py_CLEAR(parameters);
            break;
        }
        PyTuple_SET_ITEM(parameters, i, one);
    }
    return parameters ? Py_BuildValue("(sN)", kernel->name, parameters) : NULL;
}

static PyObject *kernels_tuple(const gm_loaded *loaded)
{
    PyObject *kernels = PyTuple_New(loaded->kernel_count);
    for (int i = 0; kernels && i < loaded->kernel_count; i++) {
        PyObject *one = kernel_tuple(&loaded->kernels[i]);
        if (!one) {
            Py_CLEAR(kernels);
            break;
        }
        PyTuple_SET_ITEM(kernels, i, one);
    }
    return kernels;
}

/* ("coefficients", kind, bytes, (4,), memory) */
static PyObject *variable_tuple(const gm_module_variable *variable)
{
    PyObject *shape = PyTuple_New(variable->dimensions);
    Py_ssize_t bytes = variable->element.pointer ? (Py_ssize_t)sizeof(void *)
                                                 : (Py_ssize_t)variable->element.bytes;
    Py_ssize_t total = bytes;
    for (int i = 0; shape && i < variable->dimensions; i++) {
        PyObject *length = PyLong_FromUnsignedLongLong(variable->shape[i]);
        if (!length) {
            Py_CLEAR(shape);
            break;
        }
        PyTuple_SET_ITEM(shape, i, length);
        total *= (Py_ssize_t)variable->shape[i];
    }
    /* Modules stay loaded. */
    PyObject *memory =
        shape ? PyMemoryView_FromMemory(variable->address, total, PyBUF_WRITE) : NULL;
    if (!memory) {
        Py_XDECREF(shape);
        return NULL;
    }
    int kind = variable->element.pointer ? 'u' : variable->element.kind;
    return Py_BuildValue("(sCnNN)", variable->name, kind, bytes, shape, memory);
}

static PyObject *variables_list(const gm_loaded *loaded)
{
    PyObject *list = PyList_New(0);
    for (const gm_module_variable *v = loaded->variables; list && v->name; v++) {
        PyObject *one = variable_tuple(v);
        if (!one || PyList_Append(list, one) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(one);
    }
    return list;
}

/* [(offset, bytes, name), ...]; the list is kept for as long as the module, which is for good. */
static int parse_extents(PyObject *list, gm_extents *extents)
{
    PyObject *tuple = PyList_AsTuple(list); /* which nobody changes meanwhile */
    if (!tuple) {
        return -1;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    gm_extent *all = PyMem_RawCalloc((size_t)count + 1, sizeof *all);
    for (Py_ssize_t i = 0; all && i < count; i++) {
        Py_ssize_t offset, bytes;
        const char *name;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "nns", &offset, &bytes, &name)) {
            Py_DECREF(tuple);
            PyMem_RawFree(all);
            return -1;
        }
        char *copy = PyMem_RawMalloc(strlen(name) + 1);
        all[i] = (gm_extent){(uintptr_t)offset, (uintptr_t)bytes, copy ? strcpy(copy, name) : "?"};
    }
    Py_DECREF(tuple);
    if (!all) {
        PyErr_NoMemory();
        return -1;
    }
    *extents = (gm_extents){all, (int)count};
    return 0;
}

PyObject *gm_core_module_open(PyObject *module, PyObject *args)
{
    PyObject *encoded, *lists[3];
    gm_extents extents[3];
    gm_status status = gm_sim_open();
    (void)module;
    if (status != GM_OK) {
        return gm_raise(status);
    }
    if (!PyArg_ParseTuple(args, "O&O!O!O!:module_open", PyUnicode_FSConverter, &encoded,
                          &PyList_Type, &lists[0], &PyList_Type, &lists[1], &PyList_Type,
                          &lists[2])) {
        return NULL;
    }
    for (int i = 0; i < 3; i++) {
        if (parse_extents(lists[i], &extents[i]) < 0) {
            Py_DECREF(encoded);
            return NULL;
        }
    }
    gm_loaded *loaded = PyMem_Calloc(1, sizeof *loaded);
    status = loaded ? gm_loader_open(PyBytes_AS_STRING(encoded), loaded) : GM_OK;
    Py_DECREF(encoded);
    if (!loaded) {
        return PyErr_NoMemory();
    }
    if (status != GM_OK) {
        PyMem_Free(loaded);
        return gm_raise(status);
    }
    gm_loader_name_variables(loaded, extents[0], extents[1], extents[2]);
    PyObject *capsule = PyCapsule_New(loaded, capsule_name, forget);
    if (!capsule) {
        PyMem_Free(loaded);
        return NULL;
    }
    PyObject *kernels = kernels_tuple(loaded);
    PyObject *variables = kernels ? variables_list(loaded) : NULL;
    if (!variables) {
        Py_XDECREF(kernels);
        Py_DECREF(capsule);
        return NULL;
    }
    return Py_BuildValue("(NNN)", capsule, kernels, variables);
}

/* Pointers to the values, then the values, each aligned as the widest type is; NULL with an
 * exception. */
static void **pack(PyObject *values, size_t *size)
{
    Py_ssize_t count = PyTuple_GET_SIZE(values);
    size_t offset = ((size_t)count * sizeof(void *) + 15) & ~(size_t)15, total = offset;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyBytes_Check(PyTuple_GET_ITEM(values, i))) {
            PyErr_SetString(PyExc_TypeError, "module_launch: values should be bytes");
            return NULL;
        }
        total += ((size_t)PyBytes_GET_SIZE(PyTuple_GET_ITEM(values, i)) + 15) & ~(size_t)15;
    }
    void **args = PyMem_Malloc(total + 1);
    if (!args) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = PyTuple_GET_ITEM(values, i);
        args[i] = (char *)args + offset;
        memcpy(args[i], PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value));
        offset += ((size_t)PyBytes_GET_SIZE(value) + 15) & ~(size_t)15;
    }
    *size = total;
    return args;
}

static PyObject *finding_dict(const gm_finding *finding)
{
    const gm_error *error = &finding->error;
    PyObject *attributes = gm_finding_attributes(error);
    PyObject *message = attributes ? PyUnicode_FromString(error->message + error->bare) : NULL;
    PyObject *count = message ? PyLong_FromLongLong(finding->count) : NULL;
    bool complete = count && PyDict_SetItemString(attributes, "message", message) == 0 &&
                    PyDict_SetItemString(attributes, "count", count) == 0;
    Py_XDECREF(message);
    Py_XDECREF(count);
    if (!complete) {
        Py_CLEAR(attributes);
    }
    return attributes;
}

static PyObject *findings_list(const gm_findings *findings)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < findings->count; i++) {
        PyObject *one = finding_dict(&findings->list[i]);
        if (!one || PyList_Append(list, one) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(one);
    }
    return list;
}

/* {"kernels", "sites", "findings", "cut"} */
static PyObject *observed(const gm_trace *trace, const gm_findings *findings)
{
    PyObject *kernels = gm_traced_kernels(trace);
    PyObject *lines = kernels ? gm_traced_lines(trace) : NULL;
    PyObject *found = lines ? findings_list(findings) : NULL;
    if (!found) {
        Py_XDECREF(kernels);
        Py_XDECREF(lines);
        return NULL;
    }
    return Py_BuildValue("{s:N, s:N, s:N, s:O}", "kernels", kernels, "sites", lines, "findings",
                         found, "cut", findings->cut ? Py_True : Py_False);
}

static PyObject *launch(gm_module_launch *what, bool traced, bool all_findings)
{
    gm_status status;
    gm_findings findings = {.list = NULL};
    PyObject *answer = NULL;
    if (traced && !(what->trace = gm_trace_create())) {
        return PyErr_NoMemory();
    }
    if (traced && all_findings) {
        what->trace->findings = &findings;
    }
    Py_BEGIN_ALLOW_THREADS
    status = gm_sim_module_launch(what);
    Py_END_ALLOW_THREADS
    if (status != GM_OK) {
        gm_raise(status);
    } else if (traced) {
        answer = observed(what->trace, &findings);
    } else {
        answer = Py_NewRef(Py_None);
    }
    gm_trace_destroy(what->trace);
    gm_findings_free(&findings);
    return answer;
}

PyObject *gm_core_module_launch(PyObject *module, PyObject *args)
{
    PyObject *capsule, *values;
    gm_module_launch what = {0};
    Py_ssize_t shared_bytes;
    int traced, cooperative, all_findings = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oi(III)(III)nO!pp|p:module_launch", &capsule, &what.kernel,
                          &what.grid.x, &what.grid.y, &what.grid.z, &what.block.x, &what.block.y,
                          &what.block.z, &shared_bytes, &PyTuple_Type, &values, &traced,
                          &cooperative, &all_findings)) {
        return NULL;
    }
    what.loaded = PyCapsule_GetPointer(capsule, capsule_name);
    if (!what.loaded) {
        return NULL;
    }
    if (what.kernel < 0 || what.kernel >= what.loaded->kernel_count || shared_bytes < 0 ||
        PyTuple_GET_SIZE(values) != what.loaded->kernels[what.kernel].count) {
        PyErr_SetString(
            PyExc_ValueError,
            "module_launch: no such kernel, or not as many values as it has parameters");
        return NULL;
    }
    what.shared_bytes = (size_t)shared_bytes;
    what.cooperative = cooperative;
    void **packed = pack(values, &what.args_size);
    if (!packed) {
        return NULL;
    }
    what.args = packed;
    PyObject *answer = launch(&what, traced, all_findings);
    PyMem_Free(packed);
    return answer;
}
