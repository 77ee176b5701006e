/* Hooks into Python; both are called without the GIL or with it. */
#include "python/hooks.h"

#include <stdio.h>
#include <string.h>

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
    const bool hushed = gm_hush(false); /* Python may call gpumem */
    size_t used = 0;
    PyObject *module = PyImport_ImportModule("gpumem.machine.libraries");
    PyObject *list = module ? PyObject_CallMethod(module, "paths", "s", name) : NULL;
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
        const char *path = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
        size_t length = path ? strlen(path) : 0;
        if (path && used + length + 2 <= room) {
            snprintf(paths + used, room - used, "%s\n", path);
            used += length + 1;
        }
    }
    PyErr_Clear(); /* the caller reports a library that it cannot open */
    Py_XDECREF(list);
    Py_XDECREF(module);
    gm_hush(hushed);
    PyGILState_Release(state);
}
