/* Texture and surface objects: the descriptor of one as bytes, whose address is the object. */
#include "python/textures.h"

#include "texture_descriptor.h"

PyObject *gm_core_texture(PyObject *module, PyObject *args)
{
    gm_texture_descriptor made = {0};
    Py_ssize_t pitch, slice;
    unsigned long long data;
    (void)module;
    if (!PyArg_ParseTuple(args, "Knn(iii)iii(iii)ppp(ffff):texture", &data, &pitch, &slice,
                          &made.size[0], &made.size[1], &made.size[2], &made.kind, &made.channels,
                          &made.channel_bytes, &made.address[0], &made.address[1], &made.address[2],
                          &made.linear, &made.to_float, &made.normalised, &made.border[0],
                          &made.border[1], &made.border[2], &made.border[3])) {
        return NULL;
    }
    made.data = (char *)(uintptr_t)data;
    made.pitch = pitch;
    made.slice = slice;
    const char *wrong = gm_texture_complete(&made);
    if (wrong) {
        PyErr_Format(PyExc_ValueError, "texture: %s", wrong);
        return NULL;
    }
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)&made, sizeof made);
    if (!bytes) {
        return NULL;
    }
    /* Bytes never move. */
    return Py_BuildValue("(NK)", bytes, (unsigned long long)(uintptr_t)PyBytes_AS_STRING(bytes));
}
