/* <device_atomic_functions.h> */
#ifndef GPUMEM_INCLUDE_DEVICE_ATOMIC_FUNCTIONS
#define GPUMEM_INCLUDE_DEVICE_ATOMIC_FUNCTIONS

#include "sim/cuda/atomics.h"

#endif
