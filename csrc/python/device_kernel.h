/* The type DeviceKernel: a kernel of a user on a GPU, and what its parameters take. */
#ifndef GPUMEM_PYTHON_DEVICE_KERNEL_H
#define GPUMEM_PYTHON_DEVICE_KERNEL_H

#include "python/python.h"

extern PyTypeObject gm_device_kernel_type;

#endif
