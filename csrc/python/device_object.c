/* Making and freeing device array objects. */
#include "python/device_object.h"

#include <stddef.h>

#include "python/spares.h"

static void array_dealloc(PyObject *self)
{
    PyObject_ClearWeakRefs(self); /* without asking: without a GIL the answer may be changing */
    gm_device_array *freed = gm_spare_keep((gm_device_array *)self);
    if (freed) {
        Py_DECREF(freed->layout);
        gm_device_memory_drop(freed->memory);
        Py_TYPE(freed)->tp_free(freed);
    }
}

/* Completed by gm_device_type_init. */
PyTypeObject gm_device_array_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gpumem.DeviceArray",
    .tp_basicsize = sizeof(gm_device_array),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = array_dealloc,
    .tp_weaklistoffset = offsetof(gm_device_array, weak_references),
};

gm_device_array *gm_device_array_wrap(gm_device_memory *memory, PyArrayObject *layout)
{
    gm_device_array *array = NULL;
    if (memory && layout) {
        array = PyObject_New(gm_device_array, &gm_device_array_type);
    }
    if (!array) {
        gm_device_memory_drop(memory);
        Py_XDECREF(layout);
        return NULL;
    }
    array->memory = memory;
    array->layout = layout;
    array->weak_references = NULL;
    return array;
}

PyObject *gm_device_array_view(gm_device_array *array, PyObject *layout)
{
    if (!layout) {
        return NULL;
    }
    return (PyObject *)gm_device_array_wrap(gm_device_memory_keep(array->memory),
                                            (PyArrayObject *)layout);
}
