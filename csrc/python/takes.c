/* Does a variant take arrays like these? Asked of descriptions: there need be no memory yet. */
#include "python/takes.h"

#include "call/run.h"
#include "python/arrays.h"
#include "python/call_arguments.h"
#include "python/errors.h"
#include "python/values.h"

enum { STAND_IN = 1 << 16 /* an address that is a multiple of every alignment */ };

/* A C-contiguous array without memory, where the variant wants its arrays. */
static int describe(const gm_variant *variant, PyObject *pair, gm_array *described)
{
    PyArray_Dims shape = {NULL, 0};
    PyObject *sides;
    PyArray_Descr *dtype = NULL;
    if (!PyTuple_Check(pair) ||
        !PyArg_ParseTuple(pair, "OO&", &sides, PyArray_DescrConverter, &dtype)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "an input is a pair of its shape and dtype");
        }
        return -1;
    }
    PyArrayObject *array = NULL;
    if (gm_parse_shape(sides, &shape) == 0) { /* which steals the dtype */
        array = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, dtype, shape.len, shape.ptr,
                                                      NULL, (void *)(uintptr_t)STAND_IN, 0, NULL);
    } else {
        Py_DECREF(dtype);
    }
    PyDimMem_FREE(shape.ptr);
    if (!array) {
        return -1;
    }
    gm_describe(array,
                variant->place == GM_IN_HOST      ? GM_MAPPED
                : variant->place == GM_IN_MANAGED ? GM_MANAGED
                                                  : GM_DEVICE,
                described);
    Py_DECREF(array);
    return 0;
}

static int describe_call(gm_call *call, PyObject *family, PyObject *variant, PyObject *inputs,
                         PyObject *parameters, PyObject *backend)
{
    call->family = gm_parse_family(family);
    if (!call->family || gm_parse_variant(call->family, variant, &call->variant) < 0 ||
        gm_parse_parameters(call->family, parameters, call->parameters) < 0 ||
        gm_check_input_count(call->family, inputs) < 0 ||
        gm_parse_backend(backend, &call->backend) < 0) {
        return -1;
    }
    int device;
    gm_status status = gm_call_find_device(call, &device);
    if (status != GM_OK) {
        gm_raise(status);
        return -1;
    }
    if (!call->variant) {
        PyErr_SetString(PyExc_ValueError, "variant is 'auto', expected one of the table's");
        return -1;
    }
    const int count = (int)PyTuple_GET_SIZE(inputs), most = call->family->input_count;
    for (int i = 0; i < most; i++) {
        call->in[i].absent = i >= count;
        if (i < count && describe(call->variant, PyTuple_GET_ITEM(inputs, i), &call->in[i]) < 0) {
            return -1;
        }
    }
    call->out = call->in[0];
    call->out.contiguous = true;
    return 0;
}

PyObject *gm_core_takes(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"family", "variant", "inputs", "parameters", "backend", NULL};
    PyObject *family, *variant, *inputs, *parameters, *backend = NULL;
    gm_call call = {.trace = NULL};
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOO!O|O:takes", names, &family, &variant,
                                     &PyTuple_Type, &inputs, &parameters, &backend) ||
        describe_call(&call, family, variant, inputs, parameters, backend) < 0) {
        return NULL;
    }
    gm_status status = call.family->result(&call);
    if (status == GM_OK) {
        status = gm_variant_takes(call.variant, &call);
    }
    return status == GM_OK ? Py_NewRef(Py_None) : PyUnicode_FromString(gm_last_error()->message);
}
