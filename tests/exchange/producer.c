/*
 * A type of arrays that other code reads by DLPack's exchange API only, for tests/exchange_api.py.
 *
 * What an array says of itself is a DLTensor at an address that the test chooses. The type has no
 * table of functions: tests make tables, and subclasses with them.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <dlpack/dlpack.h>

typedef struct array {
    PyObject_HEAD const DLTensor *tensor;
    PyObject *owner; /* of the tensor */
    PyObject *error; /* raised by the functions; Py_False: they fail without one; NULL: none */
    unsigned long long flags;
    unsigned major;
} array;

/* Calls of the functions of all tables, and managed tensors that nobody has given back; by threads
 * at once. */
static atomic_llong asked_tensor, asked_managed, asked_stream, lent;
static unsigned long long stream; /* the current one */

/* -1 if the array is to fail, 0 if not. */
static int fail(const array *self)
{
    if (self->error && self->error != Py_False) {
        PyErr_SetObject((PyObject *)Py_TYPE(self->error), self->error);
    }
    return self->error ? -1 : 0;
}

static int get_tensor(void *object, DLTensor *out)
{
    const array *self = object;
    asked_tensor++;
    *out = *self->tensor;
    return fail(self);
}

static void give_back(DLManagedTensorVersioned *managed)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyErr_Clear(); /* whoever calls this has to keep an exception that is set */
    lent--;
    Py_DECREF((PyObject *)managed->manager_ctx);
    PyMem_RawFree(managed);
    PyGILState_Release(state);
}

static int get_managed(void *object, DLManagedTensorVersioned **out)
{
    array *self = object;
    asked_managed++;
    if (fail(self) < 0) {
        return -1;
    }
    DLManagedTensorVersioned *managed = PyMem_RawCalloc(1, sizeof *managed);
    if (!managed) {
        PyErr_NoMemory();
        return -1;
    }
    *managed = (DLManagedTensorVersioned){
        .version = {self->major, DLPACK_MINOR_VERSION},
        .manager_ctx = Py_NewRef((PyObject *)self),
        .deleter = give_back,
        .flags = self->flags,
        .dl_tensor = *self->tensor,
    };
    lent++;
    *out = managed;
    return 0;
}

static int get_stream(DLDeviceType type, int32_t id, void **out)
{
    (void)type, (void)id;
    asked_stream++;
    *out = (void *)(uintptr_t)stream;
    return 0;
}

static PyObject *array_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"address", "owner", "error", "flags", "major", NULL};
    PyObject *owner, *error = Py_None;
    unsigned long long address, flags = 0;
    unsigned major = DLPACK_MAJOR_VERSION;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "KO|OKI", names, &address, &owner, &error,
                                     &flags, &major)) {
        return NULL;
    }
    array *self = (array *)type->tp_alloc(type, 0);
    if (self) {
        self->tensor = (const DLTensor *)(uintptr_t)address;
        self->owner = Py_NewRef(owner);
        self->error = error == Py_None ? NULL : Py_NewRef(error);
        self->flags = flags;
        self->major = major;
    }
    return (PyObject *)self;
}

static void array_dealloc(PyObject *object)
{
    array *self = (array *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->owner);
    Py_XDECREF(self->error);
    type->tp_free(object);
}

static PyTypeObject array_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "exchange_producer.Array",
    .tp_basicsize = sizeof(array),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = array_new,
    .tp_dealloc = array_dealloc,
};

/* ---- the same with PyTorch's attributes, as functions of C ----------------------------------- */

/* Among the flags. */
enum { NEGATED = 1 << 20, CONJUGATED = 1 << 21, WITH_GRADIENT = 1 << 22, BROKEN = 1 << 23 };

static PyObject *says(const array *self, unsigned bit)
{
    if (self->flags & BROKEN) {
        PyErr_SetString(PyExc_RuntimeError, "no answer");
        return NULL;
    }
    return PyBool_FromLong((self->flags & bit) != 0);
}

static PyObject *is_neg(PyObject *self, PyObject *unused)
{
    (void)unused;
    return says((const array *)self, NEGATED);
}

static PyObject *is_conj(PyObject *self, PyObject *unused)
{
    (void)unused;
    return says((const array *)self, CONJUGATED);
}

static PyObject *requires_grad(PyObject *self, void *bit)
{
    return says((const array *)self, (unsigned)(uintptr_t)bit);
}

static PyMethodDef bits_methods[] = {
    {"is_neg", is_neg, METH_NOARGS, NULL},
    {"is_conj", is_conj, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef bits_attributes[] = {
    {"requires_grad", requires_grad, NULL, NULL, (void *)(uintptr_t)WITH_GRADIENT},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject bits_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "exchange_producer.Bits",
    .tp_basicsize = sizeof(array),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_base = &array_type,
    .tp_methods = bits_methods,
    .tp_getset = bits_attributes,
};

/* ---- the module ------------------------------------------------------------------------------ */

/* table(major=1, without="", previous=None, name="dlpack_exchange_api"): a capsule. The table lives
 * as long as the process. */
static PyObject *make_table(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"major", "without", "previous", "name", NULL};
    const char *without = "", *name = "dlpack_exchange_api";
    PyObject *previous = Py_None;
    unsigned major = DLPACK_MAJOR_VERSION;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$IsOs", names, &major, &without, &previous,
                                     &name)) {
        return NULL;
    }
    DLPackExchangeAPI *table = PyMem_RawCalloc(1, sizeof *table);
    char *kept = table ? PyMem_RawMalloc(strlen(name) + 1) : NULL;
    if (!kept) {
        return PyErr_NoMemory();
    }
    table->header.version = (DLPackVersion){major, DLPACK_MINOR_VERSION};
    if (previous != Py_None) {
        table->header.prev_api = PyCapsule_GetPointer(previous, "dlpack_exchange_api");
    }
    table->managed_tensor_from_py_object_no_sync = strstr(without, "managed") ? NULL : get_managed;
    table->dltensor_from_py_object_no_sync = strstr(without, "tensor") ? NULL : get_tensor;
    table->current_work_stream = strstr(without, "stream") ? NULL : get_stream;
    return PyCapsule_New(table, strcpy(kept, name), NULL);
}

/* (asked for a tensor, for a managed one, for the stream; managed ones that are lent) */
static PyObject *counts(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return Py_BuildValue("LLLL", atomic_load(&asked_tensor), atomic_load(&asked_managed),
                         atomic_load(&asked_stream), atomic_load(&lent));
}

static PyObject *set_stream(PyObject *module, PyObject *number)
{
    (void)module;
    stream = PyLong_AsUnsignedLongLong(number);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"table", (PyCFunction)(void (*)(void))make_table, METH_VARARGS | METH_KEYWORDS, NULL},
    {"counts", counts, METH_NOARGS, NULL},
    {"set_stream", set_stream, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "exchange_producer", .m_size = -1,
                                 .m_methods = functions};

PyMODINIT_FUNC PyInit_exchange_producer(void)
{
    bool ready = PyType_Ready(&array_type) == 0 && PyType_Ready(&bits_type) == 0;
    PyObject *module = ready ? PyModule_Create(&definition) : NULL;
    if (module && (PyModule_AddObjectRef(module, "Array", (PyObject *)&array_type) < 0 ||
                   PyModule_AddObjectRef(module, "Bits", (PyObject *)&bits_type) < 0)) {
        Py_CLEAR(module);
    }
#ifdef Py_GIL_DISABLED
    if (module) {
        PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
    }
#endif
    return module;
}
