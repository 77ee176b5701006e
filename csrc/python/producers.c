/*
 * Types of other libraries' arrays: how the arrays are read.
 *
 * A type that offers DLPack's C exchange API is asked once. The answer is kept with the version of
 * the type, a number that Python never gives twice: a change to the type or to one of its bases, or
 * another type at the address of one that died, has another version.
 */
#include "python/producers.h"

#include "per_thread.h"
#include "python/dlpack_device.h"
#include "python/values.h"

enum {
    REMEMBERED = 32, /* types per thread; a power of two */
    OLDER_TABLES = 8 /* that are followed; a chain that goes in a circle is no chain */
};

typedef struct remembered {
    const PyTypeObject *type;
    unsigned version; /* 0: nothing is remembered here */
    gm_producer producer;
} remembered;

static PyObject *exchange_name, *dict_name, *mro_name, *requires_grad, *is_neg, *is_conj;
/* Whoever defines one of these in a class below that of the exchange API wants it to be used. */
static PyObject *overriding[5];

static PyObject *intern(const char *name, int *failed)
{
    PyObject *interned = PyUnicode_InternFromString(name);
    *failed |= !interned;
    return interned;
}

int gm_producers_init(void)
{
    static const char *const names[] = {"__dlpack__", "__dlpack_device__",
                                        "__cuda_array_interface__", "__torch_function__",
                                        "__torch_dispatch__"};
    int failed = 0;
    exchange_name = intern("__dlpack_c_exchange_api__", &failed);
    dict_name = intern("__dict__", &failed);
    mro_name = intern("__mro__", &failed);
    requires_grad = intern("requires_grad", &failed);
    is_neg = intern("is_neg", &failed);
    is_conj = intern("is_conj", &failed);
    for (int i = 0; i < 5; i++) {
        overriding[i] = intern(names[i], &failed);
    }
    return failed ? -1 : 0;
}

/* ---- a type --------------------------------------------------------------------------------- */

/* 0: the type's version is unknown, or changes all the time. */
static unsigned version_of(const PyTypeObject *type)
{
#if PY_VERSION_HEX < 0x030B0000
    if (!(type->tp_flags & Py_TPFLAGS_VALID_VERSION_TAG)) {
        return 0;
    }
#endif
    return __atomic_load_n(&type->tp_version_tag, __ATOMIC_RELAXED);
}

/* What a class says of the exchange API: 1 that it has it, 0 that another way is to be used, -1
 * nothing; -2 with an exception. */
static int ask_class(PyObject *class)
{
    PyObject *dict = PyObject_GetAttr(class, dict_name);
    int found = dict ? PySequence_Contains(dict, exchange_name) : -1;
    int says = found < 0 ? -2 : found ? 1 : -1;
    for (int i = 0; says == -1 && i < 5; i++) {
        found = PySequence_Contains(dict, overriding[i]);
        says = found < 0 ? -2 : found ? 0 : -1;
    }
    Py_XDECREF(dict);
    return says;
}

/* Does a subclass override what the exchange API of its base would pass by? 1 or 0, or -1 with an
 * exception. */
static int is_overridden(PyTypeObject *type)
{
    PyObject *classes = PyObject_GetAttr((PyObject *)type, mro_name);
    int says = classes ? -1 : -2;
    for (Py_ssize_t i = 0; says == -1 && i < PyTuple_GET_SIZE(classes); i++) {
        says = ask_class(PyTuple_GET_ITEM(classes, i));
    }
    Py_XDECREF(classes);
    return says == -2 ? -1 : says == 0;
}

/* The table in the capsule, or an older one that it leads to, in a version that is known here and
 * with the functions that no producer may leave out. */
static const DLPackExchangeAPI *find_table(PyObject *capsule)
{
    const DLPackExchangeAPIHeader *header = PyCapsule_IsValid(capsule, GM_DLPACK_TABLE)
                                                ? PyCapsule_GetPointer(capsule, GM_DLPACK_TABLE)
                                                : NULL;
    for (int i = 0; header && i < OLDER_TABLES; i++) {
        const DLPackExchangeAPI *table = (const DLPackExchangeAPI *)header;
        if (header->version.major == DLPACK_MAJOR_VERSION) {
            return table->managed_tensor_from_py_object_no_sync && table->current_work_stream
                       ? table
                       : NULL;
        }
        header = header->prev_api;
    }
    return NULL;
}

/*
 * To look up a method in a tensor's dict and in its type's, and to call it by Python's protocol,
 * takes longer than the function that is found. So where a type has a function of C for an
 * attribute, that is remembered, as long as the type's version says that it still is the one. The
 * tables in which libraries give Python their functions are static: no reference keeps them.
 */
static void find_functions(PyTypeObject *type, PyObject *method, PyObject *attribute,
                           gm_producer *producer)
{
    if (type->tp_getattro != PyObject_GenericGetAttr) {
        return; /* a class in Python that wants to be asked */
    }
    if (Py_IS_TYPE(method, &PyMethodDescr_Type) &&
        PyType_IsSubtype(type, ((PyDescrObject *)method)->d_type)) {
        const PyMethodDef *found = ((PyMethodDescrObject *)method)->d_method;
        producer->is_neg = found->ml_flags == METH_NOARGS ? found->ml_meth : NULL;
    }
    if (Py_IS_TYPE(attribute, &PyGetSetDescr_Type) &&
        PyType_IsSubtype(type, ((PyDescrObject *)attribute)->d_type)) {
        const PyGetSetDef *found = ((PyGetSetDescrObject *)attribute)->d_getset;
        producer->requires_grad = found->get;
        producer->closure = found->closure;
    }
}

/* Has it all of PyTorch's attributes? Other libraries may have one of them, and mean something
 * else. 0, or -1 with an exception. */
static int look_for_bits(PyTypeObject *type, gm_producer *producer)
{
    PyObject *const names[] = {is_neg, requires_grad, is_conj};
    PyObject *values[3] = {NULL, NULL, NULL};
    int found = 0, failed = 0;
    while (!failed && found < 3) {
        failed = gm_find_attribute((PyObject *)type, names[found], &values[found]);
        if (!values[found]) {
            break;
        }
        found++;
    }
    producer->lazy = found == 3;
    if (producer->lazy) {
        find_functions(type, values[0], values[1], producer);
    }
    for (int i = 0; i < found; i++) {
        Py_DECREF(values[i]);
    }
    return failed;
}

static int look_at(PyTypeObject *type, gm_producer *producer)
{
    PyObject *capsule;
    *producer = (gm_producer){.exchange = NULL};
    if (gm_find_attribute((PyObject *)type, exchange_name, &capsule) < 0) {
        return -1;
    }
    const DLPackExchangeAPI *exchange = capsule ? find_table(capsule) : NULL;
    Py_XDECREF(capsule);
    int overridden = exchange ? is_overridden(type) : 0;
    producer->exchange = overridden ? NULL : exchange;
    return overridden < 0 ? -1 : look_for_bits(type, producer);
}

/* Where the answer for a type is remembered, by each thread for itself, so that threads need no
 * lock; NULL: out of memory. */
static remembered *slot_of(const PyTypeObject *type)
{
    remembered *slots = gm_per_thread(GM_PART_PRODUCERS, REMEMBERED * sizeof *slots);
    return slots ? &slots[((uintptr_t)type >> 4 ^ (uintptr_t)type >> 9) % REMEMBERED] : NULL;
}

int gm_find_producer(PyTypeObject *type, gm_producer *producer)
{
    remembered *slot = slot_of(type);
    unsigned version = version_of(type);
    if (version != 0 && slot && slot->type == type && slot->version == version) {
        *producer = slot->producer;
        return 0;
    }
    if (look_at(type, producer) < 0) {
        return -1;
    }
    if (version == 0) { /* a type may get one when an attribute is first looked up */
        version = version_of(type);
        if (version == 0) {
            return 0;
        }
        if (look_at(type, producer) < 0) {
            return -1;
        }
    }
    if (slot && version == version_of(type)) { /* nobody changed it meanwhile */
        *slot = (remembered){type, version, *producer};
    }
    return 0;
}

/* ---- an array ------------------------------------------------------------------------------- */

/* Takes the reference to the answer. */
static int is_true(PyObject *answer)
{
    int truth = answer == Py_False ? 0 : answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return truth;
}

int gm_requires_grad(const gm_producer *producer, PyObject *array)
{
    return is_true(producer->requires_grad ? producer->requires_grad(array, producer->closure)
                                           : PyObject_GetAttr(array, requires_grad));
}

int gm_is_negated(const gm_producer *producer, PyObject *array)
{
    return is_true(producer->is_neg ? producer->is_neg(array, NULL)
                                    : PyObject_CallMethodNoArgs(array, is_neg));
}

int gm_is_conjugated(PyObject *array)
{
    return is_true(PyObject_CallMethodNoArgs(array, is_conj));
}
