/* Methods of device arrays that bring elements to the host, or copy all of them. */
#ifndef GPUMEM_PYTHON_DEVICE_ELEMENTS_H
#define GPUMEM_PYTHON_DEVICE_ELEMENTS_H

#include "python/python.h"

extern PyMethodDef gm_device_element_methods[];

#endif
