/* Texture and surface objects for kernels that are loaded at run time. */
#ifndef GPUMEM_PYTHON_TEXTURES_H
#define GPUMEM_PYTHON_TEXTURES_H

#include "python/python.h"

PyObject *gm_core_texture(PyObject *module, PyObject *args);

#endif
